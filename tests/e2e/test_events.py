#!/usr/bin/env python3
"""The history of tasks from a shell: `gangway events`, and how `explain` describes ends."""
import json
import os
import re
import shutil
import subprocess

import e2e


class Story(e2e.Case):
    def facts(self, task):
        """[what, text] of each event of a task."""
        events = self.gangway_json("events", task)
        times = [fact["at_ns"] for fact in events["events"] if "at_ns" in fact]
        self.assertEqual(times, sorted(times))
        return [(fact["what"], fact["text"]) for fact in events["events"]]

    def assert_told(self, task, *wanted):
        """The task has events of these kinds, in this order, perhaps among others."""
        told = [what for what, _ in self.facts(task)]
        rest = iter(told)
        self.assertTrue(all(what in rest for what in wanted), f"{told}, wanted {wanted}")

    def test_events_show_a_retried_task(self):
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
        self.assertIn("waits 10ms before attempt 2", texts["backoff"])
        shown = self.gangway("events", "1.0").stdout
        self.assertTrue(shown.startswith("flaky (task 0 of job 1)\n"), shown)
        self.assertIn("submitted by gangway submit as job 1 (flaky), detached", shown)
        self.assertIn("output: gangway logs 1/0 (--attempt 1, 2", shown)

    def test_events_show_a_cancelled_task(self):
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

    def test_explain_names_the_first_failure_of_a_chain(self):
        self.up("--slots", "1")
        chain = [{"name": "first", "argv": ["sh", "-c", "echo bad luck >&2; exit 4"]},
                 {"name": "second", "argv": ["true"], "after": ["first"]},
                 {"name": "third", "argv": ["true"], "after": ["second"]}]
        path = self.write("chain.json", json.dumps(chain))
        self.gangway("submit", "-d", "--from-json", path)
        self.gangway("wait", "1", rc=4)
        said = self.gangway("explain", "1/third").stdout
        self.assertIn("it never ran, because a task that it depends on failed, by way of "
                      "second (task 1): "
                      "first (task 0 of job 1), on", said)
        self.assertIn("bad luck", said)
        said = self.gangway("explain", "last").stdout
        self.assertIn("3 of 3 tasks failed, 2 of them without running, because of other tasks\n"
                      "  the cause: first (task 0 of job 1), on", said)

    def test_retry_reruns_failed_tasks_and_their_successors(self):
        """Failed tasks and the tasks that never ran because of them run again; done tasks do
        not."""
        ran, go = self.write("ran", ""), os.path.join(self.dir, "go")
        chain = [{"name": "done", "argv": ["sh", "-c", f"echo done >> {ran}"]},
                 {"name": "first", "argv": ["test", "-e", go], "after": "done"},
                 {"name": "second", "argv": ["sh", "-c", f"echo second >> {ran}"],
                  "after": "first"}]
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--from-json", self.write("chain.json", json.dumps(chain)))
        self.gangway("wait", "1", rc=1)
        self.assertIn("job 1: 2 tasks run again", self.gangway("retry", "last").stderr)
        self.gangway("wait", "1", rc=1)
        self.write("go", "")
        self.assertIn("job 1: 1 task runs again", self.gangway("retry", "1/second").stderr)
        self.gangway("wait", "1")
        with open(ran, encoding="utf-8") as f:
            self.assertEqual(f.read().split(), ["done", "second"])
        self.assertIn("all 3 tasks are done", self.gangway("explain", "1").stdout)
        self.assertIn("has no failed task", self.gangway("retry", "1", rc=2).stderr)
        self.assertIn("only a failed task", self.gangway("retry", "1/first", rc=2).stderr)

    def test_explain_names_the_client_that_cancelled(self):
        never = self.fifo("never")
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "cat", never)
        self.gangway("cancel", "1", "--now")
        self.gangway("wait", "1", rc=130)
        self.assertRegex(self.gangway("explain", "1").stdout,
                         r"cancelled [0-9.]+m?s ago by gangway cancel \(user \d+\)")
        self.assertEqual(self.gangway_json("jobs")[0]["exit_code"], 130)
        self.assertEqual(self.gangway_json("tasks", "1")[0]["exit_code"], 130)

    def test_events_show_the_failed_rank_of_a_gang(self):
        self.up("--slots", "2")
        self.gangway("dispatch", "-d", "-n", "2", "--name", "pair", "--", "sh", "-c",
                     "test $RANK = 0 || exit 7")
        self.gangway("wait", "1", rc=7)
        texts = dict(self.facts("1"))
        self.assertEqual(texts["placed"], "placed: ranks 0 to 1 at worker-1")
        self.assertIn("rank 1 on", texts["attempt ended"])
        self.assertIn("exit code 7", texts["attempt ended"])

    def test_job_events_show_each_task_and_the_first_failure(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--name", "many", "--array", "0-2", "--", "sh", "-c",
                     "exit {index}")
        self.gangway("wait", "1", rc=1)
        done = [fact["index"] for fact in self.gangway_json("events", "1")["events"]
                if fact["what"] == "done"]
        self.assertEqual(done, [0])
        self.assert_told("1/2", "submitted", "placed", "attempt ended", "failed")
        said = self.gangway("explain", "1").stdout
        self.assertIn("1 of 3 tasks are done, 2 failed\n  the first that failed: "
                      "many (task 1", said)
        self.assertIn("many (task 2): failed", self.gangway("events", "1").stdout)

    def test_graph_shows_tasks_edges_and_groups(self):
        self.up("--slots", "1")
        tasks = [{"name": f"load-{i}", "argv": ["true"]} for i in range(6)]
        tasks += [{"name": f"train-{i}", "argv": ["sh", "-c", f"exit {int(i == 2)}"],
                   "after": [f"load-{i}"]} for i in range(6)]
        tasks += [{"name": 'the "best" one', "argv": ["true"],
                   "after": [f"train-{i}" for i in range(6)]}]
        self.gangway("submit", "-d", "--name", "web", "--from-json",
                     self.write("graph.json", json.dumps(tasks)))
        self.gangway("wait", "1", rc=1)
        shown = self.gangway("graph", "1").stdout
        self.assertIn("web (job 1): 13 tasks, 12 edges\n", shown)
        self.assertIn("    train-2: failed; after load-2\n", shown)
        shown = self.gangway("graph", "1", "--limit", "3").stdout
        self.assertEqual(shown, "web (job 1): 13 tasks, 12 edges\n"
                         "  load-* (6 tasks): 6 done\n"
                         "    train-* (6 tasks): 1 failed, 5 done; after load-*\n"
                         "      the \"best\" one: failed; after train-*\n")
        graph = self.gangway_json("graph", "1", "--limit", "4")
        self.assertEqual(sorted(graph["edges"]), [[0, 1, 6], [1, 2, 6]])
        self.gangway("graph", "7", rc=2)
        for limit in ("200", "3"):
            dot = self.gangway("graph", "1", "--dot", "--limit", limit).stdout
            self.assert_dot(dot)
            self.assertEqual(dot.count("->"), 12 if limit == "200" else 2)
        dot = self.gangway("graph", "1", "--dot").stdout
        self.assertIn(r'label="the \"best\" one\nfailed"', dot)

    def test_graph_counts_running_tasks_as_the_listings_do(self):
        """The words are those of `jobs` and `tasks`."""
        self.up("--slots", "2")
        for limit, shown in ((["--limit", "1"], r"t-\* \(4 tasks\): 2 running, 2 "),
                             ([], ": running\n")):
            tasks = [{"name": f"t-{i}", "argv": ["tail", "-f", "/dev/null"]} for i in range(4)]
            job = self.gangway("submit", "-d", "--from-json",
                               self.write("graph.json", json.dumps(tasks))).stdout.strip()
            self.wait_said(shown, "graph", job, *limit)
            self.assertNotIn("placed", self.gangway("graph", job, *limit, "--json").stdout)
            self.gangway("cancel", "--now", job)

    def test_graph_of_an_ended_job_is_still_shown(self):
        """This also holds if only the history of the job is left, because its client has
        ended."""
        self.up("--slots", "1")
        tasks = [{"name": "load", "argv": ["true"]},
                 {"name": "train", "argv": ["false"], "after": ["load"]},
                 {"name": "score", "argv": ["true"], "after": ["train"]}]
        self.gangway("submit", "-q", "--name", "web", "--from-json",
                     self.write("graph.json", json.dumps(tasks)), rc=1)
        self.assertEqual(self.gangway("graph", "last").stdout,
                         "web (job 1): 3 tasks, 2 edges\n"
                         "  load: done\n"
                         "    train: failed; after load\n"
                         "      score: failed; after train\n")
        self.assertIn("depends on 1 task: train (task 1)\n",
                      self.gangway("events", "1/score").stdout)
        self.gangway("submit", "-q", "--array", "0-3", "--", "true")
        self.assertEqual(self.gangway("graph", "last").stderr, "")

    def assert_dot(self, text):
        """Checks with Graphviz or, if that is missing, by its lines, that it is a graph."""
        if shutil.which("dot"):
            done = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True, text=True,
                                  timeout=e2e.TIMEOUT_S, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("\nnode n0 ", done.stdout)
        quoted = r'"(?:[^"\\]|\\.)*"'
        value = rf"(?:{quoted}|[\w.]+)"
        given = rf"\[(?:\w+={value}(?:, )?)+\]"
        line = re.compile(rf"  (?:\w+={value}|(?:node|edge|n\d+|n\d+ -> n\d+)(?: {given})?);")
        lines = text.splitlines()
        self.assertEqual((lines[0], lines[-1]), ("digraph gangway {", "}"))
        for each in lines[1:-1]:
            self.assertRegex(each, rf"^(?:{line.pattern})$")

    def test_events_refuses_unknown_jobs_and_tasks(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "true")
        self.assertIn("no job 7", self.gangway("events", "7", rc=2).stderr)
        self.assertIn("no task with this index", self.gangway("events", "1/9", rc=2).stderr)
        self.assertIn("no task named", self.gangway("events", "1/other", rc=2).stderr)
        self.assertIn("is missing", self.gangway("events", rc=2).stderr)
        self.gangway("wait", "1")


if __name__ == "__main__":
    e2e.main()
