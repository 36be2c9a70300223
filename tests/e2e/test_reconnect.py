#!/usr/bin/env python3
"""Attached work survives its scheduler: the client finds the next scheduler and resubmits
unfinished tasks. If the cluster was taken down, the client does not wait."""
import os
import signal
import time

import e2e


class Reconnect(e2e.Case):
    def begin(self):
        """The program, when its row waits at its end and all other tasks have ended."""
        counts, go = self.write("counts", "", 0o644), self.fifo("go")
        program = self.start(os.path.join(e2e.BUILD, "bin", "reconnect"), counts, go,
                             "60000")
        program.wait_output("running\n")
        self.wait_count(counts, "3", 1)
        return program, counts, go

    def numbers(self, counts):
        with open(counts, encoding="utf-8") as f:
            return f.read().split()

    def wait_count(self, counts, number, times):
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while self.numbers(counts).count(number) < times:
            self.assertLess(time.monotonic(), deadline, f"{number} did not run {times} times")

    def test_client_resubmits_after_a_killed_scheduler(self):
        self.up("--slots", "2")
        program, counts, go = self.begin()
        scheduler = self.process_of("scheduler --dir")
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])
        self.up("--slots", "2")
        self.wait_count(counts, "3", 2)
        with open(go, "w", encoding="utf-8") as f:
            f.write("x")
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("ok\n", program.text)
        # The map had ended, and its values had been received: it did not run again. The row did.
        self.assertEqual(sorted(self.numbers(counts), key=int),
                         ["1", "1", "2", "2", "3", "3"] + [str(n) for n in range(10, 18)] + ["99"])
        self.assert_idle()

    def test_client_fails_if_the_cluster_is_taken_down(self):
        self.up("--slots", "2")
        program, _, _ = self.begin()
        self.gangway("down")
        self.assertEqual(program.wait(), 1, program.text)
        self.assertIn("this cluster was taken down", program.text)


if __name__ == "__main__":
    e2e.main()
