#!/usr/bin/env python3
"""03_petnames and 04_petnames_sweep on clusters: small runs of all their features."""
import os
import re
import sys

import e2e

TRAIN = os.path.join(e2e.BUILD, "bin", "petnames")
SWEEP = os.path.join(e2e.BUILD, "bin", "petnames_sweep")


class PetNames(e2e.Case):
    def train(self, *options, rc=0):
        return self.run_program(TRAIN, "--checkpoint", "model", *options, rc=rc)

    def test_petnames_trains_in_a_gang_and_generates_names(self):
        said = self.train("--ranks", "2", "--epochs", "1", "--steps", "3").stdout
        self.assertIn("Names: made up", said)
        self.assertIn("A gang of 2 ranks", said)
        self.assertRegex(said, r"loss \d.*held-out \d.*nats a character.*samples/s.* s left")
        names = self.train("--generate", "7").stdout.splitlines()
        self.assertEqual(len(names), 7)
        said = self.train("--steps", "4", "--resume").stdout
        self.assertRegex(said, "going on from .*model at step 3")

    def test_petnames_reads_a_chosen_csv_column(self):
        rows = "".join(f'"{i}, {i}","{chr(97 + i % 26)}{chr(97 + i // 26)}lla Jr.",Cat\n'
                       for i in range(676))
        data = self.write("names.csv", "Number,Called,Species\n" + rows)
        options = ("--data", data, "--batch", "64", "--steps", "2")
        self.assertIn("676 names", self.train(*options, "--column", "Called").stdout)
        failed = self.train(*options, rc=1)
        self.assertIn('"Number", "Called", "Species"', failed.stderr)

    def test_sweep_reports_failed_cells_and_plots_the_others(self):
        """The rows of failed cells state the reason; the other cells continue and are
        plotted."""
        self.up("--slots", "2")
        done = self.run_program(SWEEP, "--ranks", "1,3", "--batch", "64,900000000", "--lr", ".004",
                                "--samples", "128", "--out", "out", rc=1)
        rows = re.findall(r"^ *\d+ +(\d+) +(\d+) +0\.004 +(.*)", done.stdout, re.M)
        self.assertEqual(len(rows), 4, done.stdout)
        rows = {(ranks, batch): rest for ranks, batch, rest in rows}
        self.assertRegex(rows["1", "64"], r"^\d\.\d+ ")
        self.assertRegex(rows["1", "900000000"], "^failed: .*batch 900000000")
        self.assertRegex(rows["3", "64"], "^failed: a gang of 3 .*2 slots")
        self.assertRegex(rows["3", "900000000"], "^failed: a gang of 3 .*2 slots")
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "out"))),
                         ["loss-epoch.svg", "loss-time.svg", "sweep.csv"])


if __name__ == "__main__":
    if not os.path.exists(TRAIN):
        print("the examples were not built")
        sys.exit(77)
    e2e.main()
