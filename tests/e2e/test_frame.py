#!/usr/bin/env python3
"""The test frame itself: it detects what it must. Uses nothing of Gangway."""
import os
import sys
import unittest

import e2e


class Leaves(e2e.Case):
    """Not a test: run by the tests below, which expect it to fail."""
    linger_s = 0.2

    def leaves_process(self):
        self.run_program("setsid", "-f", "sh", "-c", "exec sleep infinity >/dev/null 2>&1")

    def leaves_file(self):
        self.run_program("sh", "-c", "echo a >$TMPDIR/a")

    def reports_race(self):
        self.run_program("sh", "-c", 'echo race >"${TSAN_OPTIONS##*log_path=}.$$"')

    def is_killed_at_its_end(self):
        words = "==7==Running thread 8 was not suspended. False leaks are possible."
        self.run_program("sh", "-c", f'echo "{words}" >"${{ASAN_OPTIONS##*log_path=}}.$$"')

    def hangs(self):
        self.run_program("sleep", "infinity", timeout_s=0.2)

    def ends_otherwise(self):
        self.run_program("false")

    def leaves_nothing(self):
        self.run_program("true")


def outcome(name):
    """The failure text of a test of Leaves; empty if it passes."""
    result = unittest.TestResult()
    case = Leaves(name)
    case.run(result)
    assert all(e2e.wait_gone(pid, e2e.TIMEOUT_S) for pid in e2e.pids_marked(case.mark))
    assert not os.path.exists(case.dir), "tearDown leaves its folder behind"
    return "".join(text for _, text in result.failures + result.errors)


class Frame(e2e.Case):
    def test_frame_detects_remaining_processes_and_files(self):
        said = outcome("leaves_process")
        self.assertIn("processes were left behind", said)
        self.assertIn("sleep infinity", said)
        self.assertIn("files were left behind", outcome("leaves_file"))
        self.assertIn("a sanitizer has found something", outcome("reports_race"))
        self.assertEqual("", outcome("is_killed_at_its_end"))
        self.assertEqual("", outcome("leaves_nothing"))

    def test_frame_detects_hangs_and_wrong_exit_codes(self):
        self.assertIn("runs after", outcome("hangs"))
        self.assertIn("1 != 0", outcome("ends_otherwise"))

    def test_frame_waits_for_output_and_process_end(self):
        process = self.start("sh", "-c", "echo ready $$; exec sleep infinity")
        pid = int(process.wait_output(r"^ready (\d+)$").group(1))
        self.assertEqual(pid, process.pid)
        self.assertFalse(e2e.wait_gone(pid, 0))
        with self.assertRaises(AssertionError):
            process.wait_output("never", timeout_s=0.1)
        process.kill()
        self.assertTrue(e2e.wait_gone(pid, e2e.TIMEOUT_S))
        self.assertEqual(process.wait(), -9)

    def test_fifo_delivers_the_first_line(self):
        path = self.fifo()
        self.start("sh", "-c", f"echo here >{path}")
        self.assertEqual(self.read_fifo(path), "here\n")

    def test_killed_test_leaves_no_processes_or_files(self):
        """At its time limit, ctest kills a test and all processes below it."""
        text = self.write("killed.py", f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(e2e.__file__))!r})
import e2e

class Killed(e2e.Case):
    def test(self):
        path = self.fifo()
        self.start("setsid", "sh", "-c", f"echo $$ >{{path}}; exec sleep infinity")
        print("left", self.mark, self.read_fifo(path).strip(), self.dir, flush=True)
        self.run_program("sleep", "infinity")

e2e.main()
""")
        process = self.start(sys.executable, text)
        left = process.wait_output(r"left (\w+) (\d+) (.*)$")
        process.kill()
        process.wait()
        self.assertTrue(e2e.wait_gone(int(left.group(2)), e2e.TIMEOUT_S))
        for pid in e2e.pids_marked(self.mark):  # the undertaker
            self.assertTrue(e2e.wait_gone(pid, e2e.TIMEOUT_S))
        self.assertFalse(os.path.exists(left.group(3)))
        self.assertEqual(e2e.pids_marked(left.group(1)), [])


if __name__ == "__main__":
    e2e.main()
