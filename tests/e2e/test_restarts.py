#!/usr/bin/env python3
"""A rank is killed: its gang restarts, resumes from its checkpoint, and the result is right."""
import json
import os
import re
import signal

import e2e

# Attempt 0 reports its pid and stays; later attempts end. Each appends a line to a file in the
# task's own folder.
AGAIN = """#!/bin/sh
echo "attempt $GANGWAY_RESTART_COUNT rank $RANK" >> "$GANGWAY_CHECKPOINT_DIR/attempts"
[ "$GANGWAY_RESTART_COUNT" = "$TORCHELASTIC_RESTART_COUNT" ] || exit 9
if [ "$GANGWAY_RESTART_COUNT" -lt "$STAY" ]; then
    echo "$RANK $$ $MASTER_PORT" > "$FIFO"
    exec tail -f /dev/null
fi
seen=$(sort "$GANGWAY_CHECKPOINT_DIR/attempts" | head -n $((STAY * 2)) | tr '\\n' ',')
echo "rank $RANK sees $seen"
"""


# A training script in shell: it resumes from the weights in its folder; without any, it saves some
# and fails.
TRIAL = """#!/bin/sh
trial=$1 weights=$GANGWAY_CHECKPOINT_DIR/weights
if [ -e "$weights" ]; then
    echo "trial $trial resumes from $(cat "$weights")"
    exit 0
fi
echo "trial $trial" > "$weights"
exit 3
"""


# Replaces gdb: prints the stacks of the ranks that it should attach to.
GDB = r"""#!/bin/sh
for word; do
    case "$word" in
    "echo gangway rank "*) printf "$word" | sed 's/^echo //' ;;
    "attach "*) pid=${word#attach }; kill -0 "$pid" || exit
        printf '[New LWP 1]\nThread 1 (LWP %s "it"):\n' "$pid"
        echo '#0  looks_for_data (...) at it.c:7' ;;
    esac
done
"""


