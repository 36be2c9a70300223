#!/usr/bin/env python3
"""Checkpoints of hosts that share no folder: transferred to the next rank 0, and copied to a
second host. Each "host" here has folders of its own."""
import glob
import os
import re
import shutil
import signal
import time
import unittest

import e2e
from machines import Machines

PROGRAMS = os.path.join(e2e.BUILD, "bin")

# Rank 0 saves once and stays; the next attempt prints what it finds.
RANK = """
[ "$GANGWAY_RESTART_COUNT" = 0 ] || [ $RANK != 0 ] ||
    echo "attempt $GANGWAY_RESTART_COUNT finds $(cat "$GANGWAY_CHECKPOINT_DIR/deep/state")"
[ "$GANGWAY_RESTART_COUNT" -lt $STAYS ] || exit 0
if [ $RANK = 0 ]; then
    mkdir -p "$GANGWAY_CHECKPOINT_DIR/deep"
    echo "step $GANGWAY_RESTART_COUNT" > "$GANGWAY_CHECKPOINT_DIR/deep/new"
    mv "$GANGWAY_CHECKPOINT_DIR/deep/new" "$GANGWAY_CHECKPOINT_DIR/deep/state"
    echo $$ "$GANGWAY_CHECKPOINTS" > "$FIFO"
fi
exec tail -f /dev/null
"""


