#!/usr/bin/env python3
"""The C API on a private cluster of two workers, see graphs/api.c, and its calls for running
clusters, see graphs/jobs.c."""
import os

import e2e

API = os.path.join(e2e.BUILD, "bin", "api")
JOBS = os.path.join(e2e.BUILD, "bin", "jobs")
FAKE_NVML = os.path.join(e2e.BUILD, "lib", "libfake_nvml.so")


class Api(e2e.Case):
    def subject(self, name):
        done = self.run_program(API, name, self.fifo())
        self.assertEqual(done.stdout, f"{name}: well\n")

    def test_map_returns_each_result(self):
        self.subject("map")

    def test_large_values_pass_as_results_and_arguments(self):
        self.subject("large")

    def test_gang_results_pass_to_later_tasks(self):
        self.subject("gang")

    def test_cancel_ends_a_task_and_frees_its_slot(self):
        self.subject("cancel")

    def test_retry_reruns_a_failed_task(self):
        self.subject("retry")

    def test_event_loop_drives_a_client_through_its_descriptor(self):
        self.subject("loop")

    def test_gentle_cancel_stops_all_ranks_at_one_step(self):
        self.subject("stop")


class Jobs(e2e.Case):
    def subject(self, name):
        self.up("--slots", "2")
        done = self.run_program(JOBS, name, self.fifo())
        self.assertEqual(done.stdout, f"{name}: well\n")

    def test_job_wait_by_number_returns_the_exit_code(self):
        self.subject("wait")

    def test_refused_job_does_not_hold_back_the_jobs_submitted_with_it(self):
        self.subject("several")

    def test_job_retry_by_number_reruns_failed_tasks(self):
        self.subject("retry")

    def test_gang_control_by_number_restarts_and_stops(self):
        self.subject("gang")

    def test_listings_have_typed_rows(self):
        machine = self.write("machine", "gpu GPU-a memory=17179869184\n")
        self.env.update({"GANGWAY_NVML": FAKE_NVML, "FAKE_NVML": machine})
        self.subject("listing")

    def test_gpu_can_be_drained_through_the_api(self):
        machine = self.write("machine", "gpu GPU-a memory=17179869184\n")
        self.env.update({"GANGWAY_NVML": FAKE_NVML, "FAKE_NVML": machine})
        self.subject("gpu")
        self.assertEqual([gpu["state"] for gpu in self.gangway_json("gpu", "list")], ["drained"])

    def test_latest_metrics_are_shown_in_every_listing(self):
        """Each task shows the latest value of each metric, and a table shows all of them."""
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

    def test_watcher_gets_reports_while_the_task_runs(self):
        self.subject("history")

    def test_crash_counts_only_for_the_crashing_task(self):
        """The crash counts for the task that crashed, and not for tasks whose results were not
        reported yet."""
        self.subject("crash")
        for index in range(80, 120):
            charged = "signal 6" in self.gangway("events", f"1/{index}").stdout
            self.assertEqual(charged, index == 100, index)

    def test_api_shutdown_ends_the_cluster(self):
        self.subject("shutdown")
        self.assert_gone()
        self.assertIn("no cluster", self.gangway("status", rc=3).stderr)


if __name__ == "__main__":
    e2e.main()