class Restarts(e2e.Case):
    def have_gdb(self, script):
        """Puts it on PATH."""
        self.write("gdb", script)
        self.env["PATH"] = f"{self.dir}:{self.env['PATH']}"

    def pids(self):
        """{rank: pid} of two ranks that have reported."""
        told = [self.lines.next().split() for _ in range(2)]
        return {int(words[0]): int(words[1]) for words in told}

    def listen(self, name):
        self.lines = e2e.Lines(self.fifo(name))
        self.addCleanup(self.lines.close)

    def test_killed_rank_and_restart_request_restart_a_command(self):
        self.listen("fifo")
        self.up("--slots", "2")
        script = self.write("again", AGAIN)
        gang = self.start(e2e.BINARY, "dispatch", "-n", "2", "--max-restarts", "1", "--grace", "1s",
                          "--", script, env={"FIFO": self.lines.path, "STAY": "2"})
        os.kill(self.pids()[1], signal.SIGKILL)  # counts as a restart
        self.pids()
        self.assertIn("attempt 2", self.gangway("explain", "1").stdout)
        self.gangway("restart", "1")  # another restart, of another budget
        self.assertEqual(gang.wait(), 0, gang.text)
        for rank in range(2):
            self.assertIn(f"rank {rank} sees attempt 0 rank 0,attempt 0 rank 1,attempt 1 rank 0,"
                          "attempt 1 rank 1,", gang.text)
        events = self.gangway("events", "1").stdout
        self.assertRegex(events, r"failed: rank 1 on .*signal 9")
        self.assertRegex(events, r"restarted by ")
        self.assertRegex(gang.text, r"attempt 2 ended, restarted by .*; the next attempt follows")
        self.assertEqual(self.gangway_json("jobs")[0]["tries"], 3)
        self.assertIn("job 1 has no running gang", self.gangway("restart", "1", rc=2).stderr)
        self.assert_idle()

    def function(self, restarts, *files, hang_ms=(), number=signal.SIGKILL):
        self.listen("pids")
        for name in files:
            self.write(name, "")
        program = self.start(os.path.join(os.path.dirname(e2e.BINARY), "restarts"), self.dir,
                             str(restarts), *hang_ms)
        os.kill(self.pids()[1], number)
        return program

    def test_restarted_function_resumes_from_its_checkpoint(self):
        self.up("--slots", "2")
        program = self.function(1)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 4", program.text)
        self.assertEqual(self.gangway_json("tasks", "1")[0]["checkpoint_step"], 8)

    def test_torn_checkpoint_falls_back_to_the_previous(self):
        program = self.function(1, "tear")
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 3", program.text)

    def test_checkpoint_on_a_full_disk_fails_only_its_gang(self):
        self.up("--slots", "3")
        self.write("full", "")
        fifo = self.fifo("other")
        other = self.gangway("submit", "-d", "--", "cat", fifo).stdout.strip()
        program = self.start(os.path.join(os.path.dirname(e2e.BINARY), "restarts"), self.dir, "1")
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 4", program.text)
        with open(fifo, "w", encoding="utf-8") as f:
            f.write("undisturbed")
        self.gangway("wait", other)
        self.assertEqual(self.gangway("logs", other).stdout, "undisturbed")
        self.assertRegex(self.gangway("events", "2").stdout,
                         r"checkpoint /.*\.checkpoint\.new: File too large: it has \d+ bytes")

    def test_hang_report_names_a_stopped_rank(self):
        """The cause has the top frames; the full stacks are at the end of each rank's
        output."""
        self.have_gdb(GDB)
        self.up("--slots", "2")
        program = self.function(0, hang_ms=["1500"], number=signal.SIGSTOP)
        self.assertEqual(program.wait(), 1, program.text)
        self.assertRegex(program.text, r"rank 1 hangs: it is stopped .*the other is in all_reduce"
                                       r".*\n"
                                       r"rank 1: looks_for_data \(it\.c:7\)\n"
                                       r"rank 0: looks_for_data \(it\.c:7\)\n"
                                       r"full stacks: gangway logs 1/0 --rank 1")
        for rank, state in (0, "[SR]"), (1, "T"):
            written = self.gangway("logs", "1/0", "--rank", str(rank)).stderr
            self.assertRegex(written, rf"gangway: rank {rank} stands still, process (\d+): state "
                                      rf"{state}.*\ngangway:   Thread 1 \(LWP \1 \"it\"\):\n"
                                      r"gangway:   #0  looks_for_data \(\.\.\.\) at it\.c:7\n")

    def test_hang_report_names_the_rank_behind_the_others(self):
        self.have_gdb("#!/bin/sh\nexit 1\n")  # as if it may not attach
        program = self.function(0, hang_ms=["1500"], number=signal.SIGCONT)
        self.assertEqual(program.wait(), 1, program.text)
        self.assertRegex(program.text, r"rank 1 hangs: it is in no collective \(\d+ so far\), "
                                       r"the other is in all_reduce \d+")
        self.assertRegex(program.text, r"\nrank 1: state [SR]")

    def test_hang_report_names_a_stopped_command(self):
        self.have_gdb(GDB)
        self.listen("fifo")
        script = self.write("again", AGAIN)
        gang = self.start(e2e.BINARY, "dispatch", "-n", "2", "--hang-timeout", "1500ms", "--",
                          script, env={"FIFO": self.lines.path, "STAY": "1"})
        os.kill(self.pids()[1], signal.SIGSTOP)
        self.assertNotEqual(gang.wait(), 0, gang.text)
        self.assertRegex(gang.text, r"rank 1 hangs: it is stopped")
        for rank in range(2):  # with the whole output of the ranks
            self.assertRegex(gang.text, rf"{rank}\W+gangway:   #0  looks_for_data")

    def test_idle_command_gang_is_only_reported(self):
        """Idle commands are not ended, and explain does not mention them any more once they
        continue."""
        hint = "no rank has used CPU or written output for 300ms or longer"
        self.up("--slots", "2")
        gate = self.fifo("gate")
        job = self.gangway("dispatch", "-d", "-n", "2", "--hang-timeout", "300ms", "--", "sh", "-c",
                           f"cat {gate}; [ $RANK = 1 ] || while :; do :; done").stdout.strip()
        while hint not in self.gangway("explain", job).stdout:
            pass
        with open(gate, "w", encoding="utf-8"):
            pass
        while hint in self.gangway("explain", job).stdout:
            pass
        self.assertEqual(self.gangway_json("jobs")[0]["state"], "running")

    def test_paused_function_resumes_from_its_checkpoint(self):
        self.up("--slots", "2")
        self.listen("pids")
        gate = self.fifo("gate")
        program = self.start(os.path.join(os.path.dirname(e2e.BINARY), "restarts"), self.dir, "0")
        self.pids()
        self.gangway("pause", "1")
        gate = open(gate, "w", encoding="utf-8")
        while self.gangway_json("jobs")[0]["state"] == "pausing":
            self.assertIsNone(program.popen.poll(), program.text)
        gate.close()
        self.assertIn("its job is paused", self.gangway("explain", "1").stdout)
        self.gangway("resume", "1")
        self.assertEqual(program.wait(), 0, program.text)
        self.assertRegex(program.text, r"sum 24 from step [45]")
        self.assertIn("paused by", self.gangway("events", "1").stdout)

    def test_stop_sends_the_signal_chosen_by_the_command(self):
        self.listen("fifo")
        self.up("--slots", "2")
        script = self.write("ends", """#!/bin/sh
trap 'echo "rank $RANK saves"; exit 0' USR1
echo "$RANK $$ x" > "$FIFO"
while :; do read -r line < "$NEVER"; done
""")
        never = self.fifo("never")
        gang = self.start(e2e.BINARY, "dispatch", "-n", "2", "--signal", "USR1", "--max-restarts",
                          "3", "--", script, env={"FIFO": self.lines.path, "NEVER": never})
        self.pids()
        self.gangway("stop", "1")
        self.assertEqual(gang.wait(), 0, gang.text)
        self.assertIn("rank 1 saves", gang.text)
        self.assertIn("USR1", self.gangway("dispatch", "--signal", "NONE", "--", "true",
                                           rc=2).stderr)

    def test_stop_ends_a_command_without_a_signal_handler(self):
        """The command dies of the signal; the output names the client that requested the stop,
        and the exit code is the signal's."""
        self.up("--slots", "1")
        job = self.gangway("dispatch", "-d", "--max-restarts", "3", "--", "tail", "-f",
                           "/dev/null").stdout.strip()
        self.gangway("exec", "--wait", job, "--", "true")
        self.gangway("stop", job)
        said = self.gangway("wait", job, rc=143).stderr
        self.assertIn("`gangway cancel` ends tasks that are no gang",
                      self.gangway("stop", job, rc=2).stderr)
        self.assertRegex(said, r"the gang was told to stop by gangway stop \(.*\): signal 15")

    def test_gang_without_restarts_fails_after_a_killed_rank(self):
        program = self.function(0)
        self.assertEqual(program.wait(), 1, program.text)
        self.assertRegex(program.text, r"rank 1 on .*signal 9")


