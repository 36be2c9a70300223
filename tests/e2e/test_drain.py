#!/usr/bin/env python3
"""Drained workers: an admin drains and undrains them."""
import e2e


class Drain(e2e.Case):
    def states(self):
        return {row["name"]: row["state"] for row in self.gangway_json("worker", "list")}

    def test_drained_worker_ends_its_task_and_takes_no_other(self):
        self.up("--slots", "1")
        held = self.fifo("held")
        first = self.gangway("submit", "-d", "--", "sh", "-c", f"cat {held}").stdout.strip()
        self.wait_said("running", "jobs")
        said = self.gangway("worker", "drain", "worker-1", "--reason", "new kernel").stderr
        self.assertIn("worker worker-1: drained", said)
        self.assertEqual(self.states(), {"worker-1": "draining"})
        second = self.gangway("submit", "-d", "--", "true").stdout.strip()
        with open(held, "w", encoding="utf-8"):
            pass
        self.gangway("wait", first)
        self.assertEqual(self.states(), {"worker-1": "drained"})
        self.assertRegex(self.gangway("explain", second).stdout,
                         r"0 of 1 slots are free\n  drained workers take no tasks: worker-1, "
                         r"drained by .*: new kernel\n")
        self.gangway("worker", "undrain", "worker-1")
        self.gangway("wait", second)
        self.assertEqual(self.states(), {"worker-1": "ready"})
        self.assertIn("worker worker-1 is not drained",
                      self.gangway("worker", "undrain", "worker-1", rc=2).stderr)
        self.assertIn("no worker is called w7", self.gangway("worker", "drain", "w7", rc=2).stderr)

    def test_deadline_ends_what_runs_and_it_runs_elsewhere(self):
        self.up("--slots", "2", "--workers", "2")
        lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(lines.close)
        silent = self.fifo("silent")
        script = f"trap 'exit 1' TERM; echo $$ > {lines.path}; while :; do read x < {silent}; done"
        job = self.gangway("submit", "-d", "--prefer", "worker-1", "--", "sh", "-c",
                           script).stdout.strip()
        lines.next()
        self.gangway("worker", "drain", "worker-1", "--deadline", "0")
        lines.next()  # its second attempt
        self.assertRegex(self.gangway("events", job).stdout,
                         r"attempt 1 ended on \S+: drained by gangway worker")
        self.assertEqual(self.states(), {"worker-1": "drained", "worker-2": "ready"})
        self.gangway("cancel", job)

    def test_drained_worker_stays_so_when_it_and_the_scheduler_restart(self):
        self.up("--slots", "1")
        self.gangway("worker", "drain", "worker-1", "--deadline", "1h")
        self.gangway("down")
        self.up("--slots", "1")
        self.assertEqual(self.states(), {"worker-1": "drained"})


if __name__ == "__main__":
    e2e.main()