class Carry(Machines):
    def start_function(self, *names):
        """A function gang that has saved and copied its checkpoint, on workers of these names:
        returns the program, and of each rank its pid and its worker's checkpoint folder."""
        for name in names:
            self.worker(name, 1)
        self.wait_workers(len(names))
        folder = os.path.join(self.dir, "counts")
        os.mkdir(folder)
        lines = e2e.Lines(self.fifo("counts/pids"))
        self.addCleanup(lines.close)
        program = self.start(os.path.join(PROGRAMS, "restarts"), folder, "1")
        pids = dict(map(int, lines.next().split()) for _ in range(2))
        self.wait_explain("1/0", "has a copy of step 4")
        ranks = {}
        for rank, pid in pids.items():
            with open(f"/proc/{pid}/environ", "rb") as f:
                found = re.search(rb"GANGWAY_CHECKPOINTS=([^\0]+)", f.read()).group(1)
            ranks[rank] = (pid, found.decode())
        return program, ranks

    def test_function_gang_resumes_from_the_copy_after_host_loss(self):
        """Its host is lost: the gang resumes from the copy at the other host."""
        program, ranks = self.start_function("one", "two", "three")
        self.workers[self.home_of(ranks[0][1])].kill(signal.SIGKILL)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 4", program.text)
        self.assertNotIn("LOST", self.gangway("logs", "1").stderr)
        self.assertRegex(self.gangway("events", "1").stdout,
                         r"is lost: it continues from the copy of step 4 that \S+ (on \S+ )?kept")

    def test_checkpoint_copies_are_removed_with_their_job(self):
        """The client is killed: the workers remove the checkpoints of its job."""
        copies = os.path.join(self.dir, "*-home", ".local", "**", ".copies", "*", "1.*")
        program, ranks = self.start_function("one", "two")
        self.assertTrue(glob.glob(copies, recursive=True))
        self.assertEqual(len(ranks), 2)
        program.kill(signal.SIGKILL)
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while left := glob.glob(copies, recursive=True):
            self.assertLess(time.monotonic(), deadline, left)
            e2e.pause()

    def test_gang_restarts_from_step_0_if_no_checkpoint_is_left(self):
        """Both workers live but have lost their folders: each is asked once, and then the gang
        restarts from step 0."""
        program, ranks = self.start_function("one", "two")
        for _, checkpoints in ranks.values():
            shutil.rmtree(checkpoints)
        os.kill(ranks[0][0], signal.SIGKILL)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 0", program.text)
        self.assertIn("THE CHECKPOINT IS LOST", self.gangway("logs", "1").stderr)
        events = self.gangway("events", "1").stdout
        self.assertEqual(len(re.findall("NOT HAVE ITS CHECKPOINT ANY MORE", events)), 1, events)
        self.assertEqual(len(re.findall(r"DOES NOT HAVE ITS COPY .* ANY MORE", events)), 1, events)
        self.assertIn("STARTS FROM STEP 0", events)

    def test_command_checkpoint_moves_to_a_host_with_free_slots(self):
        """The checkpoint folder is transferred to a host with free slots; then that host is
        lost."""
        self.worker("one", 1)
        self.worker("two", 1)
        self.wait_workers(2)
        fifo = e2e.Lines(self.fifo())
        self.addCleanup(fifo.close)
        program = self.start(e2e.BINARY, "dispatch", "-n", "2", "--max-restarts", "1",
                             "--max-worker-losses", "2", "--env", f"FIFO={self.dir}/fifo", "--env",
                             "STAYS=2", "--",
                             "sh", "-c", RANK)
        pid, folder = fifo.next().split()
        home = self.home_of(folder)
        self.wait_explain("1/0", "has a copy")
        self.worker("three", 2)
        rows = self.gangway_json("worker", "list")
        self.assertEqual({row["address"] for row in rows}, {"127.0.0.1"})
        blocks = f"echo blocks now > {self.dir}/fifo; exec tail -f /dev/null"
        blocker = self.start(e2e.BINARY, "submit", "--priority", "5", "--on", home, "--",
                             "sh", "-c", blocks)
        while self.gangway_json("status")["workers"] < 3 or \
                "2" not in {str(row["id"]) for row in self.gangway_json("jobs")}:
            pass
        os.kill(int(pid), signal.SIGKILL)
        told = sorted((fifo.next().split() for _ in range(2)), key=lambda row: row[0].isdigit())
        self.assertEqual(told[0], ["blocks", "now"])
        second = self.home_of(told[1][1])
        self.assertNotEqual(second, home)
        self.assertRegex(self.gangway("events", "1").stdout,
                         r"is transferred from \S+ (on \S+ )?to")
        self.gangway("cancel", "2")
        self.assertEqual(blocker.wait(), 130)
        self.wait_explain("1/0", "has a copy")
        program.wait_output("attempt 1 finds step 0")  # the checkpoint went with its worker
        self.workers[second].kill(signal.SIGKILL)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertRegex(program.text, r"attempt 2 finds step [01]")

    def test_restarted_scheduler_knows_checkpoints_and_copies(self):
        """It knows where the checkpoint of a detached job is, and which worker has a copy if
        the checkpoint is gone."""
        for name in ("one", "two"):
            self.worker(name, 1)
        self.wait_workers(2)
        go, fifo = os.path.join(self.dir, "go"), e2e.Lines(self.fifo())
        self.addCleanup(fifo.close)
        self.gangway("dispatch", "-d", "-n", "2", "--max-restarts", "1", "--", "sh", "-c", f"""
            if [ -e {go} ]; then
                [ $RANK != 0 ] || echo "finds $(cat "$GANGWAY_CHECKPOINT_DIR/state")"
                exit 0
            fi
            if [ $RANK = 0 ]; then
                echo step 7 > "$GANGWAY_CHECKPOINT_DIR/state"
                echo $$ "$GANGWAY_CHECKPOINTS" > {fifo.path}
            fi
            exec tail -f /dev/null""")
        pid, folder = fifo.next().split()
        self.wait_explain("1/0", "has a copy")
        # on disk, like all facts before it
        self.gangway("submit", "-d", "--after", "1", "--", "true")
        self.scheduler.kill(signal.SIGKILL)
        self.scheduler.wait()
        self.write("go", "")
        shutil.rmtree(os.path.join(folder, "1/0"))
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass  # its worker was faster
        self.start_scheduler(self.address)
        self.gangway("wait", "1")
        events = self.gangway("events", "1").stdout
        self.assertIn("finds step 7", self.gangway("logs", "1").stdout, events)
        self.assertRegex(events, r"ITS CHECKPOINT ANY MORE(.|\n)*it continues from the copy")

    def test_restarted_worker_still_has_its_checkpoints(self):
        """However the worker ended, its folder has the checkpoint and the output of earlier
        attempts."""
        self.worker("one", 2)
        self.wait_workers(1)
        fifo = e2e.Lines(self.fifo())
        self.addCleanup(fifo.close)
        self.gangway("dispatch", "-d", "-n", "2", "--max-restarts", "2",
                     "--max-worker-losses", "2", "--env", f"FIFO={self.dir}/fifo", "--env",
                     "STAYS=2", "--", "sh", "-c", RANK)
        for number in signal.SIGKILL, signal.SIGTERM:
            fifo.next()
            self.workers["one"].kill(number)
            self.workers["one"].wait()
            self.worker("one", 2)
        self.gangway("wait", "1")
        self.assertIn("attempt 2 finds step 1", self.gangway("logs", "1").stdout)
        kept = ""
        for path in glob.glob(os.path.join(self.homes["one"], "**/logs/1/*.out"), recursive=True):
            with open(path, encoding="utf-8") as f:
                kept += f.read()
        self.assertIn("attempt 1 finds step 0", kept)
        self.assertNotIn("ANY MORE:", self.gangway("events", "1").stdout)

    def test_checkpoint_copy_survives_restarts_of_all_workers(self):
        """The copy survives the restart of its worker, and is used if the original is gone."""
        program, ranks = self.start_function("one", "two")
        for worker in self.workers.values():
            worker.kill(signal.SIGKILL)
            worker.wait()
        shutil.rmtree(os.path.join(ranks[0][1], "1/0"))
        for name in "one", "two":
            self.worker(name, 1)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 4", program.text)
        self.assertIn("it continues from the copy", self.gangway("events", "1").stdout)

    def files_of_a_job(self):
        """An attached job whose client is killed after its worker `one`; returns the job's folder
        at that worker."""
        fifo = e2e.Lines(self.fifo())
        self.addCleanup(fifo.close)
        program = self.start(e2e.BINARY, "dispatch", "-n", "1", "--env", f"FIFO={self.dir}/fifo",
                             "--env", "STAYS=1", "--", "sh", "-c", RANK)
        folder = os.path.join(fifo.next().split()[1], "1/0")
        for process in self.workers["one"], program:
            process.kill(signal.SIGKILL)
            process.wait()
        self.assertTrue(os.path.exists(os.path.join(folder, "deep/state")))
        return folder

    def wait_no(self, path):
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while os.path.exists(path):
            self.assertLess(time.monotonic(), deadline)
            e2e.pause()

    def test_files_of_unknown_jobs_are_removed_after_a_restart(self):
        """The next scheduler does not know an attached job, so the worker removes its files."""
        self.worker("one", 1)
        self.wait_workers(1)
        folder = self.files_of_a_job()
        self.scheduler.kill(signal.SIGKILL)
        self.scheduler.wait()
        self.start_scheduler(self.address)
        self.worker("one", 1)
        self.wait_no(folder)
        self.wait_no(os.path.join(os.path.dirname(folder), "../../logs/1"))

    def test_returning_worker_removes_files_of_ended_jobs(self):
        """The worker learns on its return that the job has ended; only output stays."""
        self.worker("one", 1)
        self.wait_workers(1)
        folder = self.files_of_a_job()
        self.wait_said("cancelled", "jobs")
        self.worker("one", 1)
        self.wait_no(folder)
        self.assertTrue(os.path.exists(os.path.normpath(f"{folder}/../../../logs/1")))

    def test_job_of_a_new_cluster_finds_an_empty_checkpoint_folder(self):
        """A new cluster at the same address has a job of the same number: that job finds an
        empty folder, and the old content is there under another name."""
        self.worker("one", 1)
        self.wait_workers(1)
        folder = self.files_of_a_job()
        self.scheduler.kill(signal.SIGKILL)
        self.scheduler.wait()
        shutil.rmtree(self.cluster("state"))
        self.start_scheduler(self.address)
        self.worker("one", 1)
        self.wait_workers(1)
        done = self.gangway("dispatch", "-n", "1", "--", "sh", "-c",
                            'echo job $GANGWAY_JOB; ls -A "$GANGWAY_CHECKPOINT_DIR"')
        self.assertIn("job 1\n", done.stdout)
        self.assertNotIn("deep", done.stdout)
        self.assertFalse(os.path.exists(os.path.join(folder, "deep")))
        aside = os.path.normpath(f"{folder}/../../../foreign-*/checkpoints.1/0/deep/state")
        self.assertEqual(len(glob.glob(aside)), 1)

    @unittest.skipUnless(e2e.SANITIZED, "it waits 20 s for what is given up: once is enough")
    def test_checkpoint_transfer_from_a_stopped_worker_is_abandoned(self):
        """A worker is stopped while it sends a checkpoint: the receiver gives up, and its gang
        continues elsewhere. When the worker continues, nothing of the transfer is left."""
        for name in ("one", "two"):
            self.worker(name, 1)
        self.wait_workers(2)
        go, fifo = os.path.join(self.dir, "go"), e2e.Lines(self.fifo())
        self.addCleanup(fifo.close)
        program = self.start(
            e2e.BINARY, "dispatch", "-n", "2", "--min-ranks", "1",
            "--full-size-timeout", "1s", "--", "sh",
            "-c", f"""
            if [ -e {go} ]; then echo rank $RANK of $WORLD_SIZE; exit 0; fi
            if [ $RANK = 0 ]; then
                truncate -s 2G "$GANGWAY_CHECKPOINT_DIR/state"
                echo "$GANGWAY_CHECKPOINTS" > {fifo.path}
            fi
            exec tail -f /dev/null""")
        home = self.home_of(fifo.next())
        stopped, other = self.workers[home], next(n for n in self.homes if n != home)
        transfers = os.path.join(self.homes[other], "**", ".transfers", "*", "*")
        while not (begun := glob.glob(transfers, recursive=True)):
            self.assertIsNone(program.popen.poll())
        stopped.kill(signal.SIGSTOP)
        self.assertTrue(begun)
        self.write("go", "")
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("rank 0 of 1", program.text)
        self.assertIn("STARTS FROM STEP 0", self.gangway("events", "1").stdout)
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while glob.glob(transfers, recursive=True):
            self.assertLess(time.monotonic(), deadline)
            e2e.pause()
        stopped.kill(signal.SIGCONT)
        while (status := self.gangway_json("status"))["slots_free"] < 2 or status["workers"] != 2:
            self.assertLess(time.monotonic(), deadline, status)
        for folder in ".transfers", ".copies":
            left = os.path.join(self.dir, "*-home", ".local", "**", folder, "*", "*")
            self.assertEqual(glob.glob(left, recursive=True), [])

    def test_oversized_checkpoint_is_reported_with_its_option(self):
        """A worker that may not transfer a checkpoint reports that and names the option."""
        for name in ("one", "two"):
            self.worker(name, 1, "--checkpoint-max", "1")
        self.wait_workers(2)
        fifo = e2e.Lines(self.fifo())
        self.addCleanup(fifo.close)
        self.start(e2e.BINARY, "dispatch", "-n", "2", "--env", f"FIFO={self.dir}/fifo", "--env",
                   "STAYS=1", "--", "sh", "-c", RANK)
        fifo.next()
        self.wait_explain("1/0", "start it with a higher --checkpoint-max")
        self.assertIn("NO COPY", self.gangway("events", "1").stdout)
        self.gangway("cancel", "1")