class Followed(e2e.Case):
    SCRIPT = ('[ $RANK = 0 ] || { echo try $GANGWAY_RESTART_COUNT; '
              '[ $GANGWAY_RESTART_COUNT != 0 ] || exit 4; }; '
              '[ $RANK != 0 ] || [ $GANGWAY_RESTART_COUNT != 0 ] || exec cat FIFO')

    def test_logs_follow_a_gang_into_its_next_attempt(self):
        self.up("--slots", "2")
        gate = self.fifo("gate")
        script = (f"[ $RANK = 0 ] || {{ echo here; read -r line <{gate}; }}; "
                  + self.SCRIPT.replace("FIFO", self.fifo()))
        job = self.gangway("dispatch", "-d", "-n", "2", "--max-restarts", "1", "--", "sh", "-c",
                           script).stdout.strip()
        follower = self.start(e2e.BINARY, "logs", "-f", job)
        for attempt in (1, 2):
            follower.wait_output(r"(?s)(here.*){%d}" % attempt)
            with open(gate, "w", encoding="utf-8") as file:
                file.write("go\n")
        self.gangway("wait", job)
        self.assertEqual(follower.wait(), 0, follower.text)
        self.assertIn("try 0", follower.text)
        self.assertIn("try 1", follower.text)
        self.assertRegex(follower.text, "attempt 1 failed.*rank 1.*exit code 4.*next attempt")

    def test_attached_client_prints_why_the_gang_restarts(self):
        run = self.gangway("dispatch", "-n", "2", "--max-restarts", "1", "--", "sh", "-c",
                           self.SCRIPT.replace('FIFO', self.fifo()))
        self.assertRegex(run.stderr, "attempt 1 failed.*rank 1.*exit code 4.*next attempt")

    def test_stopped_client_later_prints_every_failed_attempt(self):
        """A client that is stopped while the attempts fail learns of all of them at once."""
        self.up("--slots", "1")
        gates = [self.fifo(f"gate{attempt}") for attempt in range(3)]
        client = self.start(e2e.BINARY, "submit", "--retries", "2", "--", "sh", "-c",
                            "echo try $GANGWAY_RESTART_COUNT; "
                            "read -r line <gate$GANGWAY_RESTART_COUNT; exit 4")
        client.wait_output("try 0")
        job = self.gangway_json("jobs")[0]["id"]
        client.kill(signal.SIGSTOP)
        for gate in gates:
            with open(gate, "w", encoding="utf-8") as file:
                file.write("go\n")
        self.gangway("wait", str(job), rc=4)
        client.kill(signal.SIGCONT)
        self.assertEqual(client.wait(), 4, client.text)
        said = re.findall(r"attempt (\d) failed.*the next attempt follows", client.text)
        self.assertEqual(said, ["1", "2"], client.text)


