#!/usr/bin/env python3
"""The C API against a real, private cluster of two workers, see graphs/api.c; and what it has
for clusters that are up, see graphs/jobs.c."""
import os

import e2e

API = os.path.join(e2e.BUILD, "bin", "api")
JOBS = os.path.join(e2e.BUILD, "bin", "jobs")
FAKE_NVML = os.path.join(e2e.BUILD, "lib", "libfake_nvml.so")


class Api(e2e.Case):
    def subject(self, name):
        done = self.run_program(API, name, self.fifo())
        self.assertEqual(done.stdout, f"{name}: well\n")

    def test_map(self):
        self.subject("map")

    def test_large(self):
        self.subject("large")

    def test_gang(self):
        self.subject("gang")

    def test_cancel(self):
        self.subject("cancel")

    def test_retry(self):
        self.subject("retry")

    def test_stop(self):
        self.subject("stop")


class Jobs(e2e.Case):
    def subject(self, name):
        self.up("--slots", "2")
        done = self.run_program(JOBS, name, self.fifo())
        self.assertEqual(done.stdout, f"{name}: well\n")

    def test_wait(self):
        self.subject("wait")

    def test_retry(self):
        self.subject("retry")

    def test_gang(self):
        self.subject("gang")

    def test_gpu(self):
        machine = self.write("machine", "gpu GPU-a memory=17179869184\n")
        self.env.update({"GANGWAY_NVML": FAKE_NVML, "FAKE_NVML": machine})
        self.subject("gpu")
        self.assertEqual([gpu["state"] for gpu in self.gangway_json("gpu", "list")], ["drained"])

    def test_metrics(self):
        """The latest of each name is shown of each task, and all of them in a table."""
        self.subject("metrics")
        self.assertIn("accuracy=0.75 loss=0.5 (step 19)", self.gangway("tasks", "metrics").stdout)
        self.assertIn("accuracy=0.75 loss=0.5 (step 19)", self.gangway("jobs").stdout)
        self.assertIn("its latest metrics: accuracy=0.75 loss=0.5 (step 19)",
                      self.gangway("explain", "metrics/1").stdout)
        rows = self.gangway_json("tasks", "metrics", "--results")
        self.assertEqual([row["metrics"] for row in rows], [{"accuracy": 0.75, "loss": 0.5}] * 3)
        table = self.gangway("tasks", "metrics", "--results").stdout.splitlines()
        self.assertRegex(table[0], r"TASK +NAME +STATE +EXIT +TIME +STEP +accuracy +loss +RESULT")
        self.assertRegex(table[3], r"2 +measure +done +0 .* 19 +0.75 +0.5 +-")

    def test_crash(self):
        """It is charged to whom it was, not to those whose results were not told yet."""
        self.subject("crash")
        for index in range(80, 120):
            charged = "signal 6" in self.gangway("events", f"1/{index}").stdout
            self.assertEqual(charged, index == 100, index)

    def test_shutdown(self):
        self.subject("shutdown")
        self.assert_gone()
        self.assertIn("no cluster", self.gangway("status", rc=3).stderr)


if __name__ == "__main__":
    e2e.main()
