#!/usr/bin/env python3
"""Records petnames.csv and digits.csv: 300 configurations of a small network each, a full grid of
learning rate, width and batch, and the validation loss after each of 16 epochs. Needs NumPy.

    record_tables.py petnames seattle_pet_names.txt.gz > petnames.csv
    record_tables.py digits t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz > digits.csv

One hidden layer of tanh, softmax, plain stochastic gradient descent. petnames: the next letter of a
pet's name from the three before it, 3,000 names. digits: MNIST's test images at half the width,
3,000 of them. 750 names and 1,000 images validate. Minutes each; the seeds are fixed."""
import gzip
import itertools
import sys

import numpy

EPOCHS, LOSS_MAX = 16, 9.999  # a loss that is larger, or none, is recorded as the largest
RATES = [round(10**(-2.5 + i / 3), 5) for i in range(10)]
WIDTHS = [4, 8, 16, 32, 64, 128]
BATCHES = [8, 16, 32, 64, 128]


def read_names(path):
    names = gzip.open(path, "rt").read().lower().split("\n")
    names = sorted({name for name in names if name.isascii() and name.isalpha()})
    order = numpy.random.default_rng(0).permutation(len(names))[:3750]
    rows = [[(0, 0, 0) + tuple(ord(c) - 96 for c in names[i]) + (0,)] for i in order]

    def examples(part):
        windows = [letters[k:k + 4] for (letters,) in part for k in range(len(letters) - 3)]
        windows = numpy.array(windows)
        inputs = numpy.zeros((len(windows), 81), numpy.float32)
        for k in range(3):
            inputs[numpy.arange(len(windows)), 27 * k + windows[:, k]] = 1
        return inputs, windows[:, 3]

    return examples(rows[:3000]) + examples(rows[3000:]) + (27,)


def read_digits(images, labels):
    pixels = numpy.frombuffer(gzip.open(images).read()[16:], numpy.uint8)
    pixels = pixels.reshape(-1, 14, 2, 14, 2).mean((2, 4)).reshape(-1, 196)
    pixels = (pixels / 255 - .13).astype(numpy.float32)
    labels = numpy.frombuffer(gzip.open(labels).read()[8:], numpy.uint8).astype(int)
    return pixels[:3000], labels[:3000], pixels[3000:4000], labels[3000:4000], 10


class Network:
    def __init__(self, inputs, width, outputs, rng):
        draw = lambda rows, columns: (rng.standard_normal((rows, columns)) /
                                      rows**.5).astype(numpy.float32)
        self.first, self.second = draw(inputs, width), draw(width, outputs)
        self.biases = [numpy.zeros(size, numpy.float32) for size in (width, outputs)]

    def forward(self, x):
        hidden = numpy.tanh(x @ self.first + self.biases[0])
        scores = hidden @ self.second + self.biases[1]
        powers = numpy.exp(scores - scores.max(1, keepdims=True))
        return hidden, powers / powers.sum(1, keepdims=True)

    def step(self, x, y, rate):
        hidden, error = self.forward(x)
        error[numpy.arange(len(y)), y] -= 1
        error *= rate / len(y)
        back = error @ self.second.T * (1 - hidden * hidden)
        self.second -= hidden.T @ error
        self.biases[1] -= error.sum(0)
        self.first -= x.T @ back
        self.biases[0] -= back.sum(0)

    def loss(self, x, y):
        chosen = self.forward(x)[1][numpy.arange(len(y)), y]
        return float(-numpy.log(numpy.maximum(chosen, 1e-30)).mean())


def train(data, rate, width, batch):
    x, y, x_valid, y_valid, outputs = data
    rng = numpy.random.default_rng(1)
    network = Network(x.shape[1], width, outputs, rng)
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for at in range(0, len(x), batch):
            part = order[at:at + batch]
            network.step(x[part], y[part], rate)
        loss = network.loss(x_valid, y_valid)
        yield loss if loss <= LOSS_MAX else LOSS_MAX


def main():
    data = {"petnames": read_names, "digits": read_digits}[sys.argv[1]](*sys.argv[2:])
    print("rate,width,batch," + ",".join(f"epoch{i + 1}" for i in range(EPOCHS)))
    for rate, width, batch in itertools.product(RATES, WIDTHS, BATCHES):
        losses = ",".join(f"{loss:.4g}" for loss in train(data, rate, width, batch))
        print(f"{rate:g},{width},{batch},{losses}", flush=True)


if __name__ == "__main__":
    main()
