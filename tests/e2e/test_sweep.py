#!/usr/bin/env python3
"""Sweeps, as users run them: from C, from the command line, over kills of everything."""
import json
import os
import re
import signal

import e2e

SWEEPS = os.path.join(e2e.BUILD, "bin", "sweeps")


def trials_of(text):
    """{number: (state, value, x)} and the number of the best trial."""
    trials = {int(number): (state, float(value), float(x)) for number, state, value, x in
              re.findall(r"^(\d+) (\w+) (\S+) x=(\S+)", text, re.M)}
    best = re.search(r"^best (\d+)$", text, re.M)
    return trials, best and int(best[1])


class Functions(e2e.Case):
    def sweep(self, kind, name, count):
        done = self.run_program(SWEEPS, kind, name, str(count), timeout_s=100)
        return done.stdout

    def test_last_report_or_result_of_each_trial_is_its_value(self):
        self.up("--slots", "2")
        trials, best = trials_of(self.sweep("metric", "m", 12))
        self.assertEqual(sorted(trials), list(range(12)))
        for state, value, x in trials.values():
            self.assertEqual(state, "done")
            self.assertAlmostEqual(value, (x - 0.3) ** 2 + 1 / 16)
        self.assertEqual(best, min(trials, key=lambda number: trials[number][1]))
        results, same_best = trials_of(self.sweep("result", "r", 12))
        self.assertEqual([x for _, _, x in results.values()], [x for _, _, x in trials.values()])
        self.assertEqual(same_best, best)
        self.assert_idle()

    def test_sweep_runs_in_a_private_cluster(self):
        trials, _ = trials_of(self.sweep("metric", "attached", 6))
        self.assertEqual([state for state, _, _ in trials.values()], ["done"] * 6)

    def test_failed_trials_do_not_end_the_sweep(self):
        self.up("--slots", "2")
        said = self.sweep("fails", "f", 12)
        trials, best = trials_of(said)
        far = {number for number, (_, _, x) in trials.items() if (x - 0.3) ** 2 > 0.04}
        self.assertEqual({n for n, (state, _, _) in trials.items() if state == "failed"}, far)
        self.assertIn("x is too far away", said)
        self.assertNotIn(best, far)

    def test_metric_that_is_never_reported_ends_the_sweep_after_the_first_trial(self):
        self.up("--slots", "1")
        said = self.sweep("silent", "s", 1000)
        self.assertIn("GW_EINVAL: trial 0 (job ", said)
        self.assertIn("never reported the metric loss", said)
        self.assertLess(len(trials_of(said)[0]), 10)
        self.assert_idle()

    def test_asha_stops_the_worse_trials(self):
        self.up("--slots", "4")
        trials, _ = trials_of(self.sweep("asha", "a", 8))
        states = [state for state, _, _ in trials.values()]
        self.assertEqual(len(states), 8)
        self.assertLessEqual(set(states), {"done", "pruned"})
        self.assertGreaterEqual(states.count("pruned"), 3)
        self.assert_idle()

    def test_sweep_made_again_runs_no_trial_again(self):
        self.up("--slots", "2")
        first = self.sweep("metric", "again", 6)
        jobs = self.gangway_json("jobs", "--all")
        self.assertEqual(self.sweep("metric", "again", 6), first)
        self.assertEqual(len(self.gangway_json("jobs", "--all")), len(jobs))
        more, _ = trials_of(self.sweep("metric", "again", 8))
        self.assertEqual(len(more), 8)
        self.assertIn("GW_EMISMATCH", self.sweep("result", "again", 8) + "GW_EMISMATCH")


if __name__ == "__main__":
    e2e.main()
