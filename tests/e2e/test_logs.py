#!/usr/bin/env python3
"""`gangway logs`: following, the last lines, output that was not stored."""
import datetime
import glob
import json
import os
import re
import time

import e2e

TIME = "%Y-%m-%dT%H:%M:%S.%f%z"


class Logs(e2e.Case):
    def test_logs_tail_prints_the_last_lines(self):
        self.up("--slots", "1")
        fifo = self.fifo()
        job = self.gangway("submit", "-d", "--", "sh", "-c", "seq 100; seq 7 >&2; printf 'more '; "
                           f"read line < {fifo}; echo $line; printf end").stdout.strip()
        self.wait_said(r"more", "logs", job)
        done = self.gangway("logs", "--tail", "2", job)
        self.assertEqual((done.stdout, done.stderr), ("100\nmore ", "6\n7\n"))
        self.assertEqual(self.gangway("logs", "--tail", "0", job).stdout, "")
        self.assertEqual(self.gangway("logs", "--tail", "9", "--err", job).stderr.split(),
                         [str(i) for i in range(1, 8)])
        reader = self.start(e2e.BINARY, "logs", "--follow", "--tail", "2", "--out", job)
        reader.wait_output("^100\n")
        with open(fifo, "w", encoding="utf-8") as file:
            file.write("came\n")
        self.assertEqual(reader.wait(), 0)
        self.assertEqual(reader.text, "100\nmore came\nend")
        self.assertEqual(self.gangway("logs", "--tail", "1", "--out", job).stdout, "end")
        self.gangway("logs", "--tail", "2", "-o", "files", job, rc=2)

    def test_long_output_retains_its_start_and_end(self):
        """The start and the end of the output are stored; the bytes between are only
        counted."""
        self.up("--slots", "1")
        job = self.gangway("submit", "-d", "--", "sh", "-c",
                           "echo first; yes 123456789 | head -n 9000000; echo last").stdout.strip()
        self.gangway("wait", job)
        for words in [], ["-o", "kept"]:
            said = self.gangway("logs", job, *words)
            text = said.stdout
            if words:
                with open(os.path.join(self.dir, "kept", "stdout"), encoding="utf-8") as file:
                    text = file.read()
            self.assertTrue(text.startswith("first\n123456789\n"))
            self.assertTrue(text.endswith("123456789\nlast\n"))
            left = re.fullmatch(r"gangway: (\d+) bytes of the task's standard output are missing "
                                r"here, because they were not stored\n", said.stderr)
            self.assertEqual(int(left.group(1)) + len(text), 9000000 * 10 + 11)
            self.assertLess(len(text), (64 << 20) + (256 << 10))
        # Reads lines of the second half, and some before.
        self.assertEqual(self.gangway("logs", "--tail", "2", job).stderr, "")
        tail = self.gangway("logs", "--tail", "4000000", job)
        self.assertEqual((tail.stdout.count("\n"), tail.stdout[-5:]), (4000000, "last\n"))
        self.assertEqual(tail.stderr, said.stderr)

    def stamped(self, *words):
        """The lines as {text: time, or "-"}."""
        said = self.gangway("logs", "--timestamps", *words)
        return {text: time for time, text in
                re.findall(r"^(\S+) +(.*)", said.stdout, re.MULTILINE)}

    def gated(self, *command):
        """A job that has printed a line whose time is stored, and prints another one when its gate
        is written to."""
        gate = self.fifo()
        job = self.gangway(*command, "--", "sh", "-c", f"echo early; read line <{gate}; echo $line")
        while not glob.glob(self.cluster("**", "*.out.times"), recursive=True):
            e2e.pause()
        return job.stdout.strip(), gate

    def test_timestamps_are_those_of_the_lines(self):
        self.up("--slots", "1")
        job, gate = self.gated("submit", "-d")
        early = self.stamped(job)
        with open(gate, "w", encoding="utf-8") as file:
            file.write("late\n")
        self.gangway("wait", job)
        lines = self.stamped(job)
        self.assertEqual(list(lines), ["early", "late"])
        self.assertEqual(lines["early"], early["early"])
        self.assertLess(lines["early"], lines["late"])
        begin, end = [datetime.datetime.strptime(lines[text], TIME).timestamp()
                      for text in ("early", "late")]
        self.assertLess(time.time() - e2e.TIMEOUT_S, begin)
        self.assertLess(end, time.time() + 0.1)
        self.assertEqual(self.stamped(job, "--tail", "1"), {"late": lines["late"]})
        self.assertEqual(self.gangway("logs", job).stdout, "early\nlate\n")
        said = self.gangway("logs", job, "--timestamps", "--json").stdout.splitlines()
        self.assertEqual([json.loads(line) for line in said],
                         [{"rank": 0, "stream": "out", "time": lines[text], "text": text}
                          for text in ("early", "late")])

    def test_since_prints_only_later_output(self):
        self.up("--slots", "1")
        job, gate = self.gated("submit", "-d")
        early = self.stamped(job)["early"]  # in whole milliseconds
        since = (datetime.datetime.strptime(early, TIME) +
                 datetime.timedelta(milliseconds=1)).strftime(TIME.replace("%z", "Z"))
        reader = self.start(e2e.BINARY, "logs", "-f", "--since", since, "--timestamps", job)
        with open(gate, "w", encoding="utf-8") as file:
            file.write("late\n")
        self.assertEqual(reader.wait(), 0)
        self.assertRegex(reader.text, r"^\S+Z late\n$")
        self.assertEqual(self.gangway("logs", job, "--since", since).stdout, "late\n")
        self.assertEqual(self.gangway("logs", job, "--since", since, "--tail", "9").stdout,
                         "late\n")
        self.gangway("logs", job, "--since", since, "-o", "files")
        with open(os.path.join(self.dir, "files", "stdout"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "late\n")
        for all_of_it in early, "1h", "none":
            self.assertEqual(self.gangway("logs", job, "--since", all_of_it).stdout,
                             "early\nlate\n")
        self.assertIn("neither a duration",
                      self.gangway("logs", job, "--since", "soon", rc=2).stderr)

    def test_times_of_ranks_survive_their_cluster(self):
        self.up("--slots", "2")
        job = self.gangway("dispatch", "-d", "-n", "2", "--", "sh", "-c",
                           "echo rank $RANK").stdout.strip()
        self.gangway("wait", job)
        lines = self.stamped(job)
        self.assertEqual(sorted(lines), ["[0] rank 0", "[1] rank 1"])
        self.assertNotIn("-", lines.values())
        self.gangway("down")
        self.up("--slots", "2")
        self.assertEqual(self.stamped(job), lines)

    def test_output_whose_time_is_unknown_is_printed_and_said_to_be_so(self):
        """The output of C functions is stored without times."""
        self.up("--slots", "2")
        prints = self.start(os.path.join(e2e.BUILD, "bin", "prints"), "0", self.fifo())
        with open(os.path.join(self.dir, "fifo"), "w", encoding="utf-8") as file:
            file.write("x")
        self.assertEqual(prints.wait(), 0)
        self.assertEqual(self.stamped("1"), {"it waits": "-", "and has begun a line": "-"})
        said = self.gangway("logs", "1", "--since", "1s")
        self.assertEqual(said.stdout, "it waits\nand has begun a line\n")
        self.assertIn("the times of this output are not known, so all of it is printed",
                      said.stderr)


if __name__ == "__main__":
    e2e.main()
