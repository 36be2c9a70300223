#!/usr/bin/env python3
"""Trains a small model of names: which letter follows the letters before it. Standard library only.

    python3 train.py --lr 0.5 --context 2                 trains, prints a line an epoch
    python3 train.py --generate 10 --folder FOLDER          makes up names

As a trial of `gangway sweep` it reports the loss of each epoch, ends when it is told to, and
continues from the checkpoint that an earlier start of the same trial has left."""
import argparse
import gzip
import json
import math
import os
import random
import socket

LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # "." begins and ends a name
MAX = 12


def read_names(path):
    """The names in a file, one a line; without a file, names made up of syllables."""
    if path:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            names = {line.strip().lower() for line in file}
        names = sorted(name for name in names
                       if name and len(name) <= MAX and set(name) <= set(LETTERS[1:]))
        return names[::len(names) // 4000 + 1]
    dice = random.Random(1)
    syllables = [c + v for c in "bdfklmnprst" for v in "aeiou"]
    return sorted({"".join(dice.choices(syllables, k=dice.choice((2, 2, 3)))) for _ in range(1500)})


def samples_of(names, context):
    """(the letters before, the next letter) for each place of each name, as numbers."""
    for name in names:
        letters = [0] * context + [LETTERS.index(letter) for letter in name] + [0]
        for i in range(context, len(letters)):
            yield letters[i - context:i], letters[i]


class Model:
    """Adds up a table for each letter before: logits[next] = sum of table[place][letter][next]."""

    def __init__(self, context):
        size = len(LETTERS)
        self.tables = [[[0.] * size for _ in range(size)] for _ in range(context)]

    def probabilities(self, before, temperature=1.):
        rows = [table[letter] for table, letter in zip(self.tables, before)]
        powers = [math.exp(sum(column) / temperature) for column in zip(*rows)]
        total = sum(powers)
        return rows, [power / total for power in powers]

    def learn(self, before, after, lr, decay):
        """One step of gradient descent."""
        rows, chances = self.probabilities(before)
        for row in rows:
            for letter, chance in enumerate(chances):
                row[letter] -= lr * (chance + decay * row[letter])
            row[after] += lr

    def loss(self, samples):
        """Mean of -log(probability), in nats a letter."""
        return -sum(math.log(max(self.probabilities(before)[1][after], 1e-300))
                    for before, after in samples) / len(samples)

    def make_name(self, dice, temperature=.8):
        name = [0] * len(self.tables)
        while len(name) < MAX + len(self.tables):
            chances = self.probabilities(name[-len(self.tables):], temperature)[1]
            name += dice.choices(range(len(LETTERS)), chances)
            if name[-1] == 0:
                break
        return "".join(LETTERS[letter] for letter in name if letter)


class Reporter:
    """Tells Gangway the loss of each epoch; outside of Gangway it only prints."""

    def __init__(self):
        self.answers = None
        if "GANGWAY_REPORT" in os.environ:
            self.link = socket.socket(socket.AF_UNIX)
            self.link.connect(os.environ["GANGWAY_REPORT"])
            self.answers = self.link.makefile()

    def report(self, epoch, loss):
        """Returns "continue", "pause" or "stop"."""
        print(f"epoch={epoch} loss={loss:.4f}", flush=True)
        if not self.answers:
            return "continue"
        self.link.sendall(json.dumps({"step": epoch, "loss": loss}).encode() + b"\n")
        return json.loads(self.answers.readline()).get("answer", "continue")


def save(folder, model, epoch):
    """Writes under a new name and renames, so that a half-written file never counts."""
    path = os.path.join(folder, "model.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"epoch": epoch, "tables": model.tables}, file)
    os.replace(path + ".new", path)


def load(folder, model):
    """The number of epochs that the model in this folder has seen; 0: there is none."""
    path = os.path.join(folder, "model.json")
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        state = json.load(file)
    model.tables = state["tables"]
    return state["epoch"]


def train(options):
    names = read_names(options.data)
    held_out = list(samples_of(names[::5], options.context))
    training = list(samples_of([name for i, name in enumerate(names) if i % 5],
                               options.context))
    model = Model(options.context)
    folder = options.folder or os.environ.get("GANGWAY_CHECKPOINT_DIR")
    epoch = load(folder, model) if folder else 0
    if epoch:
        print(f"continues after epoch {epoch}", flush=True)
    reporter, answer = Reporter(), "continue"
    if epoch >= options.epochs:  # a copy of a trial that has ended: nothing is left but its value
        reporter.report(epoch, model.loss(held_out))
    while epoch < options.epochs and answer == "continue":
        random.Random(epoch).shuffle(training)
        for before, after in training:
            model.learn(before, after, options.lr, options.decay)
        epoch += 1
        if folder:
            save(folder, model, epoch)
        answer = reporter.report(epoch, model.loss(held_out))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=.1, help="learning rate")
    parser.add_argument("--decay", type=float, default=0, help="weight decay")
    parser.add_argument("--context", type=int, default=2, help="letters before, 1 to 4")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--data", help="a file of names, .gz too (default: made-up names)")
    parser.add_argument("--folder", help="of the model (default: $GANGWAY_CHECKPOINT_DIR)")
    parser.add_argument("--generate", type=int, metavar="N", help="make up N names")
    options = parser.parse_args()
    if options.generate:
        model, dice = Model(1), random.Random(1)
        if not load(options.folder, model):
            parser.error(f"there is no model in {options.folder}")
        for _ in range(options.generate):
            print(model.make_name(dice).capitalize())
    else:
        train(options)


if __name__ == "__main__":
    main()
