#!/usr/bin/env python3
"""Ranges, streams, job dependencies, and many commands at once, as users use them."""
import json
import os
import re
import resource
import signal

import e2e

RANGES = os.path.join(e2e.BUILD, "bin", "ranges")


class Ranges(e2e.Case):
    def check(self, *what, **options):
        self.assertEqual(self.run_program(RANGES, *what, timeout_s=100, **options).stdout, "ok\n")

    def test_ranges_and_streams_work_on_one_worker(self):
        self.up("--slots", "2")
        for what in ("results", "failures", "alike", "flow", "map"):
            with self.subTest(what=what):
                self.check(what)
        with self.subTest(what="after"):
            self.check("after", self.fifo())
        with self.subTest(what="sessions"):
            self.check("sessions", self.fifo("third"))
        with self.subTest(what="stream"):
            self.check("stream", self.fifo("other"))
        with self.subTest(what="cancelled"):
            self.check("cancelled", self.fifo("blocks"))
        with self.subTest(what="forked"):
            self.check("forked", self.fifo("parent"))
        self.assert_idle()

    def test_ranges_work_in_a_private_cluster_of_two_workers(self):
        self.up("--slots", "4", "--workers", "2")
        for what in ("results", "flow"):
            with self.subTest(what=what):
                self.check(what)

    def test_ranges_run_inside_the_client_process(self):
        for what in ("results", "alike", "map"):
            with self.subTest(what=what):
                self.check(what, env={"GANGWAY_INLINE": "1"})

    def scheduler(self):
        """The pid of the test's scheduler."""
        found = [pid for pid in e2e.pids_marked(self.mark)
                 if " scheduler" in e2e.command_of(pid)]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_range_of_100_million_costs_little_memory(self):
        self.up("--slots", "1")
        said = self.run_program(RANGES, "memory", str(self.scheduler()), "100000000", "hold").stdout
        scheduler, client = map(int, re.findall(r"([+-]\d+) KiB", said))
        limit = 32768 if e2e.SANITIZED else 8192  # of a hundred million: KiB
        self.assertLess(scheduler, limit, said)
        self.assertLess(client, limit, said)

    def test_consumed_range_results_free_their_memory(self):
        self.up("--slots", "2")
        count = "60000" if e2e.SANITIZED else "1000000"
        for how in ("discard", "take"):
            said = self.run_program(RANGES, "memory", str(self.scheduler()), count, how,
                                    timeout_s=120).stdout
            print(how, count, said)
            scheduler, client = map(int, re.findall(r"([+-]\d+) KiB", said))
            if not e2e.SANITIZED:  # a sanitizer retains freed memory
                self.assertLess(scheduler, 65536, said)
                self.assertLess(client, 65536, said)


    def test_client_that_closes_before_its_stream_has_ended_warns(self):
        said = self.run_program(RANGES, "left_behind", self.fifo()).stderr
        self.assertIn("gw_client_close cancels unfinished tasks of the stream (job 1)", said)