# Simulates a PyTorch script: rank 0 saves, and all ranks load. Each attempt but the last makes two
# epochs, and then stays.
EPOCHS = """
epoch=$(cat "$GANGWAY_CHECKPOINT_DIR/epoch" 2>/dev/null || echo 0)
echo "attempt $GANGWAY_RESTART_COUNT rank $RANK of $WORLD_SIZE starts at epoch $epoch"
[ "$GANGWAY_RESTART_COUNT" -lt "$STAYS" ] || exit 0
if [ $RANK = 0 ]; then
    echo $((epoch + 2)) > "$GANGWAY_CHECKPOINT_DIR/new"
    mv "$GANGWAY_CHECKPOINT_DIR/new" "$GANGWAY_CHECKPOINT_DIR/epoch"
fi
echo $RANK "$GANGWAY_CHECKPOINTS" > "$FIFO"
exec tail -f /dev/null
"""

# Each rank saves a shard of its own over the previous one, and loads all shards.
SHARDS = """
cd "$GANGWAY_CHECKPOINT_DIR"
loads=$(cat deep/shard-* 2>/dev/null | tr '\\n' ' ')
echo "attempt $GANGWAY_RESTART_COUNT rank $RANK loads $loads"
[ "$GANGWAY_RESTART_COUNT" -lt "$STAYS" ] || exit 0
mkdir -p deep
echo "$RANK:$GANGWAY_RESTART_COUNT" > deep/shard-$RANK
echo "$RANK:$GANGWAY_RESTART_COUNT" > deep/only-$RANK-$GANGWAY_RESTART_COUNT
echo $RANK "$GANGWAY_CHECKPOINTS" > "$FIFO"
exec tail -f /dev/null
"""

