#!/usr/bin/env python3
"""What became of tasks, from a shell: `gangway story`, and what `explain` says of ends."""
import json
import os
import signal

import e2e


class Story(e2e.Case):
    def facts(self, task):
        """[what, text] of each fact of a task."""
        story = self.gangway_json("story", task)
        times = [fact["at_ns"] for fact in story["facts"] if "at_ns" in fact]
        self.assertEqual(times, sorted(times))
        return [(fact["what"], fact["text"]) for fact in story["facts"]]

    def assert_told(self, task, *wanted):
        """The facts of a task are called so, in this order, and among others."""
        told = [what for what, _ in self.facts(task)]
        rest = iter(told)
        self.assertTrue(all(what in rest for what in wanted), f"{told}, wanted {wanted}")

    def test_retried(self):
        flag = os.path.join(self.dir, "flag")
        script = self.write("script", f"#!/bin/sh\nif mkdir {flag} 2>/dev/null\nthen\n"
                            "echo no data yet >&2\nexit 3\nfi\necho well\n")
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--name", "flaky", "--retries", "1", "--backoff", "10ms",
                     "--", script)
        self.gangway("wait", "last")
        self.assert_told("1", "submitted", "ready", "placed", "attempt ended", "backoff", "ready",
                         "placed", "done")
        texts = dict(self.facts("1/0"))
        self.assertIn("attempt 1 failed on", texts["attempt ended"])
        self.assertIn("exit code 3; its last line: no data yet", texts["attempt ended"])
        self.assertIn("waits 10 ms before attempt 2", texts["backoff"])
        shown = self.gangway("story", "1.0").stdout
        self.assertTrue(shown.startswith("flaky (task 0 of job 1)\n"), shown)
        self.assertIn("submitted by gangway submit as job 1 (flaky), detached", shown)
        self.assertIn("output: gangway logs 1/0 (--attempt 1, 2", shown)

    def test_cancelled(self):
        fifo, never = self.fifo(), self.fifo("never")
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "sh", "-c", f"echo here >{fifo}; exec cat {never}")
        self.gangway("submit", "-d", "--", "true")
        self.read_fifo(fifo)
        self.assert_told("1", "submitted", "ready", "placed")
        self.gangway("cancel", "1", "--now")
        self.gangway("wait", "1", rc=130)
        self.assert_told("1", "placed", "cancel", "killed", "cancelled")
        self.assertIn("by gangway cancel (user ", dict(self.facts("1"))["cancel"])
        self.gangway("wait", "2")

    def test_explained(self):
        self.up("--slots", "1")
        chain = [{"name": "first", "argv": ["sh", "-c", "echo bad luck >&2; exit 4"]},
                 {"name": "second", "argv": ["true"], "after": ["first"]},
                 {"name": "third", "argv": ["true"], "after": ["second"]}]
        path = self.write("chain.json", json.dumps(chain))
        self.gangway("submit", "-d", "--from-json", path)
        self.gangway("wait", "1", rc=4)
        said = self.gangway("explain", "1/third").stdout
        self.assertIn("it never ran, because a task before it failed, as did not second (task 1): "
                      "first (task 0 of job 1), on", said)
        self.assertIn("bad luck", said)

    def test_explained_cancel(self):
        never = self.fifo("never")
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "cat", never)
        self.gangway("cancel", "1", "--now")
        self.gangway("wait", "1", rc=130)
        self.assertRegex(self.gangway("explain", "1").stdout,
                         r"cancelled [0-9.]+ s ago by gangway cancel \(user \d+\)")
        self.assertEqual(self.gangway_json("jobs")[0]["exit_code"], 130)
        self.assertEqual(self.gangway_json("tasks", "1")[0]["exit_code"], 130)

    def test_no_worker_left(self):
        self.up("--slots", "1")
        workers = [pid for pid in e2e.pids_marked(self.mark) if " worker " in e2e.command_of(pid)]
        self.assertEqual(len(workers), 1)
        os.kill(workers[0], signal.SIGKILL)
        self.gangway("submit", "-d", "--", "true")
        for _ in range(1000):  # it is noticed a moment later
            said = self.gangway("explain", "1").stdout
            if "no worker is left" in said:
                break
        self.assertRegex(said, r"no worker is left: worker 1 on .* was lost: .*, [0-9.]+ s ago")

    def test_gang(self):
        self.up("--slots", "2")
        self.gangway("dispatch", "-d", "-n", "2", "--name", "pair", "--", "sh", "-c",
                     "test $RANK = 0 || exit 7")
        self.gangway("wait", "1", rc=7)
        texts = dict(self.facts("1"))
        self.assertEqual(texts["placed"], "placed: ranks 0 to 1 at worker 1")
        self.assertIn("rank 1 on", texts["attempt ended"])
        self.assertIn("exit code 7", texts["attempt ended"])

    def test_job(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--name", "many", "--array", "0-2", "--", "sh", "-c",
                     "exit {index}")
        self.gangway("wait", "1", rc=1)
        done = [fact["index"] for fact in self.gangway_json("story", "1")["facts"]
                if fact["what"] == "done"]
        self.assertEqual(done, [0])
        self.assert_told("1/2", "submitted", "placed", "attempt ended", "failed")
        self.assertIn("many (task 2): failed", self.gangway("story", "1").stdout)

    def test_wrong_input(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "true")
        self.assertIn("no job 7", self.gangway("story", "7", rc=2).stderr)
        self.assertIn("no such task", self.gangway("story", "1/9", rc=2).stderr)
        self.assertIn("no task named", self.gangway("story", "1/other", rc=2).stderr)
        self.assertIn("is missing", self.gangway("story", rc=2).stderr)
        self.gangway("wait", "1")


if __name__ == "__main__":
    e2e.main()
