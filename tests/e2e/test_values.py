#!/usr/bin/env python3
"""The client API on real clusters: a private one, and shared ones of one and two workers."""
import contextlib
import os
import signal

import e2e

VALUES = os.path.join(e2e.BUILD, "bin", "values")
SHARED = ("large", "gang", "map", "retry", "cancel", "leave")


class Values(e2e.Case):
    def check(self, what):
        self.assertEqual(self.run_program(VALUES, what, timeout_s=100).stdout, "ok\n")

    def test_values_work_in_a_private_cluster(self):
        for what in (*SHARED, "grow"):
            with self.subTest(what=what):
                self.check(what)

    def shared(self, *options):
        self.up(*options)
        for what in SHARED:
            with self.subTest(what=what):
                self.check(what)
        self.assert_idle()

    def test_values_work_on_one_worker(self):
        self.shared("--slots", "2")

    def test_values_work_on_two_workers(self):
        self.shared("--slots", "4", "--workers", "2")

    def test_folder_of_a_killed_private_cluster_is_removed_later(self):
        """A client and a scheduler that are killed together leave a folder; the next private
        cluster removes it."""
        folder = os.path.join(self.env["XDG_RUNTIME_DIR"], "gangway")
        up = e2e.Lines(self.fifo())
        self.addCleanup(up.close)
        job = self.start(e2e.BINARY, "submit", "--", "sh", "-c",
                         'echo up > "$0"; exec tail -f /dev/null', up.path)
        up.next()
        pids = e2e.pids_marked(self.mark)
        # so that none of them can notice another's end and clean up
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # died with its supervisor
                    os.kill(pid, number)
        self.assert_gone(pids)
        job.wait()
        self.assertEqual(len(os.listdir(folder)), 1)
        self.check("map")
        self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    e2e.main()
