#!/usr/bin/env python3
"""What survives the scheduler: detached jobs, and what they need to run. The scheduler is killed,
or ends, and another begins with the same state."""
import glob
import os
import shutil
import signal
import subprocess
import time

import e2e



class Durable(e2e.Case):
    def state(self, *names):
        return self.cluster("state", *names)

    def kill_scheduler(self):
        """Kills the scheduler, and waits until all its processes are gone."""
        left = e2e.pids_marked(self.mark)
        os.kill(self.process_of("scheduler --dir"), signal.SIGKILL)
        self.assert_gone(left)

    def kill_scheduler_alone(self):
        """Its workers and their tasks live on."""
        scheduler = self.process_of("scheduler --dir")
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])

    def submit(self, *arguments):
        return self.gangway(*arguments).stdout.strip()

    def job(self, number):
        return next(j for j in self.gangway_json("jobs") if j["id"] == int(number))

    def begin(self, lines, go):
        """Four tasks, of which two end, a gang that has saved, a job after both, and a job with a
        file of its own; returns their ids."""
        array = self.submit("submit", "-d", "--array", "0-3", "--grace", "100ms", "--", "sh", "-c",
                            f"echo task {{index}} > {lines.path}; [ {{index}} -lt 2 ] || "
                            f"[ -e {go} ] || tail -f /dev/null; echo out {{index}}")
        gang = self.submit("dispatch", "-d", "-n", "2", "--grace", "100ms", "--", "sh", "-c",
                           f'f="$GANGWAY_CHECKPOINT_DIR/saved.$RANK"; echo rank $RANK $([ -e $f ] '
                           f'&& echo again $GANGWAY_RESTART_COUNT) > {lines.path}; '
                           f'[ -e {go} ] || {{ touch $f; tail -f /dev/null; }}')
        after = self.submit("submit", "-d", "--after", f"{array},{gang}", "--", "echo", "after")
        data = self.write("data", "of a file\n")
        ship = self.submit("submit", "-d", "--after", array, "--ship", data, "--", "cat", "data")
        os.unlink(data)
        return array, gang, after, ship

    def test_detached_jobs_survive_a_killed_scheduler(self):
        go, lines = os.path.join(self.dir, "go"), e2e.Lines(self.fifo())
        self.up("--slots", "6", "--orphan-timeout", "0")
        early = self.submit("submit", "-d", "--", "sh", "-c", "echo early; exit 3")
        self.gangway("wait", early, rc=3)
        jobs, deadline = self.begin(lines, go), time.monotonic() + e2e.TIMEOUT_S
        self.assertEqual(sorted(lines.next() for _ in range(6)),
                         ["rank 0", "rank 1", "task 0", "task 1", "task 2", "task 3"])
        while [t["state"] for t in self.gangway_json("tasks", jobs[0])[:2]] != ["done", "done"]:
            self.assertLess(time.monotonic(), deadline)
        self.submit("submit", "-d", "--", "true")  # on disk, like the earlier start of the gang
        self.kill_scheduler()
        self.write("go", "")
        self.up("--slots", "6", "--orphan-timeout", "0")
        self.gangway("wait", ",".join(jobs))
        # Ended tasks did not run again, the others ran anew, and the gang resumed from its
        # checkpoint.
        self.assertEqual(sorted(lines.next() for _ in range(4)),
                         ["rank 0 again 1", "rank 1 again 1", "task 2", "task 3"])
        lines.close()
        self.assertEqual(self.gangway_json("tasks", jobs[1])[0]["tries"], 2)
        self.assertIn("attempt 2 starts", self.gangway("events", jobs[1]).stdout)
        self.assertEqual(self.gangway("logs", jobs[2]).stdout, "after\n")
        self.assertEqual(self.gangway("logs", jobs[3]).stdout, "of a file\n")
        for index in range(4):
            self.assertEqual(self.gangway("logs", f"{jobs[0]}/{index}").stdout, f"out {index}\n")
        self.assertEqual(self.gangway("logs", early).stdout, "early\n")
        self.gangway("wait", early, rc=3)
        self.assertEqual([self.job(n)["state"] for n in (early,) + jobs],
                         ["failed", "done", "done", "done", "done"])
        self.assertIn("before the restart of the scheduler", self.gangway("events", early).stdout)
        self.assertGreater(int(self.submit("submit", "-d", "--", "true")), int(jobs[3]))

    def starts(self, job):
        """How often each task of a job, or each rank of its gang, began."""
        names = sorted(n for n in os.listdir(self.dir) if n.startswith(f"began.{job}."))
        counts = []
        for name in names:
            with open(os.path.join(self.dir, name), encoding="utf-8") as f:
                counts.append(len(f.readlines()))
        return counts

    def test_running_tasks_are_adopted_by_the_next_scheduler(self):
        """Tasks and a gang continue without a scheduler; one task ends before the next
        scheduler starts."""
        lines = e2e.Lines(self.fifo())
        self.up("--slots", "5")
        script = (f"echo x >> {self.dir}/began.$GANGWAY_JOB.{{}}; echo here > {lines.path}; "
                  f"read go < {self.dir}/go.{{}}; echo out {{}}")
        goes = [os.path.join(self.dir, f"go.{n}") for n in (0, 1, "rank0", "rank1")]
        for path in goes:
            os.mkfifo(path)
        array = self.submit("submit", "-d", "--array", "0-1", "--", "sh", "-c",
                            script.replace("{}", "{index}"))
        gang = self.submit("dispatch", "-d", "-n", "2", "--", "sh", "-c",
                           script.replace("{}", "rank$RANK"))
        self.assertEqual([lines.next() for _ in range(4)], ["here"] * 4)
        worker = self.process_of("worker --dir")
        scheduler = self.process_of("scheduler --dir")
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])
        self.let_go(goes[0])
        self.up("--slots", "5")
        self.assertEqual(self.process_of("worker --dir"), worker)
        self.assertEqual(self.gangway_json("status")["slots"], 5)
        for path in goes[1:]:
            self.let_go(path)
        self.gangway("wait", f"{array},{gang}")
        lines.close()
        self.assertEqual(self.starts(array) + self.starts(gang), [1, 1, 1, 1])
        for index in range(2):
            self.assertEqual(self.gangway("logs", f"{array}/{index}").stdout, f"out {index}\n")
        self.assertIn("taken over", self.gangway("events", f"{array}/1").stdout)
        self.assertIn("attempt 1: ranks 0 to 1 still run at", self.gangway("events", gang).stdout)
        self.assertEqual(self.gangway_json("tasks", gang)[0]["tries"], 1)
        self.assert_idle()

    def test_sigterm_ends_only_the_scheduler(self):
        """Service managers stop it so: only the scheduler process ends, and `up` continues
        where it was."""
        lines, go = e2e.Lines(self.fifo()), self.fifo("go")
        self.up("--slots", "1")
        job = self.submit("submit", "-d", "--", "sh", "-c",
                          f"echo here > {lines.path}; read go < {go}; echo out")
        self.assertEqual(lines.next(), "here")
        worker, numbers = self.process_of("worker --dir"), [int(job)]
        for number in signal.SIGTERM, signal.SIGINT:
            scheduler = self.process_of("scheduler --dir")
            os.kill(scheduler, number)
            self.assert_gone([scheduler])
            self.up("--slots", "1")
            self.assertEqual(self.process_of("worker --dir"), worker)
            numbers.append(int(self.submit("submit", "-d", "--", "true")))
        self.let_go(go)
        self.gangway("wait", ",".join(map(str, numbers)))
        lines.close()
        self.assertEqual(self.gangway("logs", job).stdout, "out\n")
        self.assertEqual(self.gangway_json("tasks", job)[0]["tries"], 1)
        self.assertEqual(numbers, [int(job), int(job) + 1, int(job) + 2])
        self.gangway("down")
        self.assert_gone([worker])

    def test_submissions_during_scheduler_restarts_run_once(self):
        """Each submission is accepted and runs once. No client is told that there is no
        cluster, and `up` right after a kill starts a scheduler."""
        submits, writers, ends = (1200, 8, 20) if os.environ.get("GANGWAY_FULL") else (40, 2, 4)
        self.up("--slots", "2")
        script = (f'i=$1; while [ $i -lt {submits} ]; do '
                  f'gangway submit -d -- sh -c "echo ran >> {self.dir}/ran.$i" || exit; '
                  f'i=$((i + {writers})); done')
        clients = [self.start("sh", "-c", script, "sh", str(n)) for n in range(writers)]
        for number in [signal.SIGKILL, signal.SIGTERM] * (ends // 2):
            os.kill(self.process_of("scheduler --dir"), number)
            self.gangway("up", "--slots", "2")
        self.assertEqual([client.wait() for client in clients], [0] * writers,
                         [client.text for client in clients])
        numbers = {int(line) for client in clients for line in client.text.split()}
        self.assertEqual(len(numbers), submits)
        self.gangway("wait", "all")
        for n in range(submits):
            with open(os.path.join(self.dir, f"ran.{n}"), encoding="utf-8") as f:
                self.assertEqual(f.read(), "ran\n")

    def test_clients_wait_for_the_next_scheduler(self):
        """They wait as long as --connect-timeout says, and only if the cluster was not taken
        down."""
        self.up("--slots", "1")
        scheduler = self.process_of("scheduler --dir")
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])
        refused = self.gangway("jobs", "--connect-timeout", "100ms", rc=3)
        self.assertIn("because it was killed or stopped: `gangway up` starts it again",
                      refused.stderr)
        waits = self.start(e2e.BINARY, "submit", "-d", "--connect-timeout", "1m", "--", "true")
        attached = self.start(e2e.BINARY, "submit", "--connect-timeout", "1m", "--", "echo", "on")
        self.gangway("up", "--slots", "1")
        self.assertEqual((waits.wait(), attached.wait(), attached.text), (0, 0, "on\n"))
        self.gangway("down")
        self.assertIn("no cluster is running: `gangway up` starts one",
                      self.gangway("jobs", "--connect-timeout", "1h", rc=3).stderr)

    def test_attempt_keeps_its_number_after_a_restart(self):
        self.up("--slots", "1")
        self.gangway("dispatch", "-d", "-n", "1", "--max-restarts", "2", "--", "sh", "-c",
                     "echo restart $GANGWAY_RESTART_COUNT; exec sleep infinity")
        for restarts in "01":
            log = self.start(e2e.BINARY, "logs", "-f", "1")
            log.wait_output(f"restart {restarts}")
            log.kill()
            if restarts == "0":
                self.gangway("down")
                self.gangway("up", "--slots", "1")
        self.assertIn("restart 1", self.gangway("logs", "1", "--attempt", "2").stdout)
        for number, said in (("1", "the output of attempt 1 is gone"),
                             ("3", "there is no attempt 3: the attempts are 1 to 2")):
            self.assertIn(said, self.gangway("logs", "1", "--attempt", number, rc=2).stderr)

    def wait_up(self):
        """Waits until the scheduler answers, with its worker."""
        deadline = time.monotonic() + e2e.TIMEOUT_S
        status = [e2e.BINARY, "status", "--json"]
        while '"workers": 1' not in subprocess.run(status, env=self.env, capture_output=True,
                                                   text=True, check=False).stdout:
            self.assertLess(time.monotonic(), deadline, "no scheduler answers")

    def test_scheduler_in_the_foreground_can_be_restarted(self):
        """`gangway scheduler` in the foreground ends with code 0, whatever its workers run."""
        lines = e2e.Lines(self.fifo())
        command = [e2e.BINARY, "scheduler", "--workers", "1", "--slots", "1"]
        for wanted in "", "again":
            scheduler = self.start(*command)
            self.wait_up()
            if not wanted:
                self.submit("submit", "-d", "--", "sh", "-c", f"echo $$ > {lines.path}; "
                            "exec tail -f /dev/null")
                task = int(lines.next())
            self.assertIn("running", self.gangway("jobs").stdout)
            scheduler.kill(signal.SIGTERM)
            self.assertEqual(scheduler.wait(), 0)
            self.assertFalse(e2e.wait_gone(task, 0))
        self.start(*command)
        self.wait_up()
        self.gangway("down", "--now")
        self.assert_gone([task])
        lines.close()

    def test_results_at_workers_survive_a_scheduler_restart(self):
        """A later job uses the stored results of a task and of a gang; see
        recovery/regain.c."""
        regain, counts = os.path.join(e2e.BUILD, "bin", "regain"), self.write("counts", "")
        self.up("--slots", "2", "--workers", "2")
        made = self.run_program(regain, "make", counts).stdout.split()
        for _ in range(2):  # and again after the next restart
            scheduler = self.process_of("scheduler --dir")
            os.kill(scheduler, signal.SIGKILL)
            self.assert_gone([scheduler])
            self.up("--slots", "2", "--workers", "2")
            self.gangway("wait", made[0])
            self.assertIn("ok", self.run_program(regain, "take", counts, *made).stdout)
        with open(counts, encoding="utf-8") as f:
            self.assertEqual(f.read().split(), ["1", "2", "4", "8", "8"])
        self.assertRegex(self.gangway("events", f"{made[0]}/{made[1]}").stdout,
                         r"worker-\d.* reconnected and has its result")
        self.assert_idle()

    def test_chained_tasks_run_once_despite_a_killed_scheduler(self):
        """A task of a chain starts before the end of its predecessor is on disk; see
        recovery/links.c."""
        links, counts = os.path.join(e2e.BUILD, "bin", "links"), self.write("counts", "")
        self.up("--slots", "4")
        wanted = sorted(f"{chain} {link}" for chain in range(4) for link in range(20))
        for kind in ((), ("command",)) * 3:
            self.write("counts", "")
            job = self.run_program(links, counts, "4", "20", "5", *kind).stdout.strip()
            scheduler = self.process_of("scheduler --dir")
            with open(counts, encoding="utf-8") as f:  # at any state of the chains
                deadline = time.monotonic() + e2e.TIMEOUT_S
                while not f.read() and time.monotonic() < deadline:
                    pass
            os.kill(scheduler, signal.SIGKILL)
            self.assert_gone([scheduler])
            self.up("--slots", "4")
            self.gangway("wait", job)
            with open(counts, encoding="utf-8") as f:
                self.assertEqual(sorted(f.read().splitlines()), wanted)

    def let_go(self, path):
        """Lets the task continue that reads from this fifo."""
        with open(path, "w", encoding="utf-8") as f:
            f.write("go\n")

    def test_up_succeeds_beside_a_stopped_worker(self):
        """`up` names the stopped worker, the other worker serves, and the stopped one takes
        part once it continues."""
        self.up("--slots", "2", "--workers", "2")
        scheduler, worker = self.process_of("scheduler --dir"), self.process_of("--name worker-2")
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])
        os.kill(worker, signal.SIGSTOP)
        try:
            said = self.gangway("up", "--slots", "2", "--workers", "2").stderr
            self.assertIn(f"worker-2 (process {worker}) of an earlier scheduler does not answer",
                          said.replace("\n", " "))
            self.assertEqual(self.gangway("submit", "--", "echo", "on").stdout, "on\n")
        finally:
            os.kill(worker, signal.SIGCONT)
        while self.gangway_json("status")["workers"] != 2:
            pass
        self.assertEqual(self.process_of("--name worker-2"), worker)

    def test_history_keeps_the_jobs_of_a_running_job(self):
        """A task that was restarted finds the jobs that it submitted before, by their keys."""
        self.up("--slots", "2", "--history", "2")
        held = self.fifo("held")
        parent = self.submit("submit", "-d", "--slots", "none", "--", "sh", "-c",
                             f"for i in 1 2 3 4 5 6; do {e2e.BINARY} submit -d --name child -- true"
                             f"; done; cat {held}")
        names = lambda: [job["name"] for job in self.gangway_json("jobs", "--all")]
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while names().count("child") < 6:
            self.assertLess(time.monotonic(), deadline)
            e2e.pause()
        for _ in range(4):
            self.gangway("submit", "--", "true")
        self.assertEqual(names().count("child"), 6)
        self.assertLessEqual(len(names()), 6 + 1 + 2)
        with open(held, "w", encoding="utf-8"):
            pass
        self.gangway("wait", parent)
        self.assertLessEqual(len(names()), 2)

    def test_folders_of_forgotten_jobs_are_removed(self):
        """The folders of forgotten jobs are removed while the cluster runs and when it starts;
        a folder that is being removed never has the name of a job."""
        self.up("--slots", "1")
        job = self.submit("submit", "-d", "--", "echo", "kept")
        self.gangway("wait", job)
        old = [self.cluster(name, "999999", "below") for name in ("logs", "checkpoints")]
        for ends in False, True:
            for path in old:
                os.makedirs(path)
            if ends:
                self.gangway("down")
                self.up("--slots", "1")
                self.assertFalse(any(os.path.exists(os.path.dirname(path)) for path in old))
            deadline = time.monotonic() + e2e.TIMEOUT_S
            while any(map(os.path.exists, old)) or os.listdir(self.cluster(".old")):
                self.assertLess(time.monotonic(), deadline)
                e2e.pause()
            self.assertEqual(self.gangway("logs", job).stdout, "kept\n")

    def test_down_ends_workers_of_a_killed_scheduler(self):
        """`down` ends the workers that outlived a killed scheduler, and their job is there at
        the next `up`."""
        lines = e2e.Lines(self.fifo())
        self.up("--slots", "1")
        job = self.submit("submit", "-d", "--", "sh", "-c", f"echo $$ > {lines.path}; "
                          "[ -e there ] || { touch there; exec tail -f /dev/null; }")
        left = e2e.pids_marked(self.mark) + [int(lines.next())]
        os.kill(self.process_of("scheduler --dir"), signal.SIGKILL)
        self.assertIn("1 worker of an earlier scheduler has ended", self.gangway("down").stderr)
        self.assert_gone(left)
        self.assertIn("no cluster is running", self.gangway("down").stderr)
        self.up("--slots", "1")
        self.gangway("wait", job)
        lines.close()

    def test_detached_jobs_survive_down_in_their_state_folder(self):
        """A state folder given by --state is separate from the default one."""
        state, go, fifo = os.path.join(self.dir, "kept"), os.path.join(self.dir, "go"), self.fifo()
        self.up("--slots", "1", "--state", state)
        first = self.submit("submit", "-d", "--grace", "100ms", "--", "sh", "-c",
                            f"[ -e {go} ] || {{ echo here > {fifo}; tail -f /dev/null; }}; "
                            "echo later")
        self.read_fifo(fifo)
        self.gangway("down")
        self.up("--slots", "1")
        self.assertEqual(self.gangway_json("jobs"), [])
        self.gangway("down")
        self.write("go", "")
        self.up("--slots", "1", "--state", state)
        self.gangway("wait", first)
        self.assertEqual(self.gangway("logs", first).stdout, "later\n")
        self.assertEqual(int(self.submit("submit", "-d", "--", "true")), int(first) + 1)

    def test_damaged_state_is_refused_until_loss_is_accepted(self):
        """With --accept-loss the damaged state is set aside, and nothing of it is deleted."""
        self.up("--slots", "1")
        saves = 'echo mine > "$GANGWAY_CHECKPOINT_DIR/weights"'
        self.gangway("wait", self.submit("submit", "-d", "--", "sh", "-c", saves))
        self.gangway("down")
        for size in 5000, 0:  # some file systems leave an empty file after a power failure
            os.truncate(self.state("facts.db"), size)
            refused = self.gangway("up", "--slots", "1", rc=3)
            self.assertIn("damaged", refused.stderr)
            self.assertIn("`gangway up --accept-loss` sets it aside", refused.stderr)
        self.up("--slots", "1", "--accept-loss")
        self.assertEqual(self.gangway_json("jobs"), [])
        self.assertEqual(len(glob.glob(self.state("damaged-*", "facts.db"))), 1)
        weights = self.state("..", "checkpoints.damaged-*", "**", "weights")
        self.assertEqual(len(glob.glob(weights, recursive=True)), 1)

    def test_accept_loss_leaves_an_intact_state_in_place(self):
        self.up("--slots", "1")
        job = self.submit("submit", "-d", "--", "true")
        self.gangway("wait", job)
        self.gangway("down")
        self.up("--slots", "1", "--accept-loss")
        self.assertEqual([j["id"] for j in self.gangway_json("jobs")], [int(job)])

    def test_state_with_missing_commits_is_refused(self):
        """An acknowledged job is missing: the error says so and how many commits are
        missing."""
        self.up("--slots", "1", "--orphan-timeout", "0")
        for _ in range(3):
            self.submit("submit", "-d", "--", "true")
        self.kill_scheduler()
        log = self.state("facts.db-wal")
        with open(log, "r+b") as f:
            data = f.read()
            self.assertGreater(len(data), 0)
            f.seek(len(data) // 3)
            f.write(bytes([data[len(data) // 3] ^ 1]))
        refused = self.gangway("up", "--slots", "1", rc=3)
        self.assertRegex(refused.stderr, r"is damaged: (frame \d+ of facts.db-wal|it ends with)")
        with open(log, "rb") as f:  # nothing was changed, so it can be repaired
            self.assertEqual(len(f.read()), len(data))
        with open(log, "r+b") as f:
            f.write(data)
        self.up("--slots", "1", "--orphan-timeout", "0")
        self.assertEqual(len(self.gangway_json("jobs")), 3)

    def test_state_older_than_workers_know_is_refused(self):
        """An old copy is put back after a crash, while a worker still has work that was
        acknowledged later."""
        lines, go, copy = e2e.Lines(self.fifo()), self.fifo("go"), os.path.join(self.dir, "copy")
        self.up("--slots", "2")
        self.gangway("wait", self.submit("submit", "-d", "--", "true"))
        self.kill_scheduler_alone()
        shutil.copytree(self.state(), copy, ignore=shutil.ignore_patterns("*.sock"))
        self.up("--slots", "2")
        job = self.submit("submit", "-d", "--", "sh", "-c",
                          f"echo $$ > {lines.path}; read go < {go}; echo out")
        task = int(lines.next())
        self.gangway("submit", "--", "sleep", "2.2")  # workers learn the commit number every second
        self.kill_scheduler_alone()
        shutil.rmtree(self.state())
        shutil.copytree(copy, self.state())
        told = self.gangway("up", "--slots", "2", rc=3).stderr
        self.assertRegex(told, r"is damaged: it ended with commit \d+ when this scheduler started, "
                               r"but worker-1 knows of commit \d+: \d+ commits are missing")
        self.assertIn("`gangway up --accept-loss` sets it aside", told)
        again = self.gangway("up", "--slots", "2", rc=3).stderr  # at once, because that is on disk
        self.assertRegex(again, r"is damaged: it ends with commit \d+, and \d+ were acknowledged")
        self.assertFalse(e2e.wait_gone(task, 0))
        for folder in "checkpoints", "logs":  # for a copy that contains its job
            self.assertTrue(os.path.exists(self.cluster(folder, job)), folder)
        self.up("--slots", "2", "--accept-loss")
        self.assertEqual(self.gangway_json("jobs"), [])
        self.assert_gone([task])
        lines.close()
        self.assertEqual(self.gangway("wait", self.submit("submit", "-d", "--", "true")).stderr, "")

    def test_killed_schedulers_never_look_like_damage(self):
        """Whatever workers know of a killed scheduler, that scheduler had it on disk."""
        go = self.fifo("go")
        self.up("--slots", "2")
        job = self.submit("submit", "-d", "--", "sh", "-c", f"read go < {go}; echo out")
        for number in range(10):
            self.submit("submit", "-d", "--", "true")
            if number == 5:
                self.gangway("submit", "--", "sleep", "1.2")
            self.kill_scheduler_alone()
            self.up("--slots", "2")
        self.let_go(go)
        self.gangway("wait", job)
        self.assertEqual(self.gangway("logs", job).stdout, "out\n")
        self.assertEqual(self.gangway_json("tasks", job)[0]["tries"], 1)


if __name__ == "__main__":
    e2e.main()