class Array(e2e.Case):
    def test_array_runs_each_number_once(self):
        self.up("--slots", "2")
        done = self.gangway("submit", "--array", "3-9:3%2", "--", "sh", "-c",
                            'echo "{index} $GANGWAY_ARRAY_INDEX"; echo bad >&2')
        self.assertEqual(sorted(done.stdout.splitlines()), ["[3] 3 3", "[6] 6 6", "[9] 9 9"])
        self.assertEqual(done.stderr.count("bad"), 3)
        job = self.gangway_json("jobs")[0]
        self.assertEqual((job["tasks"], job["done"]), (3, 3))
        self.assertEqual(self.gangway("logs", f"{job['id']}.1").stdout, "6 6\n")

    def test_array_returns_the_exit_code_of_its_first_failure(self):
        self.up("--slots", "1")
        done = self.gangway("submit", "--array", "0-3", "--", "sh", "-c",
                            'test {index} != 2 || exit 7', rc=7)
        self.assertIn("1 of 4 tasks", done.stderr)
        said = self.gangway("submit", "--json", "--array", "0-3", "--", "sh", "-c",
                            'test {index} != 2 || exit 7', rc=7).stdout
        ends = {end["name"]: end for end in map(json.loads, said.splitlines())}
        self.assertEqual((ends["2"]["state"], ends["2"]["exit_code"]), ("failed", 7))
        self.assertEqual(ends["3"]["state"], "done")

    def test_array_json_contains_output_and_states(self):
        said = self.gangway("submit", "--json", "--array", "4-5", "--", "sh", "-c",
                            r"printf 'a\n\351 {index}'; echo err >&2").stdout
        lines = [json.loads(line) for line in said.splitlines()]
        for index, name in enumerate(("4", "5")):
            mine = [line for line in lines if line["index"] == index]
            self.assertEqual({line["name"] for line in mine}, {name})
            self.assertEqual([(line["stream"], line["text"]) for line in mine[:-1]],
                             [("out", "a"), ("out", f"\ufffd {name}"), ("err", "err")])
            self.assertEqual(mine[-1]["state"], "done")
        said = self.gangway("submit", "-q", "--json", "--array", "4-5", "--", "echo", "x").stdout
        self.assertEqual(len(said.splitlines()), 2)

    def test_single_array_task_can_be_cancelled(self):
        self.up("--slots", "2")
        fifos = [self.fifo(f"f{i}") for i in (5, 6, 7)]
        job = self.gangway("submit", "-d", "--array", "5-7%2", "--", "sh", "-c",
                           f"echo x >{self.dir}/f{{index}}; test {{index}} = 5 || "
                           f"exec cat {self.fifo('never')}").stdout.strip()
        self.read_fifo(fifos[1])
        self.assertIn(f"task 1 of job {job}: cancelled",
                      self.gangway("cancel", "--now", "last/1").stderr)
        self.read_fifo(fifos[0])
        self.read_fifo(fifos[2])
        self.gangway("cancel", "--now", f"{job}/2", "--json")
        self.gangway("wait", job, rc=130)
        self.assertIn("had ended already", self.gangway("cancel", f"{job}/1").stderr)
        job = self.gangway_json("jobs")[0]
        self.assertEqual((job["done"], job["cancelled"]), (1, 2))

    def test_retry_reruns_failed_and_pending_array_tasks(self):
        self.up("--slots", "1")
        out = os.path.join(self.dir, "out")
        job = self.gangway("submit", "-d", "--array", "0-4%1", "--", "sh", "-c",
                           f"echo {{index}} >>{out}; test -e {self.dir}/fine || "
                           f"test {{index}} = 0 || {{ echo >{self.fifo('began')}; "
                           f"cat {self.fifo('never')}; }}").stdout.strip()
        self.read_fifo(f"{self.dir}/began")
        self.assertIn("task 3 of job 1: cancelled", self.gangway("cancel", f"{job}/3").stderr)
        self.assertIn("it is cancelled", self.gangway("explain", f"{job}/3").stdout)
        self.gangway("pause", job)
        self.assertIn("its job is paused", self.gangway("explain", f"{job}/4").stdout)
        self.gangway("resume", job)
        self.gangway("cancel", "--now", job)
        self.gangway("wait", job, rc=130)
        self.write("fine", "")
        self.assertIn("1 task runs again", self.gangway("retry", f"{job}/2").stderr)
        self.gangway("wait", job, rc=130)
        self.gangway("down", "--now")
        self.up("--slots", "1")
        self.assertIn("3 tasks run again", self.gangway("retry", job).stderr)
        self.gangway("wait", job)
        with open(out, encoding="utf-8") as f:
            self.assertEqual(f.read().split(), ["0", "1", "2", "1", "3", "4"])
        self.assertIn("has no failed task", self.gangway("retry", job, rc=2).stderr)

    def test_cancelled_array_counts_all_its_tasks(self):
        self.up("--slots", "1")
        done = self.start(e2e.BINARY, "submit", "--array", "0-999%1", "--", "sh", "-c",
                          f"echo x >{self.fifo('began')}; exec cat {self.fifo('never')}")
        self.read_fifo(os.path.join(self.dir, "began"))
        self.gangway("cancel", "--now", "last")
        self.assertEqual(done.wait(), 130)
        self.assertIn("1000 of 1000 tasks failed or were cancelled", done.text)

    def test_after_and_after_any_order_detached_arrays(self):
        self.up("--slots", "2")
        out = os.path.join(self.dir, "out")
        fifos = [self.fifo("f0"), self.fifo("f1")]
        first = self.gangway("submit", "-d", "--array", "0-1", "--", "sh", "-c",
                             f"read x < {self.dir}/f{{index}}; echo array >> {out}").stdout.strip()
        second = self.gangway("submit", "-d", "--after", first, "--", "sh", "-c",
                              f"echo after >> {out}").stdout.strip()
        third = self.gangway("submit", "-d", "--after-any", f"{first},{second}", "--", "sh", "-c",
                             f"echo last >> {out}").stdout.strip()
        self.assertIn(f"waits for the end of job {first}", self.gangway("explain", second).stdout)
        self.assertIn("0 of 2 tasks are done", self.gangway("explain", first).stdout)
        for fifo in fifos:
            with open(fifo, "w", encoding="utf-8") as f:
                f.write("x\n")
        self.gangway("wait", third)
        with open(out, encoding="utf-8") as f:
            self.assertEqual(f.read().split(), ["array", "array", "after", "last"])

    def test_retried_job_waits_for_its_retried_predecessor(self):
        self.up("--slots", "2")
        out, words = os.path.join(self.dir, "out"), self.fifo("words")
        first = self.gangway("submit", "-d", "--", "sh", "-c",
                             f"read x < {words}; echo first >> {out}; test $x = well"
                             ).stdout.strip()
        second = self.gangway("submit", "-d", "--after", first, "--", "sh", "-c",
                              f"echo second >> {out}").stdout.strip()
        with open(words, "w", encoding="utf-8") as f:
            f.write("badly\n")
        self.gangway("wait", second, rc=1)
        self.gangway("retry", second, first)  # in any order
        self.assertIn(f"waits for the end of job {first}", self.gangway("explain", second).stdout)
        with open(words, "w", encoding="utf-8") as f:
            f.write("well\n")
        self.gangway("wait", second)
        with open(out, encoding="utf-8") as f:
            self.assertEqual(f.read().split(), ["first", "first", "second"])

    def test_malformed_array_ranges_are_refused(self):
        self.up("--slots", "1")
        for text in ("", "a", "3-1", "1-", "0-9:0", "0-9%0", "0-9x", "0-9:2%",
                     "0-99999999999"):
            with self.subTest(text=text):
                done = self.gangway("submit", "--array", text, "--", "true", rc=2)
                self.assertIn("--array", done.stderr)
        self.gangway("submit", "--array", "0-1", "--each-line", "x", "--", "true", rc=2)
        self.gangway("submit", "--array", "0-1", rc=2)

    def test_unreadable_output_of_a_task_is_not_shown_as_the_whole_output(self):
        """A pipe that nobody reads keeps this command from reading all before the file is gone."""
        self.up("--slots", "1")
        job = self.start(e2e.BINARY, "submit", "--array", "7-7", "--", "sh", "-c",
                         "yes $(printf %0999d) | head -n 1000; echo end")
        job.wait_output("0")
        folder = self.cluster("logs", "1")
        path = os.path.join(folder, next(f for f in os.listdir(folder) if f.endswith(".out")))
        os.unlink(path)
        os.mkdir(path)
        self.assertEqual(job.wait(), 0)
        last = job.text.splitlines()[-1]
        self.assertRegex(last, r"^gangway: the output shown of \[7\] is incomplete: cannot read /")


