#!/usr/bin/env python3
"""A function gang whose ranks run at two workers, with one communicator between them."""
import os

import e2e

SPAN = os.path.join(e2e.BUILD, "bin", "span")


class Span(e2e.Case):
    def test_gang_on_two_workers_reduces_and_survives_a_death(self):
        self.up("--slots", "4", "--workers", "2")
        self.assertEqual(self.run_program(SPAN).stdout, "ok\n")
        self.assertEqual(self.run_program(SPAN, "die").stdout, "ok\n")


if __name__ == "__main__":
    e2e.main()
