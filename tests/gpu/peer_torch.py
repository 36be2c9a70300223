#!/usr/bin/env python3
"""What PyTorch takes for the work of other parts, as lines `figure NAME VALUE`. Ends with 77 if
there is no PyTorch for the device.

    peer_torch.py [--device cuda|cpu] device                      only looks whether there is one
    peer_torch.py [--device cuda|cpu] optimizers --parameters N   a step of fused optimizers"""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("device").set_defaults(run=lambda *_: 0)
    verb = verbs.add_parser("optimizers")
    verb.add_argument("--parameters", type=int, required=True)
    verb.set_defaults(run=optimizers)
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