# Each rank writes a file of the same name; `same` has the same content everywhere.
CLASH = """
cd "$GANGWAY_CHECKPOINT_DIR"
[ "$GANGWAY_RESTART_COUNT" = 0 ] || { echo "rank $RANK starts again"; exit 0; }
echo "settings" > same
echo "rank $RANK" > $NAME
echo $RANK "$GANGWAY_CHECKPOINTS" > "$FIFO"
exec tail -f /dev/null
"""


class Together(Machines):
    """A command gang over hosts that share no folder: all ranks find the same files."""

    def gang(self, script, *arguments, ranks=2, **env):
        """Starts the gang; self.ready returns the reports of its ranks."""
        self.lines = e2e.Lines(self.fifo())
        self.addCleanup(self.lines.close)
        env = [word for name, value in dict(env, FIFO=self.lines.path).items()
               for word in ("--env", f"{name}={value}")]
        return self.start(e2e.BINARY, "dispatch", "-n", str(ranks), *arguments, *env, "--", "sh",
                          "-c", script)

    def ready(self, ranks=2):
        """Waits until all ranks stay; returns the worker's checkpoint folder of each."""
        told = dict(self.lines.next().split() for _ in range(ranks))
        self.assertEqual(sorted(told), [str(rank) for rank in range(ranks)])
        return told

    def machines(self, *names):
        for name in names:
            self.worker(name, 1)
        self.wait_workers(len(names))

    def test_restarted_command_gang_finds_the_newest_checkpoint(self):
        """After two restarts, the files transferred earlier are older than the files that rank
        0 saved since."""
        self.machines("one", "two")
        gang = self.gang(EPOCHS, STAYS=2)
        for _ in range(2):
            self.ready()
            self.gangway("restart", "1")
        self.assertEqual(gang.wait(), 0, gang.text)
        for rank in 0, 1:
            self.assertIn(f"attempt 2 rank {rank} of 2 starts at epoch 4", gang.text)

    def test_all_ranks_resume_from_the_copy_after_host_loss(self):
        """The host of rank 0 is lost: both ranks resume from the copy, on hosts that had an
        older checkpoint."""
        self.machines("one", "two")
        gang = self.gang(EPOCHS, "--max-worker-losses", "1", STAYS=1)
        home = self.home_of(self.ready()["0"])
        self.wait_explain("1/0", "has a copy")
        self.worker("three", 1)
        self.wait_workers(3)
        self.workers[home].kill(signal.SIGKILL)
        self.assertEqual(gang.wait(), 0, gang.text)
        for rank in 0, 1:
            self.assertIn(f"attempt 1 rank {rank} of 2 starts at epoch 2", gang.text)

    def test_grown_gang_finds_the_checkpoint_of_its_single_rank(self):
        """The gang begins with one rank; a host that joins later finds the checkpoint of that
        rank."""
        self.machines("one")
        gang = self.gang(EPOCHS, "--min-ranks", "1", "--full-size-timeout", "100ms", STAYS=1)
        self.ready(1)
        self.worker("two", 1)
        self.wait_workers(2)
        self.gangway("restart", "1")
        self.assertEqual(gang.wait(), 0, gang.text)
        for rank in 0, 1:
            self.assertRegex(gang.text, rf"attempt \d+ rank {rank} of 2 starts at epoch 2")

    def test_every_rank_finds_the_shards_of_all_hosts(self):
        """The ranks of each host write files; every rank finds all of them, in their newest
        version."""
        self.machines("one", "two", "three")
        gang = self.gang(SHARDS, ranks=3, STAYS=2)
        for _ in range(2):
            self.ready(3)
            self.gangway("restart", "1")
        self.assertEqual(gang.wait(), 0, gang.text)
        for rank in range(3):
            self.assertIn(f"attempt 2 rank {rank} loads 0:1 1:1 2:1", gang.text)

    def test_conflicting_checkpoint_files_stop_the_restart(self):
        """Two hosts have different files of the same name: the error names both, and no rank
        starts."""
        self.machines("one", "two")
        gang = self.gang(CLASH, NAME="log")
        self.ready()
        self.gangway("restart", "1")
        self.assertNotEqual(gang.wait(), 0)
        self.assertNotIn("starts again", gang.text)
        self.assertRegex(gang.text, r'ranks on (one|two) .*and on (one|two) .*a file "log"')
        told = re.search(r"ranks on (one|two) .*and on (one|two) ", gang.text)
        self.assertNotEqual(told.group(1), told.group(2))

    def test_equal_or_distinct_checkpoint_files_do_not_conflict(self):
        """Equal content under the same name, and different names, are no conflict."""
        self.machines("one", "two")
        gang = self.gang(CLASH.replace("$NAME", '"log-$RANK"'))
        self.ready()
        self.gangway("restart", "1")
        self.assertEqual(gang.wait(), 0, gang.text)
        self.assertIn("rank 1 starts again", gang.text)


