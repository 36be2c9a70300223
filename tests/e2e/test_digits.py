#!/usr/bin/env python3
"""06_digits: it learns, reads the files of MNIST, refuses bad ones, and continues after a restart.
07_parameter_server: it learns, keeps its bound of staleness, and goes on without a worker."""
import gzip
import os
import re
import signal
import struct
import sys

import e2e

DIGITS = os.path.join(e2e.BUILD, "bin", "digits")
SERVER = os.path.join(e2e.BUILD, "bin", "parameter_server")
MNIST = os.path.join(os.path.dirname(e2e.__file__), *[".."] * 3, "shared", "data")


class Digits(e2e.Case):
    def digits(self, *options, rc=0):
        return self.run_program(DIGITS, *options, rc=rc, timeout_s=200)

    def folder(self, images=(), labels=(), head=b"", zipped=False):
        """MNIST's two files of the test part: images of one brightness."""
        pixels = struct.pack(">IIII", 0x803, len(images), 28, 28)
        pixels += b"".join(bytes([brightness]) * 784 for brightness in images)
        os.makedirs(os.path.join(self.dir, "data"), exist_ok=True)
        for name, data in (("images-idx3", pixels),
                           ("labels-idx1", head or struct.pack(">II", 0x801, len(labels)) +
                            bytes(labels))):
            path = self.write(f"data/t10k-{name}-ubyte" + (".gz" if zipped else ""), "")
            with open(path, "wb") as file:
                file.write(gzip.compress(data) if zipped else data)
        return os.path.join(self.dir, "data")

    @e2e.in_release
    def test_two_ranks_learn_to_read_drawn_digits(self):
        said = self.digits("--ranks", "2", "--epochs", "2").stdout
        self.assertIn("6000 images to train on, 1000 held out (drawn by this program)", said)
        self.assertGreaterEqual(float(re.search(r"([\d.]+)% of the held-out", said)[1]), 98)

    @e2e.in_release
    def test_parameters_of_16_bits_learn_and_continue_after_a_restart(self):
        epoch = r"epoch +2/2 .*(held out: .*right)"
        self.up("--slots", "2")
        for precision in ("bf16", "f16"):
            options = ("--precision", precision, "--epochs", "2")
            said = self.digits(*options).stdout
            self.assertGreaterEqual(float(re.search(r"([\d.]+)% of the held-out", said)[1]), 98)
            gang = self.start(DIGITS, *options)
            gang.wait_output("epoch +1/2")
            self.gangway("restart", str(self.gangway_json("jobs")[0]["id"]))
            self.assertEqual(gang.wait(200), 0, gang.text)
            self.assertRegex(gang.text, r"continues at step \d+")
            self.assertEqual(re.search(epoch, gang.text)[1], re.search(epoch, said)[1])

    @e2e.in_release
    def test_residual_net_learns_with_lars_and_a_plateau(self):
        said = self.digits("--net", "residual", "--optimizer", "lars", "--plateau", "--epochs",
                           "3").stdout
        self.assertGreaterEqual(float(re.search(r"([\d.]+)% of the held-out", said)[1]), 90)

    @e2e.unittest.skipUnless(os.environ.get("GANGWAY_FULL") and os.path.isdir(MNIST),
                             "`./check --full` runs it if the digits of MNIST are there")
    def test_held_out_digits_of_mnist_are_read_right(self):
        for ranks in ("1", "2", "4"):
            said = self.digits("--ranks", ranks, "--data", MNIST).stdout
            self.assertGreaterEqual(float(re.search(r"([\d.]+)% of the held-out", said)[1]), 98)

    def test_files_of_mnist_are_read(self):
        for zipped in (False, True):
            folder = self.folder([0, 255] * 50, [0, 1] * 50, zipped=zipped)
            said = self.digits("--data", folder, "--batch", "10", "--epochs", "3", "--ranks",
                               "1").stdout
            self.assertIn("80 images to train on, 20 held out", said)
            self.assertIn("100.00% of the held-out", said)

    def test_bad_files_and_options_are_refused(self):
        for folder, text in ((lambda: self.folder([1, 2], [0, 10]), "label 1 is 10, at most 9"),
                             (lambda: self.folder([1, 2], [0]), "2 images, .* 1 labels"),
                             (lambda: self.folder([1], head=b"\0\0\x08\x01\0\0\0\1"), "cut off"),
                             (lambda: self.folder([1], head=b"labels, say"), "no idx file"),
                             (lambda: self.folder([1] * 4, [0] * 4), "at least 5 are needed"),
                             (lambda: self.folder([1] * 5, [0] * 5), "take a smaller batch")):
            self.assertRegex(self.digits("--data", folder(), rc=1).stderr, text)
        self.write("data/train-images-idx3-ubyte", "")  # without its labels
        self.assertIn("there is no " + os.path.join(self.dir, "data", "train-labels"),
                      self.digits("--data", os.path.join(self.dir, "data"), rc=1).stderr)
        for options, text in ((["--ranks", "0"], "--ranks 0"), (["--lr", "x"], "--lr x"),
                              (["--data", "nowhere"], "nowhere: No such file"),
                              (["more"], "more is no option")):
            self.assertIn(text, self.digits(*options, rc=2).stderr)
        for options in (["--net", "deep"], ["--optimizer", "lion"], ["--precision", "f8"]):
            self.assertIn(f'"{options[1]}"', self.digits(*options, rc=1).stderr)

    @e2e.in_release
    def test_restarted_gang_continues_from_its_checkpoint(self):
        """Its weights are those of an undisturbed gang: the held-out loss is the same."""
        epoch = r"epoch +3/3 .*(held out: .*right)"
        self.up("--slots", "2")
        options = ("--ranks", "2", "--epochs", "3")
        expected = re.search(epoch, self.digits(*options).stdout)[1]
        gang = self.start(DIGITS, *options)
        gang.wait_output("epoch +1/3")
        self.gangway("restart", "2")
        self.assertEqual(gang.wait(200), 0, gang.text)
        said = self.gangway("logs", "2").stdout
        self.assertRegex(said, r"continues at step \d+")
        self.assertEqual(re.search(epoch, said)[1], expected)

    @e2e.in_release
    def test_gang_shrinks_and_grows_without_a_change_of_the_loss(self):
        """The losses at the end are those of an undisturbed gang: the gang goes on from the
        checkpoint of each epoch, with the same batch and rate, and uses each image once."""
        options = ("--ranks", "4", "--min-ranks", "2", "--batch", "13", "--epochs", "40", "--lr",
                   ".00002", "--data", self.folder([0, 60, 120, 180] * 50, [0, 1, 2, 3] * 50))
        losses = r"epoch 40/40  loss ([\d.]+)  held out: loss ([\d.]+)"
        self.up("--slots", "2")
        second = self.start(e2e.BINARY, "worker", "--dir", self.cluster(), "--name", "second",
                            "--slots", "2")
        expected = re.search(losses, self.digits(*options).stdout).groups()
        gang = self.start(DIGITS, *options)
        gang.wait_output("epoch +2/40")
        second.kill(signal.SIGKILL)
        gang.wait_output(r"continues at step \d+, with 2 ranks")
        self.start(e2e.BINARY, "worker", "--dir", self.cluster(), "--name", "third", "--slots", "2")
        gang.wait_output(r"continues at step \d+, with 4 ranks")
        self.assertEqual(gang.wait(200), 0, gang.text)
        for loss, wanted in zip(re.search(losses, gang.text).groups(), expected):
            self.assertAlmostEqual(float(loss), float(wanted), delta=.0002)


