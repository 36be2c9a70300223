#!/usr/bin/env python3
"""What PyTorch takes for the work of other parts, as lines `figure NAME VALUE`. Ends with 77 if
there is no PyTorch for the device.

    peer_torch.py [--device cuda|cpu] device                      only looks whether there is one
    peer_torch.py [--device cuda|cpu] optimizers --parameters N   a step of fused optimizers
    peer_torch.py [--device cuda|cpu] petnames --batch N          training, eager and compiled
    peer_torch.py [--device cuda|cpu] digits --batch N            the same

The networks are those of examples/03_petnames --size article and of examples/06_digits."""
import argparse
import statistics
import sys
import time


def stopwatch(torch, device):
    """A function that returns the median time of a call, in us, by the events of a GPU."""
    def host(work):
        began = time.perf_counter()
        work()
        return (time.perf_counter() - began) * 1e6

    def gpu(work):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3

    def median(work, repeats=11, warm_up=3):
        for _ in range(warm_up):
            work()
        return statistics.median((gpu if device == "cuda" else host)(work) for _ in range(repeats))
    return median


def optimizers(torch, device, options):
    median_us = stopwatch(torch, device)
    fused = {"fused": True} if device == "cuda" else {}  # old versions have it for GPUs only
    makers = {
        "momentum": lambda p: torch.optim.SGD(p, lr=.1, momentum=.9, **fused),
        "adam": lambda p: torch.optim.Adam(p, lr=.01, **fused),
        "adamw": lambda p: torch.optim.AdamW(p, lr=.01, **fused),
    }
    for name, make in makers.items():
        parameter = torch.nn.Parameter(torch.zeros(options.parameters, device=device))
        parameter.grad = torch.zeros_like(parameter)
        print(f"figure torch_{name}_us {median_us(make([parameter]).step):.1f}", flush=True)


def pet_names(torch, device, batch):
    """(network, inputs, labels): contexts of 10 of 31 symbols, 30 labels."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = torch.nn.LSTM(31, 128, num_layers=4, batch_first=True)
            self.dense = torch.nn.Linear(128, 30)

        def forward(self, x):
            return self.dense(self.lstm(x)[0][:, -1])

    symbols = torch.randint(31, (batch, 10), device=device)
    inputs = torch.nn.functional.one_hot(symbols, 31).float()
    return Net().to(device), inputs, torch.randint(30, (batch,), device=device)


def digits(torch, device, batch):
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 10)).to(device)
    return (net, torch.rand(batch, 1, 28, 28, device=device),
            torch.randint(10, (batch,), device=device))


def train(make, optimizer):
    """Times steps of training on one batch, which is in the memory of the device already."""
    def run(torch, device, options):
        median_us = stopwatch(torch, device)
        net, inputs, labels = make(torch, device, options.batch)
        steps = optimizer(torch.optim, net.parameters())
        # for a CPU it would need a compiler and minutes
        for how in ("eager", "compiled") if device == "cuda" else ("eager",):
            forward = net if how == "eager" else torch.compile(net)

            def step():
                steps.zero_grad()
                torch.nn.functional.cross_entropy(forward(inputs), labels).backward()
                steps.step()
            print(f"figure torch_{how}_samples_per_s {options.batch / median_us(step) * 1e6:.0f}",
                  flush=True)
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("device").set_defaults(run=lambda *_: 0)
    verb = verbs.add_parser("optimizers")
    verb.add_argument("--parameters", type=int, required=True)
    verb.set_defaults(run=optimizers)
    for name, run in (("petnames", train(pet_names, lambda o, p: o.Adam(p, lr=.006))),
                      ("digits", train(digits, lambda o, p: o.SGD(p, lr=.01, momentum=.9)))):
        verb = verbs.add_parser(name)
        verb.add_argument("--batch", type=int, required=True)
        verb.set_defaults(run=run)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("no PyTorch")
        return 77
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no PyTorch that sees a GPU")
        return 77
    print(f"figure torch {torch.__version__}")
    return options.run(torch, options.device, options)


if __name__ == "__main__":
    sys.exit(main())