class Leave(Machines):
    """Workers that are told to end (SIGTERM), and the tasks that run there."""

    def leaver(self, name, job, **others):
        """A function gang that stays in step 4, which the scheduler knows, on worker `leaver`,
        beside other workers with these slots: returns the program, and the gate that lets it
        continue."""
        self.worker("leaver", 2)
        self.wait_workers(1)
        folder = os.path.join(self.dir, name)
        os.mkdir(folder)
        lines, gate = e2e.Lines(self.fifo(f"{name}/pids")), self.fifo(f"{name}/gate")
        self.addCleanup(lines.close)
        program = self.start(os.path.join(PROGRAMS, "restarts"), folder, "1")
        for _ in range(2):
            lines.next()
        while self.gangway_json("tasks", job)[0].get("checkpoint_step") != 4:
            self.assertIsNone(program.popen.poll(), program.text)
        for other, slots in others.items():
            self.worker(other, slots)
        self.wait_workers(1 + len(others))
        return program, gate

    def leave(self, gate):
        """The worker is told to end, and only then the gang continues, until it receives the
        request and has saved."""
        leaver = self.workers["leaver"]
        leaver.kill(signal.SIGTERM)
        leaver.wait_output("ending: terminated")
        with open(gate, "w", encoding="utf-8"):
            self.assertEqual(leaver.wait(), 0, leaver.text)

    def test_terminated_worker_transfers_its_checkpoint_first(self):
        """Only this worker has the gang's checkpoint of a step reached since: the checkpoint is
        transferred to the worker where the gang continues, or to another connected worker until
        then."""
        program, gate = self.leaver("placed", "1", room=2)
        self.leave(gate)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertRegex(program.text, "sum 24 from step [5-8]")
        self.assertRegex(self.gangway("events", "1").stdout,
                         r"was lost: it was ended \(SIGTERM\)(.|\n)*"
                         r"checkpoint of step [5-8] is transferred from leaver")
        blocks = self.gangway("submit", "-d", "--slots", "2", "--on", "room", "--", "sleep",
                              "600").stdout.strip()
        program, gate = self.leaver("waits", "3")
        self.leave(gate)
        self.assertIn("keeps a copy", self.gangway("events", "3").stdout)
        self.gangway("cancel", blocks)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertRegex(program.text, "sum 24 from step [5-8]")

    def test_second_sigterm_ends_the_worker_at_once(self):
        """After a second signal the worker waits neither for its tasks nor for the receiver of
        its checkpoint, which is stopped here."""
        program, _ = self.leaver("twice", "1", room=2)
        room, leaver = self.workers.pop("room"), self.workers["leaver"]
        room.kill(signal.SIGSTOP)
        leaver.kill(signal.SIGTERM)
        leaver.wait_output("ending: terminated")
        leaver.kill(signal.SIGTERM)
        self.assertEqual(leaver.wait(), 0, leaver.text)
        self.assertIn("ending at once", leaver.text)
        room.kill(signal.SIGKILL)
        room.wait()
        self.worker("other", 2)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 0", program.text)

    def test_terminated_worker_grants_commands_their_grace_period(self):
        """A gang of one host needs a second to save when it is told to end: that checkpoint is
        transferred, too."""
        lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(lines.close)
        script = f"""
            [ "$GANGWAY_RESTART_COUNT" = 0 ] || {{
                [ $RANK != 0 ] || echo "finds $(cat "$GANGWAY_CHECKPOINT_DIR/state")"
                exit 0
            }}
            [ $RANK = 0 ] || exec tail -f /dev/null
            trap 'timeout 1 tail -f /dev/null
                  echo late > "$GANGWAY_CHECKPOINT_DIR/state"; exit 1' TERM
            echo early > "$GANGWAY_CHECKPOINT_DIR/state"
            echo ready > {lines.path}
            tail -f /dev/null & wait"""
        self.worker("leaver", 2)
        self.wait_workers(1)
        self.gangway("dispatch", "-d", "-n", "2", "--grace", "50s", "--", "sh", "-c", script)
        self.assertEqual(lines.next(), "ready")
        self.worker("room", 2)
        self.wait_workers(2)
        self.workers["leaver"].kill(signal.SIGTERM)
        self.assertEqual(self.workers["leaver"].wait(), 0)
        self.gangway("wait", "1")
        self.assertIn("finds late", self.gangway("logs", "1").stdout)


if __name__ == "__main__":
    e2e.main()
