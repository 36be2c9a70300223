#!/usr/bin/env python3
"""An unmodified PyTorch script as a gang. Runs under ./check --full, and fails there without
torch."""

import os
import re

import e2e

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "train_torch.py")
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's torch


class Torch(e2e.Case):
    def setUp(self):
        if not os.environ.get("GANGWAY_FULL"):
            self.skipTest("./check --full runs this")
        super().setUp()

    def test_gang_of_two(self):
        done = self.gangway("dispatch", "-n", "2", "--", PYTHON, SCRIPT, timeout_s=180)
        pattern = r"rank (\d) of 2 local (\d) loss ([\d.]+) same (\w+)"
        lines = sorted(re.findall(pattern, done.stdout))
        self.assertEqual([line[0] for line in lines], ["0", "1"], done.stdout + done.stderr)
        self.assertEqual([line[1] for line in lines], ["0", "1"])
        for line in lines:
            self.assertLess(float(line[2]), 0.01)
            self.assertEqual(line[3], "True")


if __name__ == "__main__":
    e2e.main()
