#!/usr/bin/env python3
"""`gangway logs`: following, the last lines, output that was not stored."""
import os
import re

import e2e


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


if __name__ == "__main__":
    e2e.main()
