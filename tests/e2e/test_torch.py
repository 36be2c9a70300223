#!/usr/bin/env python3
"""An unmodified PyTorch script as a gang. Runs under ./check --full, and fails there without
torch."""

import json
import os
import re

import e2e
import test_checkpoint_transfer

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "train_torch.py")
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's torch
RESUME = os.path.join(os.path.dirname(SCRIPT), "resume_torch.py")

# Saves its weights, and fails; the next attempt loads what it finds.
TRIAL = """
import os, sys, torch
path = os.path.join(os.environ["GANGWAY_CHECKPOINT_DIR"], "weights.pt")
if os.path.exists(path):
    print("trial", sys.argv[1], "resumes from", int(torch.load(path)[0]))
    sys.exit(0)
torch.save(torch.tensor([float(sys.argv[1])]), path)
sys.exit(3)
"""


class Torch(e2e.Case):
    def setUp(self):
        if not os.environ.get("GANGWAY_FULL"):
            self.skipTest("./check --full runs this")
        super().setUp()

    def test_torch_gang_of_two_trains_with_equal_weights(self):
        done = self.gangway("dispatch", "-n", "2", "--", PYTHON, SCRIPT, timeout_s=180)
        pattern = r"rank (\d) of 2 local (\d) loss ([\d.]+) same (\w+)"
        lines = sorted(re.findall(pattern, done.stdout))
        self.assertEqual([line[0] for line in lines], ["0", "1"], done.stdout + done.stderr)
        self.assertEqual([line[1] for line in lines], ["0", "1"])
        for line in lines:
            self.assertLess(float(line[2]), 0.01)
            self.assertEqual(line[3], "True")


class Resumed(test_checkpoint_transfer.Machines):
    """A script whose rank 0 saves and whose ranks all load, on two hosts with folders of their
    own."""

    def setUp(self):
        if not os.environ.get("GANGWAY_FULL"):
            self.skipTest("./check --full runs this")
        super().setUp()

    def test_torch_gang_resumes_on_two_hosts_after_restarts(self):
        for name in "one", "two":
            self.worker(name, 1)
        self.wait_workers(2)
        lines = e2e.Lines(self.fifo())
        self.addCleanup(lines.close)
        gang = self.start(e2e.BINARY, "dispatch", "-n", "2", "--nodes", "2", "--per-node", "1",
                          "--env", f"FIFO={lines.path}", "--env", "STAYS=2", "--checkpoint-dir",
                          "out", "--", PYTHON, RESUME)
        for _ in range(2):
            self.assertEqual(sorted(lines.next(120) for _ in range(2)), ["0", "1"])
            self.gangway("restart", "1")
        self.assertEqual(gang.wait(180), 0, gang.text)
        for rank in 0, 1:
            self.assertIn(f"rank {rank} of 2 starts at epoch 4", gang.text)
            self.assertIn(f"rank {rank} ends at epoch 6 same True", gang.text)
        self.assertTrue(os.path.exists(os.path.join(self.dir, "out", "checkpoint.pt")))

    def test_torch_trials_resume_from_their_own_weights(self):
        """Twelve trials are one job, and none resumes from another trial's weights."""
        self.worker("one", 3)
        self.wait_workers(1)
        trial = [PYTHON, "-c", TRIAL]
        tasks = [{"argv": trial + [str(i)], "options": {"retries": 1}} for i in range(12)]
        done = self.gangway("submit", "--from-json", self.write("trials", json.dumps(tasks)),
                            timeout_s=180)
        self.assertEqual(sorted(re.findall(r"trial (\d+) resumes from (\d+)", done.stdout)),
                         sorted((str(i), str(i)) for i in range(12)))


if __name__ == "__main__":
    e2e.main()
