#!/usr/bin/env python3
"""An unmodified Horovod script as a gang, on CPU. Runs under ./check --full, which compiles
Horovod; skipped if that is impossible."""

import os
import re
import subprocess

import e2e

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "programs", "train_horovod.py")
TOOL = os.path.join(HERE, "..", "tools", "horovod")
RANKS = 2


class Horovod(e2e.Case):
    def setUp(self):
        if not os.environ.get("GANGWAY_FULL"):
            self.skipTest("./check --full runs this")
        found = subprocess.run([TOOL, "--find"], text=True, capture_output=True, timeout=180,
                               check=False)
        if found.returncode:
            self.skipTest(found.stderr.strip())
        self.python = found.stdout.strip()
        super().setUp()

    def test_horovod_gang_trains_with_equal_weights(self):
        done = self.gangway("dispatch", "-n", str(RANKS), "--", self.python, SCRIPT,
                            timeout_s=180)
        pattern = r"rank (\d) of (\d) local (\d) of (\d) sum (\d) loss ([\d.]+) same (\w+)"
        lines = sorted(re.findall(pattern, done.stdout))
        self.assertEqual([line[:5] for line in lines],
                         [(str(rank), "2", str(rank), "2", "3") for rank in range(RANKS)],
                         done.stdout + done.stderr)
        for line in lines:
            self.assertLess(float(line[5]), 0.01)
            self.assertEqual(line[6], "True")


if __name__ == "__main__":
    e2e.main()
