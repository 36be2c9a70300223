#!/usr/bin/env python3
"""The client's API against real clusters: a private one, and shared ones of one and two workers."""
import os

import e2e

VALUES = os.path.join(e2e.BUILD, "bin", "values")
SHARED = ("large", "map", "retry", "cancel", "leave")


class Values(e2e.Case):
    def check(self, what):
        self.assertEqual(self.run_program(VALUES, what, timeout_s=100).stdout, "ok\n")

    def test_private(self):
        for what in (*SHARED, "grow"):
            with self.subTest(what=what):
                self.check(what)

    def shared(self, *options):
        self.up(*options)
        for what in SHARED:
            with self.subTest(what=what):
                self.check(what)
        status = self.gangway_json("status")
        self.assertEqual(status["slots_free"], status["slots"])

    def test_one_worker(self):
        self.shared("--slots", "2")

    def test_two_workers(self):
        self.shared("--slots", "4", "--workers", "2")


if __name__ == "__main__":
    e2e.main()
