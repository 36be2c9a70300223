#!/usr/bin/env python3
"""What outlives the scheduler: detached jobs, and what they need to run. It is killed, or ends, and
another begins on the same state."""
import os
import shutil
import signal
import time

import e2e



class Durable(e2e.Case):
    def process_of(self, words):
        for pid in e2e.pids_marked(self.mark):
            if words in e2e.command_of(pid):
                return pid
        raise AssertionError(f"no process runs {words}")

    def state(self, *names):
        return os.path.join(self.env["XDG_RUNTIME_DIR"], "gangway", "default", "state", *names)

    def kill_scheduler(self):
        """Kills it, and waits until all that it had started is gone too."""
        left = e2e.pids_marked(self.mark)
        os.kill(self.process_of("scheduler --dir"), signal.SIGKILL)
        self.assert_gone(left)

    def submit(self, *arguments):
        return self.gangway(*arguments).stdout.strip()

    def job(self, number):
        return next(j for j in self.gangway_json("jobs") if j["id"] == int(number))

    def begin(self, lines, go):
        """Four tasks, of which two end, a gang that has saved, a job after both, and one with a
        file of its own; gives back their numbers."""
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

    def test_jobs_outlive_a_killed_scheduler(self):
        go, lines = os.path.join(self.dir, "go"), e2e.Lines(self.fifo())
        self.up("--slots", "6", "--orphan-timeout", "0")
        early = self.submit("submit", "-d", "--", "sh", "-c", "echo early; exit 3")
        self.gangway("wait", early, rc=3)
        jobs, deadline = self.begin(lines, go), time.monotonic() + e2e.TIMEOUT_S
        self.assertEqual(sorted(lines.next() for _ in range(6)),
                         ["rank 0", "rank 1", "task 0", "task 1", "task 2", "task 3"])
        while [t["state"] for t in self.gangway_json("tasks", jobs[0])[:2]] != ["done", "done"]:
            self.assertLess(time.monotonic(), deadline)
        self.submit("submit", "-d", "--", "true")  # on disk, and before it: the gang went
        self.kill_scheduler()
        self.write("go", "")
        self.up("--slots", "6", "--orphan-timeout", "0")
        self.gangway("wait", ",".join(jobs))
        # What had ended did not run again, what had not began anew, the gang with what it saved.
        self.assertEqual(sorted(lines.next() for _ in range(4)),
                         ["rank 0 again 1", "rank 1 again 1", "task 2", "task 3"])
        lines.close()
        self.assertEqual(self.gangway_json("tasks", jobs[1])[0]["tries"], 2)
        self.assertIn("attempt 2 goes", self.gangway("story", jobs[1]).stdout)
        self.assertEqual(self.gangway("logs", jobs[2]).stdout, "after\n")
        self.assertEqual(self.gangway("logs", jobs[3]).stdout, "of a file\n")
        for index in range(4):
            self.assertEqual(self.gangway("logs", f"{jobs[0]}/{index}").stdout, f"out {index}\n")
        self.assertEqual(self.gangway("logs", early).stdout, "early\n")
        self.gangway("wait", early, rc=3)
        self.assertEqual([self.job(n)["state"] for n in (early,) + jobs],
                         ["failed", "done", "done", "done", "done"])
        self.assertIn("scheduler started again", self.gangway("story", early).stdout)
        self.assertGreater(int(self.submit("submit", "-d", "--", "true")), int(jobs[3]))

    def starts(self, job):
        """How often each task of a job, or each rank of its gang, began."""
        names = sorted(n for n in os.listdir(self.dir) if n.startswith(f"began.{job}."))
        counts = []
        for name in names:
            with open(os.path.join(self.dir, name), encoding="utf-8") as f:
                counts.append(len(f.readlines()))
        return counts

    def test_what_runs_is_taken_over(self):
        """Tasks and a gang run on without a scheduler; one ends before the next is there."""
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
        self.assertIn("taken over", self.gangway("story", f"{array}/1").stdout)
        self.assertIn("attempt 1: ranks 0 to 1 run on at", self.gangway("story", gang).stdout)
        self.assertEqual(self.gangway_json("tasks", gang)[0]["tries"], 1)
        self.assert_idle()

    def test_results_at_workers_are_not_made_again(self):
        """A later job takes what lies there, of a task and of a gang; see programs/regain.c."""
        regain, counts = os.path.join(e2e.BUILD, "bin", "regain"), self.write("counts", "")
        self.up("--slots", "2", "--workers", "2")
        made = self.run_program(regain, "make", counts).stdout.split()
        for _ in range(2):  # and so in the life after that
            scheduler = self.process_of("scheduler --dir")
            os.kill(scheduler, signal.SIGKILL)
            self.assert_gone([scheduler])
            self.up("--slots", "2", "--workers", "2")
            self.gangway("wait", made[0])
            self.assertIn("ok", self.run_program(regain, "take", counts, *made).stdout)
        with open(counts, encoding="utf-8") as f:
            self.assertEqual(f.read().split(), ["1", "2", "4", "8", "8"])
        self.assertRegex(self.gangway("story", f"{made[0]}/{made[1]}").stdout,
                         r"worker-\d.* came back with its result")
        self.assert_idle()

    def let_go(self, path):
        """Lets the task go that reads from this fifo."""
        with open(path, "w", encoding="utf-8") as f:
            f.write("go\n")

    def test_down_without_a_scheduler(self):
        """What outlives a killed one ends by `down`, and its job is there at the next `up`."""
        lines = e2e.Lines(self.fifo())
        self.up("--slots", "1")
        job = self.submit("submit", "-d", "--", "sh", "-c", f"echo $$ > {lines.path}; "
                          "[ -e there ] || { touch there; exec tail -f /dev/null; }")
        left = e2e.pids_marked(self.mark) + [int(lines.next())]
        os.kill(self.process_of("scheduler --dir"), signal.SIGKILL)
        self.assertIn("1 worker that had outlived one has ended", self.gangway("down").stderr)
        self.assert_gone(left)
        self.assertIn("no cluster is running", self.gangway("down").stderr)
        self.up("--slots", "1")
        self.gangway("wait", job)
        lines.close()

    def test_jobs_outlive_down(self):
        """Another folder by --state, of which the cluster's own knows nothing."""
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

    def test_damaged_state_is_refused(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "true")
        self.gangway("down")
        for size in 5000, 0:  # some file systems leave none after a power cut
            os.truncate(self.state("facts.db"), size)
            refused = self.gangway("up", "--slots", "1", rc=3)
            self.assertIn("damaged", refused.stderr)
            self.assertIn("move it away", refused.stderr)
        shutil.move(self.state(), self.state() + ".old")
        self.up("--slots", "1")
        self.assertEqual(self.gangway_json("jobs"), [])


if __name__ == "__main__":
    e2e.main()
