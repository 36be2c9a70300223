#!/usr/bin/env python3
"""03_petnames and 04_petnames_sweep on clusters: small runs of all their features."""
import os
import re
import signal
import string
import sys

import e2e

TRAIN = os.path.join(e2e.BUILD, "bin", "petnames")
SWEEP = os.path.join(e2e.BUILD, "bin", "petnames_sweep")
NAMES = [f"{first}{second}lla Jr." for first in string.ascii_lowercase
         for second in string.ascii_lowercase]


class PetNames(e2e.Case):
    def train(self, *options, rc=0):
        return self.run_program(TRAIN, "--checkpoint", "model", *options, rc=rc)

    def test_petnames_trains_in_a_gang_and_generates_names(self):
        said = self.train("--ranks", "2", "--epochs", "1", "--steps", "3").stdout
        self.assertIn("Names: made up", said)
        self.assertIn("A gang of 2 ranks", said)
        self.assertRegex(said, r"loss=\d.*held_out=\d.*nats a character.*samples/s.* s left")
        names = self.train("--generate", "7").stdout.splitlines()
        self.assertEqual(len(names), 7)
        said = self.train("--steps", "4", "--resume").stdout
        self.assertRegex(said, "going on from .*model at step 3")

    @e2e.in_release
    def test_gang_shrinks_and_grows_without_a_change_of_the_loss(self):
        """The loss at the end is that of an undisturbed gang of another size with the same batch:
        the gang goes on from the checkpoint of each epoch, and reads each sample once."""
        options = ("--epochs", "150", "--lr", ".002", "--data",
                   self.write("names.txt", "\n".join(NAMES[:60])))
        loss = r"Held-out loss ([\d.]+) nats"
        self.up("--slots", "2")
        expected = re.search(loss, self.train("--ranks", "2", "--batch", "60", *options).stdout)[1]
        second = self.start(e2e.BINARY, "worker", "--dir", self.cluster(), "--name", "second",
                            "--slots", "2")
        gang = self.start(TRAIN, "--ranks", "4", "--min-ranks", "2", "--batch", "30", *options)
        gang.wait_output("epoch=3 ")
        second.kill(signal.SIGKILL)
        gang.wait_output(r"going on from .* with 2 ranks")
        self.start(e2e.BINARY, "worker", "--dir", self.cluster(), "--name", "third", "--slots", "2")
        gang.wait_output(r"going on from .* with 4 ranks")
        self.assertEqual(gang.wait(100), 0, gang.text)
        self.assertAlmostEqual(float(re.search(loss, gang.text)[1]), float(expected), delta=.001)

    def test_petnames_reads_a_chosen_csv_column(self):
        rows = "".join(f'"{i}, {i}","{name}",Cat\n' for i, name in enumerate(NAMES))
        data = self.write("names.csv", "Number,Called,Species\n" + rows)
        options = ("--data", data, "--batch", "64", "--steps", "2")
        self.assertIn("676 names", self.train(*options, "--column", "Called").stdout)
        failed = self.train(*options, rc=1)
        self.assertIn('"Number", "Called", "Species"', failed.stderr)

    def sweep(self, *options, **expected):
        data = self.write("names.txt", "\n".join(NAMES))
        done = self.run_program(SWEEP, "--data", data, "--epochs", "2", "--out", "out", *options,
                                **expected)
        rows = re.findall(r"^ *\d+ +(\d+) +(\d+) +(\S+) +(.*)", done.stdout, re.M)
        return done, {(ranks, batch, lr): rest for ranks, batch, lr, rest in rows}

    def test_sweep_runs_gangs_of_different_sizes_and_keeps_the_best_model(self):
        """Also of failed trials the table has a row with the reason. The same study again runs no
        trial again."""
        self.up("--slots", "2")
        words = ("--ranks", "1,2", "--batch", "64,900000000", "--lr", ".001,.016")
        done, rows = self.sweep(*words, rc=1)
        self.assertEqual(len(rows), 8, done.stdout)
        losses = {key: float(rest.split()[0]) for key, rest in rows.items() if key[1] == "64"}
        for key in losses.keys() ^ rows.keys():
            self.assertRegex(rows[key], "^failed: .*batch (9|18)00000000")
        best = rows[min(losses, key=losses.get)].split()[-1]
        self.assertIn(f"Best: trial {best}, ", done.stdout)
        self.assertIn("values-by-step.svg", os.listdir(os.path.join(self.dir, "out")))
        jobs = self.gangway_json("jobs", "--all")
        self.assertEqual(self.sweep(*words, rc=1)[1].keys(), rows.keys())
        self.assertEqual(len(self.gangway_json("jobs", "--all")), len(jobs))
        self.assertIn("petnames-demo-2", self.gangway("sweep", "list").stdout)
        get, generate = re.findall("^    ([gp].*)", done.stdout, re.M)
        self.gangway(*get.split()[1:])
        names = self.run_program(TRAIN, *generate.split()[1:]).stdout
        self.assertEqual(len(names.splitlines()), 12)

    def test_sweep_keeps_the_best_model_of_a_private_cluster(self):
        done, rows = self.sweep("--ranks", "1", "--batch", "64", "--lr", ".001,.016")
        self.assertEqual(len(rows), 2, done.stdout)
        generate, = re.findall("^    ([gp].*)", done.stdout, re.M)
        self.run_program(TRAIN, *generate.split()[1:])

    def test_sweep_says_why_its_gangs_do_not_fit(self):
        self.up("--slots", "2")
        done, _ = self.sweep("--ranks", "3", rc=1)
        self.assertEqual(len(re.findall("failed: a gang of 3 .*2 slots", done.stdout)), 9)


if __name__ == "__main__":
    if not os.path.exists(TRAIN):
        print("the examples were not built")
        sys.exit(77)
    e2e.main()
