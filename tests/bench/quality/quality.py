#!/usr/bin/env python3
"""Computes makespans of the RSDS graphs and of random graphs in virtual time. Compares Gangway's
scheduler with random, round-robin, HEFT and b-level (the last two with full knowledge), and with
the best of them.

    tests/bench/quality/quality.py                              as published; minutes
    tests/bench/quality/quality.py --scale .02 --workers 4,64   quick

Exits with 1 if Gangway takes on average longer than --limit times the best."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "peers"))

import graphs  # noqa: E402

POLICIES = ("gangway", "heft", "b_level", "round_robin", "random")


def random_timed(tasks, seed):
    """Returns the random graph, with durations around 2 ms and sizes around 64 KiB."""
    graph = graphs.make("random", tasks, seed=seed)
    rng = graphs.random.Random(seed)
    for row in range(graph.count):
        graph.duration_ns[row] = int(min(4e9, rng.expovariate(1 / 2e6)))
        graph.size[row] = 8 + int(rng.expovariate(1 / 65536))
    return graph


def all_graphs(options):
    for name in graphs.RSDS:
        yield graphs.make(f"rsds:{name}", 1, options.scale, options.seed)
    for i in range(3):
        graph = random_timed(max(100, int(100000 * options.scale)), options.seed + i)
        graph.name = f"random {i + 1}"
        yield graph


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--scale", type=float, default=1.0, help="of the graphs (1: as published)")
    add("--workers", default="4,16,64,256,1024", help="numbers of workers, with commas")
    add("--limit", type=float, default=1.10, help="the mean ratio to the best that is allowed")
    add("--seed", type=int, default=1)
    add("--program", help="the program quality",
        default=os.path.join(os.environ.get("GANGWAY_BUILD") or
                             os.path.join(ROOT, "build", "release"), "bin", "quality"))
    options = parser.parse_args()
    if not 0 < options.scale <= 10:
        parser.error("--scale is over 0 and at most 10")
    return options


def main():
    options, ratios = parse(), {name: [] for name in POLICIES}
    widths = f"{{:<20}} {{:>8}} {{:>10}}{' {:>11}' * len(POLICIES)}"
    print(widths.format("graph", "workers", "best", *POLICIES))
    with tempfile.TemporaryDirectory(prefix="gangway-quality-") as folder:
        for graph in all_graphs(options):
            path = os.path.join(folder, "graph")
            graph.write(path)
            ran = subprocess.run([options.program, path, *options.workers.split(",")],
                                 stdout=subprocess.PIPE, text=True)
            if ran.returncode:
                sys.exit(f"quality: {options.program} failed (exit code {ran.returncode})")
            for line in ran.stdout.splitlines():
                row = json.loads(line)
                best = min(row[name] for name in POLICIES)
                for name in POLICIES:
                    ratios[name].append(row[name] / best)
                print(widths.format(graph.name.removeprefix("rsds:"), row["workers"],
                                    f"{best:.4g} s", *(f"{row[name] / best:.3f}"
                                                       for name in POLICIES)), flush=True)
    means = {name: statistics.mean(values) for name, values in ratios.items()}
    print(widths.format("mean", "", "", *(f"{means[name]:.3f}" for name in POLICIES)))
    if means["gangway"] > options.limit:
        sys.exit(f"quality: gangway takes {means['gangway']:.3f} times the best on average, "
                 f"more than {options.limit}")


if __name__ == "__main__":
    main()
