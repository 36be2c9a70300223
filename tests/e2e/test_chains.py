#!/usr/bin/env python3
"""Tasks that are pipelined to the worker of their inputs; see graphs/chains.c."""
import os

import e2e

CHAINS = os.path.join(e2e.BUILD, "bin", "chains")
BEHIND = os.path.join(e2e.BUILD, "bin", "behind")


class Chains(e2e.Case):
    def subject(self, name):
        done = self.run_program(CHAINS, name, self.fifo())
        self.assertEqual(done.stdout, f"{name}: well\n")

    def test_chain_of_short_tasks_returns_its_sum(self):
        self.subject("chain")

    def test_tree_of_short_tasks_returns_its_sum(self):
        self.subject("tree")

    def test_waves_of_fanned_out_tasks_return_their_sums(self):
        self.subject("fan")

    def test_failure_in_a_chain_fails_its_successors(self):
        self.subject("failure")

    def test_runner_crashes_in_a_chain_lose_no_result(self):
        self.subject("crash")

    def test_task_behind_a_long_task_moves_to_another_runner(self):
        """A task that is queued behind a long task in its runner goes to another runner."""
        go = self.fifo()
        for _ in range(3):  # whether they are queued behind it depends on the timing
            self.up("--slots", "2")
            self.assertEqual(self.run_program(BEHIND, go).stdout, "ok\n")
            self.gangway("down")

    def test_large_results_pass_along_a_chain(self):
        self.subject("large")


if __name__ == "__main__":
    e2e.main()