class ParameterServer(e2e.Case):
    def staleness(self, text):
        """{staleness: updates}, and the number of dropped gradients."""
        rows = re.findall(r"^ +(\d+) +(\d+) #+$", text, re.M)
        dropped, = re.findall(r"(\d+) gradients were dropped", text)
        return {int(row[0]): int(row[1]) for row in rows}, int(dropped)

    @e2e.in_release
    def test_trainers_learn_together_without_waiting_for_one_another(self):
        said = self.run_program(SERVER, "--trainers", "3", "--updates", "150", timeout_s=100).stdout
        counts, _ = self.staleness(said)
        self.assertEqual(sum(counts.values()), 150)
        self.assertGreater(max(counts), 0)
        self.assertGreaterEqual(float(re.search(r"([\d.]+)% of the held-out", said)[1]), 95)

    def test_gradients_that_are_too_stale_are_dropped(self):
        counts, dropped = self.staleness(self.run_program(
            SERVER, "--trainers", "3", "--updates", "200", "--staleness", "1", "--batch", "8",
            timeout_s=100).stdout)
        self.assertEqual(sum(counts.values()), 200)
        self.assertLessEqual(max(counts), 1)
        self.assertGreater(dropped, 0)

    def kill_a_worker_without_the_server(self):
        server = self.gangway_json("tasks", str(self.gangway_json("actor", "list")[0]["job"]))[0]
        other = next(worker["name"] for worker in self.gangway_json("worker", "list")
                     if worker["name"] != server["where"])
        pid, = [pid for pid in e2e.pids_marked(self.mark)
                if re.search(f"gangway worker --dir.*--name {other}( |$)", e2e.command_of(pid))]
        os.kill(pid, signal.SIGKILL)

    def test_trainers_go_on_when_a_worker_is_killed(self):
        self.up("--slots", "2", "--workers", "3")
        program = self.start(SERVER, "--trainers", "5", "--updates", "300", "--batch", "8",
                             "--staleness", "4")
        program.wait_output("^ +100 updates")
        self.kill_a_worker_without_the_server()
        self.assertEqual(program.wait(100), 0, program.text)
        counts, _ = self.staleness(program.text)
        self.assertEqual(sum(counts.values()), 300)
        self.assertLessEqual(max(counts), 4)

    @e2e.unittest.skipUnless(os.environ.get("GANGWAY_FULL"), "`./check --full` runs it")
    def test_rate_holds_without_one_of_four_workers(self):
        """At least 0.9 x 3/4 of the updates a second, the restart of what was lost included."""
        self.up("--slots", "2", "--workers", "4")
        program = self.start(SERVER, "--trainers", "7", "--updates", "1200", "--staleness", "14")
        program.wait_output("^ +600 updates")
        self.kill_a_worker_without_the_server()
        self.assertEqual(program.wait(250), 0, program.text)
        seconds = {int(updates): int(updates) / float(rate) for updates, rate in re.findall(
            r"^ +(\d+) updates, ([\d.]+) a second", program.text, re.M)}
        before, after = 500 / (seconds[600] - seconds[100]), 600 / (seconds[1200] - seconds[600])
        counts, _ = self.staleness(program.text)
        print(f"parity parameter server: {before:.1f} updates a second, {after:.1f} without 1 of 4 "
              f"workers, staleness at most {max(counts)} of 14, load {os.getloadavg()[0]:.1f}")
        self.assertGreaterEqual(after, .9 * .75 * before)
        self.assertLessEqual(max(counts), 14)

    def test_wrong_options_are_refused(self):
        for options in (["--trainers", "0"], ["--lr", "-1"], ["--staleness", "x"], ["more"]):
            self.assertIn("--help", self.run_program(SERVER, *options, rc=2).stderr)


if __name__ == "__main__":
    if not os.path.exists(DIGITS):
        print("the examples were not built")
        sys.exit(77)
    e2e.main()
