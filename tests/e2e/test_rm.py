#!/usr/bin/env python3
"""`gangway rm`: removal of ended jobs."""
import os

import e2e


class Removal(e2e.Case):
    def submit(self, *command, options=()):
        return self.gangway("submit", "-d", *options, "--", *command).stdout.strip()

    def jobs(self):
        return [str(job["id"]) for job in self.gangway_json("jobs", "--all")]

    def test_record_and_output_of_a_removed_job_are_gone(self):
        self.up("--slots", "2")
        job, other = (self.submit("echo", word, options=("--name", word))
                      for word in ("one", "two"))
        self.gangway("wait", job, other)
        logs = self.cluster("logs")
        self.assertEqual({job, other} - set(os.listdir(logs)), set())
        self.assertEqual(self.gangway("rm", "one").stderr, f"job {job}: removed\n")
        self.assertEqual(self.jobs(), [other])
        for verb in "logs", "explain", "events", "wait", "rm", "retry":
            self.assertIn(f"there is no job {job}", self.gangway(verb, job, rc=2).stderr)
        while job in os.listdir(logs):
            e2e.pause()
        self.assertEqual(self.gangway("logs", other).stdout, "two\n")
        self.gangway("down")
        self.up("--slots", "2")
        self.assertEqual(self.jobs(), [other])

    def test_job_that_has_not_ended_is_refused(self):
        self.up("--slots", "1")
        job, waiting = (self.submit("tail", "-f", "/dev/null") for _ in range(2))
        for number in job, waiting:
            self.assertIn(f"job {number} has not ended and cannot be removed: `gangway cancel "
                          f"{number}` ends it", self.gangway("rm", number, rc=2).stderr)
        self.assertEqual(self.gangway("rm", "all").stderr, "no jobs\n")
        self.gangway("cancel", "all")
        self.gangway("wait", job, waiting, rc=130)
        self.gangway("rm", job, waiting)
        self.assertEqual(self.jobs(), [])

    def test_job_whose_parent_runs_is_refused(self):
        self.up("--slots", "2")
        gate = self.fifo()
        parent = self.submit("sh", "-c", f"{e2e.BINARY} submit -d -- true; read line <{gate}")
        child = self.wait_said(r"^\d+\n", "logs", parent).strip()
        self.gangway("wait", child)
        self.assertIn(f"job {parent}, which submitted it, has not ended",
                      self.gangway("rm", child, rc=2).stderr)
        with open(gate, "w", encoding="utf-8") as file:
            file.write("\n")
        self.gangway("wait", parent)
        self.gangway("rm", child, parent)

    def test_all_means_the_ended_jobs_in_a_state(self):
        self.up("--slots", "1")
        done, failed, again = (self.submit(word) for word in ("true", "false", "false"))
        self.gangway("wait", done)
        self.gangway("wait", failed, again, rc=1)
        running = self.submit("tail", "-f", "/dev/null")
        self.assertIn("--state goes only with all",
                      self.gangway("rm", "--state", "failed", done, rc=2).stderr)
        self.assertIn("there is no state", self.gangway("rm", "--state", "old", "all", rc=2).stderr)
        self.gangway("rm", "--state", "failed", "all")
        self.assertEqual(self.jobs(), [running, done])
        self.gangway("rm", "all")
        self.assertEqual(self.jobs(), [running])
        self.gangway("cancel", running)


if __name__ == "__main__":
    e2e.main()
