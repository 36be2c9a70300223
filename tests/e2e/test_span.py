#!/usr/bin/env python3
"""A gang of functions whose ranks stand at two workers: one communicator between them."""
import os

import e2e

SPAN = os.path.join(e2e.BUILD, "bin", "span")


class Span(e2e.Case):
    def test_a_gang_on_two_workers(self):
        self.up("--slots", "4", "--workers", "2")
        self.assertEqual(self.run_program(SPAN).stdout, "ok\n")
        self.assertEqual(self.run_program(SPAN, "die").stdout, "ok\n")


if __name__ == "__main__":
    e2e.main()
