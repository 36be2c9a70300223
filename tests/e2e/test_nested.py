#!/usr/bin/env python3
"""Tasks that submit tasks and wait for them, on fewer slots than wait; see graphs/nested.c."""
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
        """A parent that waits for a child, both alive; gives (process, {who: pid})."""
        self.lines = e2e.Lines(self.fifo())
        self.addCleanup(self.lines.close)
        return self.start(NESTED, name, self.lines.path), self.next_family()

    def next_family(self):
        pids = {}
        while len(pids) < 2:
            who, pid = self.lines.next().split()
            pids[who] = int(pid)
        return pids

    def test_recursion_on_one_slot(self):
        self.subject("fib")

    def test_recursion_on_two_workers(self):
        self.subject("fib2")

    def test_recursion_in_this_process(self):
        self.subject("fib", env={"GANGWAY_INLINE": "1"})

    def test_a_thousand_tasks_from_a_task(self):
        self.subject("many")

    def test_every_rank_of_a_gang(self):
        self.subject("gang")

    def test_what_it_left_ends_with_it(self):
        lines = e2e.Lines(self.fifo())
        self.addCleanup(lines.close)
        done = self.run_program(NESTED, "leaves", lines.path)
        self.assertEqual(done.stdout, "leaves: well\n")

    def test_last_is_no_job_of_a_task(self):
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

    def test_killed_while_it_waits(self):
        process, pids = self.start_family("killed")
        # A runner that dies under it takes one of its three lives: each time its child goes, too.
        for _ in range(2):
            os.kill(pids["parent"], signal.SIGKILL)
            self.assert_gone([pids["child"]])
            pids = self.next_family()
        os.kill(pids["parent"], signal.SIGKILL)
        self.assertEqual(process.wait(), 0, process.text)
        self.assert_gone([pids["child"]])

    def test_explain_names_the_child(self):
        self.up("--slots", "2")
        lines = e2e.Lines(self.fifo())
        self.addCleanup(lines.close)
        process = self.start(NESTED, "running", lines.path)
        self.assertEqual({lines.next().split()[0] for _ in range(2)}, {"parent", "child"})
        said = self.wait_said("waits", "explain", "1/0")  # it is there just before it waits
        self.assertIn("it runs and waits for its child task 2/0 (stay), which is ", said)
        process.kill()
        process.wait()

    def test_limits_go_on(self):
        lines = e2e.Lines(self.fifo())
        self.addCleanup(lines.close)
        done = self.run_program(NESTED, "limits", lines.path)
        self.assertEqual(done.stdout, "limits: well\n")

    def test_who_waits_for_itself_is_told(self):
        self.subject("cycle")

    def test_deep(self):
        self.subject("bottomless")


if __name__ == "__main__":
    e2e.main()