class Files(e2e.Case):
    def test_each_line_of_a_file_becomes_a_task(self):
        self.up("--slots", "2")
        path = self.write("lines", "one\ntwo words\n\nfour\n")
        done = self.gangway("submit", "--each-line", path, "--", "sh", "-c",
                            'echo "{line}:$GANGWAY_LINE:{index}"')
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[0] one:one:0", "[1] two words:two words:1", "[2] ::2",
                          "[3] four:four:3"])
        done = self.run_program("sh", "-c", f"printf 'a\\nb' | {e2e.BINARY} submit --each-line - "
                                            "-- echo {line}")
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] a", "[1] b"])
        most = self.write("most", "q" * 131058 + "\n")
        done = self.gangway("submit", "--each-line", most, "--", "sh", "-c",
                            "echo ${#GANGWAY_LINE} ${#1} $#", "x", "{line}")
        self.assertEqual(done.stdout, "[0] 131058 131058 1\n")
        more = self.write("more", "a\n" + "q" * 131059)
        done = self.gangway("submit", "--each-line", more, "--", "true", rc=2)
        self.assertIn("line 2 has 131059 bytes", done.stderr)
        done = self.gangway("submit", "--each-line", most, "--", "echo", "{line}{line}", rc=2)
        self.assertIn("a word of 262116", done.stderr)
        self.gangway("submit", "--each-line", "/nowhere", "--", "true", rc=2)
        self.gangway("submit", "--each-line", "/dev/null", "--", "true", rc=2)
        for option in (("--each-line", self.dir, "--", "true"), ("--from-json", self.dir)):
            self.assertIn("is a folder", self.gangway("submit", *option, rc=2).stderr)

    def test_fields_of_a_line_replace_numbered_placeholders(self):
        """{1}, {2} ... are the fields between blanks, {{} is a brace, and a missing field is
        refused."""
        lines = self.write("lines", '--lr 0.1 "a  b"\n  --lr\t0.2 c d e f g h i ten \n')
        shown = self.gangway("submit", "--each-line", lines, "--env", "X={2}", "--", "sh", "-c",
                             'echo $# "$@" $X', "x", "{1}", "{2}", "{3}{4}", "{{}4}", "b{2,3}",
                             "{0}", "{01}").stdout
        self.assertEqual(sorted(shown.splitlines()),
                         ['[0] 7 --lr 0.1 "ab" {4} b{2,3} {0} {01} 0.1',
                          "[1] 7 --lr 0.2 cd {4} b{2,3} {0} {01} 0.2"])
        tenth = self.write("tenth", "a b c d e f g h i ten\n")
        said = self.gangway("submit", "--each-line", tenth, "--", "echo", "{10}{1}0").stdout
        self.assertEqual(said, "[0] tena0\n")
        ran = os.path.join(self.dir, "ran")
        for typed in (("--", "touch", ran, "{5}"), ("--env", "X={5}", "--", "touch", ran)):
            said = self.gangway("submit", "--each-line", lines, *typed, rc=2).stderr
            self.assertIn(f"{lines}: line 1 has 4 fields, but the command uses {{5}}", said)
        self.assertFalse(os.path.exists(ran))

    def test_whole_line_as_a_single_argument_gives_a_hint(self):
        lines = self.write("lines", "--lr 0.1\n--lr 0.2\n")
        said = self.gangway("submit", "--each-line", lines, "--", "sort", "{line}", rc=2).stderr
        self.assertEqual(said.count("{line} is the whole line as one word; {1} {2}"), 1, said)
        for path, word in ((lines, "x{line}"), (self.write("words", "--lr\n--mr\n"), "{line}")):
            said = self.gangway("submit", "--each-line", path, "--", "sort", word, rc=2).stderr
            self.assertNotIn("one word", said)

    def test_arrays_lines_and_json_can_start_gangs(self):
        """Each number, line or object is a gang of its own, and all of them are one job."""
        show = ("sh", "-c", 'echo $RANK/$WORLD_SIZE "$@" $GANGWAY_ARRAY_INDEX', "x")
        said = self.gangway("dispatch", "-n2", "--array", "3-7:4", "--", *show, "{index}").stdout
        self.assertEqual(sorted(said.splitlines()), ["[3:0] 0/2 3 3", "[3:1] 1/2 3 3",
                                                     "[7:0] 0/2 7 7", "[7:1] 1/2 7 7"])
        lines = self.write("lines", "a b\nc d\n")
        said = self.gangway("dispatch", "-n", "2", "--each-line", lines, "--", *show, "{2}").stdout
        self.assertEqual(sorted(said.splitlines()), ["[0:0] 0/2 b 0", "[0:1] 1/2 b 0",
                                                     "[1:0] 0/2 d 1", "[1:1] 1/2 d 1"])
        objects = self.write("tasks", json.dumps([
            {"name": "A", "argv": ["echo", "{rank}"]},
            {"name": "B", "argv": ["echo", "{rank}"], "after": "A", "options": {"ranks": 3}}]))
        said = self.gangway("dispatch", "-n", "2", "--from-json", objects).stdout
        self.assertEqual(sorted(said.splitlines()), ["[A:0] 0", "[A:1] 1", "[B:0] 0", "[B:1] 1",
                                                     "[B:2] 2"])
        self.up("--slots", "4")
        job = self.gangway("dispatch", "-d", "-n", "2", "--name", "sweep", "--array", "0-2", "--",
                           "sh", "-c", "[ {index} != 1 ]").stdout.strip()
        self.gangway("wait", "sweep", rc=1)
        tasks = self.gangway_json("tasks", job)
        self.assertEqual([(task["state"], task["ranks"]) for task in tasks],
                         [("done", 2), ("failed", 2), ("done", 2)])
        self.gangway("dispatch", "--array", "0-9%2", "--", "true", rc=2)
        self.gangway("dispatch", "--array", "0-100000", "--", "true", rc=2)
        self.gangway("dispatch", "--array", "0-1", rc=2)

    def test_interrupt_ends_thousands_of_pending_lines_at_once(self):
        """The client does not ask about each pending line; their end is reported in a single
        message."""
        lines = 4000
        self.up("--slots", "1")
        path = self.write("lines", "".join(f"{i}\n" for i in range(lines)))
        hang = self.fifo("hang")
        job = self.start(e2e.BINARY, "submit", "--each-line", path, "--", "sh", "-c",
                         f"echo line {{line}}; [ {{line}} = 0 ] || exec cat {hang}")
        job.wait_output("line 0")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
        with open(hang, "w", encoding="utf-8"):  # there is a reader: the second task runs
            job.kill(signal.SIGINT)
            self.assertEqual(job.wait(), 130, job.text)
        self.assertIn("[1] line 1\n", job.text)
        self.assertNotIn("[2]", job.text)
        self.assertIn(f"{lines - 1} of {lines} tasks failed or were cancelled", job.text)
        slept = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
        self.assertLess(slept, lines // 2)

    def test_json_tasks_run_in_order_with_their_options(self):
        self.up("--slots", "2")
        out = os.path.join(self.dir, "out")
        shipped = self.write("here", "what is shipped\n")
        tasks = [
            {"name": "last", "argv": ["sh", "-c", f"echo last $X >> {out}"],
             "after": ["left", "right"], "env": {"X": "y"}},
            {"name": "left", "argv": ["sh", "-c", f"echo side >> {out}"], "after": "first"},
            {"name": "right", "argv": ["sh", "-c", f"echo side >> {out}"], "after": ["first"]},
            {"name": "first", "argv": ["sh", "-c", f"echo first >> {out}; pwd"], "cwd": "/",
             "options": {"retries": 1, "memory": "1M", "time-limit": "1m"}},
            {"name": "all", "argv": ["cat", "shipped"], "options": {
                "ship": [shipped + ":shipped"], "gpus": "any", "prefer": ["worker-1", "nobody"],
                "inactivity-timeout": 60, "annotate": {"part": 7, "of": "it"}, "signal": "USR1",
                "max-worker-losses": 2, "fail-grace": "1s", "bind": "none"}},
        ]
        done = self.gangway("submit", "--from-json", self.write("tasks.json", json.dumps(tasks)))
        self.assertEqual(sorted(done.stdout.splitlines()), ["[all] what is shipped", "[first] /"])
        self.assertIn("(part=7,of=it)", self.gangway("explain", "last/all").stdout)
        with open(out, encoding="utf-8") as f:
            self.assertEqual(f.read().split("\n"), ["first", "side", "side", "last y", ""])

    def test_output_of_all_ranks_of_a_json_gang_is_printed(self):
        self.up("--slots", "3")
        path = self.write("gang.json", json.dumps([
            {"argv": ["sh", "-c", "echo r$RANK; [ $RANK = 0 ] || echo no $RANK >&2"], "name": "g",
             "options": {"ranks": 3}}]))
        done = self.gangway("submit", "--from-json", path)
        self.assertEqual(done.stdout.splitlines(), ["[g:0] r0", "[g:1] r1", "[g:2] r2"])
        self.assertEqual(done.stderr.splitlines(), ["[g:1] no 1", "[g:2] no 2"])
        told = [json.loads(line) for line in
                self.gangway("submit", "--json", "--from-json", path).stdout.splitlines()]
        self.assertEqual([(line["rank"], line["text"]) for line in told if "stream" in line],
                         [(0, "r0"), (1, "r1"), (1, "no 1"), (2, "r2"), (2, "no 2")])

    def test_malformed_json_tasks_are_refused(self):
        self.up("--slots", "1")
        for tasks, text in (
                ("[", "1: "), ("{}", "must be a JSON list"), ('[{"argv": []}]', "argv"),
                ('[{"argv": ["a"], "x": 1}]', 'unknown key "x"'),
                ('[{"argv": ["a"], "retries": 1}]', '"retries" goes into "options"'),
                ('[{"argv": ["a"], "options": {"x": 1}}]', 'unknown option "x"'),
                ('[{"argv": ["a"], "options": {"retries": 256}}]', "a number from 0 to 255"),
                ('[{"argv": ["a\\u0000b"]}]', ":1: a text with \\u0000, which is not supported"),
                ("[]", "the list has no task"),
                ('[{"argv": ["a"], "options": {"time-limit": "soon"}}]',
                 'option "time-limit" takes seconds'),
                ('[{"argv": ["a"], "options": {"gpus": "two"}}]',
                 'a fraction of one (0.5), or "any"'),
                ('[{"argv": ["a"], "options": {"on": "a", "prefer": "b"}}]', "only one of"),
                ('[{"argv": ["a"], "options": {"on": ["a", "noone"]}}]', "is called a"),
                ('[{"argv": ["a"], "after": "b"}]', 'no task has that name'),
                ('[{"argv": ["a"], "name": "b", "after": "b"}]', "cycle"),
                ('[{"argv": ["a"], "name": "b"}, {"argv": ["a"], "name": "b"}]', "two tasks"),
                ('[{"argv": ["a"], "env": {"A=": "1"}}]', "env")):
            with self.subTest(tasks=tasks):
                path = self.write("tasks.json", tasks)
                self.assertIn(text, self.gangway("submit", "--from-json", path, rc=2).stderr)


if __name__ == "__main__":
    e2e.main()
