#!/usr/bin/env python3
"""Tasks that submit tasks and wait for them, on fewer slots than there are waiters; see
graphs/nested.c."""
import json
import os
import signal

import e2e

NESTED = os.path.join(e2e.BUILD, "bin", "nested")


class Nested(e2e.Case):
    def subject(self, name, env=None):
        done = self.run_program(NESTED, name, self.fifo(), env=env)
        self.assertEqual(done.stdout, f"{name}: well\n")

    def start_family(self, name):
        """A parent that waits for a child, both alive; returns (process, {who: pid})."""
        self.lines = e2e.Lines(self.fifo())
        self.addCleanup(self.lines.close)
        return self.start(NESTED, name, self.lines.path), self.next_family()

    def next_family(self):
        pids = {}
        while len(pids) < 2:
            who, pid = self.lines.next().split()
            pids[who] = int(pid)
        return pids

    def test_recursive_tasks_run_on_a_single_slot(self):
        self.subject("fib")

    def test_recursive_tasks_run_on_two_workers(self):
        self.subject("fib2")

    def test_recursive_tasks_run_inside_the_client_process(self):
        self.subject("fib", env={"GANGWAY_INLINE": "1"})

    def test_task_submits_a_thousand_tasks(self):
        self.subject("many")

    def test_every_rank_of_a_gang_submits_a_task(self):
        self.subject("gang")

    def test_unawaited_child_tasks_end_with_their_parent(self):
        lines = e2e.Lines(self.fifo())
        self.addCleanup(lines.close)
        done = self.run_program(NESTED, "leaves", lines.path)
        self.assertEqual(done.stdout, "leaves: well\n")

    def test_last_never_selects_a_job_of_a_task(self):
        self.up("--slots", "2")
        process, pids = self.start_family("killed")
        states = lambda: {job["depth"]: job["state"]
                          for job in json.loads(self.gangway("jobs", "--json").stdout)}
        self.assertEqual(set(states()), {0, 1})
        self.gangway("pause", "last")
        self.assertEqual(states(), {0: "pausing", 1: "running"})
        self.gangway("resume", "last")
        self.assertEqual(states()[0], "running")
        self.gangway("cancel", "--now", "last")
        self.assert_gone(pids.values())
        self.assertNotEqual(process.wait(), 0, process.text)

    def test_killed_parent_task_ends_its_child_task(self):
        process, pids = self.start_family("killed")
        # A runner that dies under it uses one of its three attempts: each time its child ends,
        # too.
        for _ in range(2):
            os.kill(pids["parent"], signal.SIGKILL)
            self.assert_gone([pids["child"]])
            pids = self.next_family()
        os.kill(pids["parent"], signal.SIGKILL)
        self.assertEqual(process.wait(), 0, process.text)
        self.assert_gone([pids["child"]])

    def test_explain_names_the_awaited_child(self):
        self.up("--slots", "2")
        lines = e2e.Lines(self.fifo())
        self.addCleanup(lines.close)
        process = self.start(NESTED, "running", lines.path)
        self.assertEqual({lines.next().split()[0] for _ in range(2)}, {"parent", "child"})
        # the child is there just before the parent waits
        said = self.wait_said("waits", "explain", "1/0")
        self.assertIn("it runs and waits for its child task 2/0 (stay), which is ", said)
        process.kill()
        process.wait()

    def test_time_limit_ends_a_task_that_waits_for_a_child(self):
        lines = e2e.Lines(self.fifo())
        self.addCleanup(lines.close)
        done = self.run_program(NESTED, "limits", lines.path)
        self.assertEqual(done.stdout, "limits: well\n")

    def test_task_that_waits_for_itself_gets_an_error(self):
        self.subject("cycle")

    def test_nesting_depth_is_limited(self):
        self.subject("bottomless")


if __name__ == "__main__":
    e2e.main()
