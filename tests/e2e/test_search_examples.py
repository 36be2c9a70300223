#!/usr/bin/env python3
"""08_python_sweep and 09_search: the commands that their pages show, and what they promise."""
import os
import re
import sys

import e2e

TRAIN = os.path.join(os.path.dirname(e2e.__file__), "..", "..", "examples", "08_python_sweep",
                     "train.py")
VALLEY = os.path.join(e2e.BUILD, "bin", "valley")


class PythonSweep(e2e.Case):
    def sweep(self, name, *words, trial=()):
        """The trials, as `sweep show` has them."""
        self.write("names", "\n".join(f"{a}{b}{c}a" for a in "bdfklm" for b in "aeiou"
                                      for c in "bdfgklmnprst"))
        self.gangway("sweep", "--name", name, "--param", "lr=log:.005..1", "--minimize", "loss",
                     *words, "--", sys.executable, TRAIN, "--data", "names", "--lr", "{lr}",
                     *trial, timeout_s=100)
        return self.gangway_json("sweep", "show", name)

    def test_bad_trials_end_early_and_the_best_model_is_fetched(self):
        self.up("--slots", "2")
        shown = self.sweep("s", "--param", "context=int:1..4", "--trials", "12", "--asha", "eta=3",
                           trial=["--context", "{context}"])
        trials = shown["trials"]
        self.assertGreaterEqual([trial["state"] for trial in trials].count("pruned"), 4)
        self.assertTrue(any(trial["step"] < 9 for trial in trials))
        best = trials[shown["best"]]
        self.gangway("get", str(best["job"]), "--checkpoint", "-o", "best")
        names = self.run_program(sys.executable, TRAIN, "--generate", "5", "--folder",
                                 "best").stdout.splitlines()
        self.assertEqual(len(names), 5)

    def test_promoted_trials_continue_from_their_checkpoints(self):
        self.up("--slots", "2")
        trials = self.sweep("p", "--trials", "9", "--asha", "eta=3,max=9,promote",
                            "--trial-dirs", "trials")["trials"]
        said = self.gangway("sweep", "show", "p").stdout
        self.assertRegex(said, r"^p: 9 of 9 trials, \d paused, best")
        done = [trial for trial in trials if trial["state"] == "done"]
        self.assertTrue(done)
        for trial in done:
            said = self.gangway("logs", str(trial["job"])).stdout
            self.assertEqual(re.findall(r"after epoch (\d+)|epoch=(\d+)", said)[:2],
                             [("3", ""), ("", "4")])

    def test_population_continues_bad_trials_as_copies_of_good_ones(self):
        """The first copy fails, as if the trial that is copied had removed a file meanwhile."""
        tried = os.path.join(self.dir, "tried")
        self.write("cp", f"#!/bin/sh\nmkdir {tried} 2>/dev/null && exit 1\nexec /bin/cp \"$@\"\n")
        self.env["PATH"] = self.dir + ":" + self.env["PATH"]
        self.up("--slots", "4")
        trials = self.sweep("q", "--trials", "6", "--population", "every=2", "--trial-dirs",
                            "population", trial=["--epochs", "10"])["trials"]
        self.assertTrue(os.path.isdir(tried))
        self.assertEqual([trial["step"] for trial in trials], [10] * 6)
        self.assertGreater(len(self.gangway_json("jobs", "--all")), 6)

    def test_retried_trial_repeats_no_epoch(self):
        said = self.gangway("submit", "--retries", "1", "--", "sh", "-c",
                            f"{sys.executable} {TRAIN} --epochs $((GANGWAY_RESTART_COUNT + 2)); "
                            "[ $GANGWAY_RESTART_COUNT = 1 ]").stdout
        self.assertEqual(re.findall(r"epoch=\d", said), ["epoch=1", "epoch=2", "epoch=3"])


class Search(e2e.Case):
    def test_own_loop_runs_every_trial_as_a_task(self):
        self.up("--slots", "2")
        grid = self.run_program(VALLEY, "--method", "grid").stdout
        self.assertRegex(grid, r"^54 trials, 6 diverged\nbest: trial 48, height 3\.06e-05\n")
        self.assertEqual(len(self.gangway_json("jobs", "--all")), 54)
        self.assertRegex(self.run_program(VALLEY, "--trials", "12").stdout, r"^12 trials, .*\nbest")
        self.assert_idle()


if __name__ == "__main__":
    if not os.path.exists(VALLEY):
        print("the examples were not built")
        sys.exit(77)
    e2e.main()
