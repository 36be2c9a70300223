#!/usr/bin/env python3
"""Tasks that are handed over to who makes their inputs; see graphs/chains.c."""
import os

import e2e

CHAINS = os.path.join(e2e.BUILD, "bin", "chains")
BEHIND = os.path.join(e2e.BUILD, "bin", "behind")


class Chains(e2e.Case):
    def subject(self, name):
        done = self.run_program(CHAINS, name, self.fifo())
        self.assertEqual(done.stdout, f"{name}: well\n")

    def test_chain(self):
        self.subject("chain")

    def test_tree(self):
        self.subject("tree")

    def test_fan(self):
        self.subject("fan")

    def test_failure(self):
        self.subject("failure")

    def test_crash(self):
        self.subject("crash")

    def test_behind_one_that_waits(self):
        """What is behind a task that runs long, in its runner, goes to another."""
        go = self.fifo()
        for _ in range(3):  # whether they are sent behind it is a matter of moments
            self.up("--slots", "2")
            self.assertEqual(self.run_program(BEHIND, go).stdout, "ok\n")
            self.gangway("down")

    def test_large(self):
        self.subject("large")


if __name__ == "__main__":
    e2e.main()