class Trials(e2e.Case):
    """Each task has its own checkpoint folder, not each job: no trial takes another's weights."""

    def setUp(self):
        super().setUp()
        self.up("--slots", "3")
        self.trial = self.write("trial", TRIAL)

    def assert_own(self, text, trials):
        """Of each task, the output of its last attempt."""
        self.assertEqual(sorted(re.sub(r"^\[.*\] ", "", line) for line in text.splitlines()),
                         [f"trial {i} resumes from trial {i}" for i in sorted(trials, key=str)])

    def test_json_tasks_resume_from_their_own_checkpoints(self):
        """Each task runs twice: its second attempt finds only the checkpoint of its first."""
        tasks = [{"argv": [self.trial, str(i)], "options": {"retries": 1}} for i in range(12)]
        done = self.gangway("submit", "--from-json", self.write("trials", json.dumps(tasks)))
        self.assert_own(done.stdout, range(12))

    def test_json_gangs_resume_from_their_own_checkpoints(self):
        """Each trial is a gang, and its ranks share a folder."""
        tasks = [{"argv": [self.trial, str(i)], "options": {"ranks": 1, "retries": 1}}
                 for i in range(4)]
        done = self.gangway("submit", "--from-json", self.write("trials", json.dumps(tasks)))
        self.assert_own(done.stdout, range(4))

    def test_array_and_line_tasks_have_their_own_checkpoints(self):
        for option in ("--array", "0-4"), ("--each-line", self.write("lines", "5\n6\n7\n")):
            word = "{line}" if option[0] == "--each-line" else "{index}"
            done = self.gangway("submit", "--retries", "1", *option, "--", self.trial, word)
            self.assert_own(done.stdout, range(5, 8) if word == "{line}" else range(5))

    def test_retry_resumes_each_task_from_its_own_checkpoint(self):
        """`gangway retry` runs the failed tasks again, and each resumes from its own
        checkpoint."""
        self.gangway("submit", "-d", "--array", "0-2", "--", self.trial, "{index}")
        self.gangway("wait", "1", rc=3)
        self.gangway("retry", "1")
        self.gangway("wait", "1")
        said = "".join(self.gangway("logs", f"1/{i}").stdout for i in range(3))
        for i in range(3):
            self.assertIn(f"trial {i} resumes from trial {i}", said)


if __name__ == "__main__":
    e2e.main()
