#!/usr/bin/env python3
"""Compares sweeps of trials that do nothing: trials a second of gw_sweep_run in a private cluster
with 2 slots, of the same in a cluster that keeps each trial on disk ("durable"), of Optuna with 2
processes, and of Ray Tune, in turns. Then the share of the time in which 2 slots are busy with
trials of 50 ms.

    tests/bench/sweep/compare.py                     minutes
    tests/bench/sweep/compare.py --rounds 1 --trials 200 --busy-trials 200

The time of a private cluster includes its start; Optuna's, of its processes; Ray's does not
include the start of Ray. Optuna writes a journal that is on disk (fsync) after each trial, as the
durable trials are. A private cluster has none, and Ray Tune saves its state now and then.

Ends with 1 if a median of Gangway is less than 5 times Optuna's or 50 times Ray Tune's, or slots
are busy for less than 97%. Needs Optuna and Ray: without ones that can be imported, a virtual
environment in the cache folder gets them from PyPI."""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "search"))

import compare as search  # noqa: E402

OPTUNA_BAR, RAY_BAR, BUSY_BAR = 5, 50, .97


def figures(*argv, env=None):
    ran = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.PIPE, timeout=900, env=env)
    if ran.returncode:
        sys.exit(f"{argv[0]} {argv[1]} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
    return ran.stdout


def gangway(options, *words, env=None):
    lines = figures(options.program, *words, env=env).splitlines()
    return {name: float(figure) for name, figure in (line.split() for line in lines)}


def durable(options):
    """The same in a cluster of its own, which has a journal."""
    command = os.path.join(os.path.dirname(options.program), "gangway")
    with tempfile.TemporaryDirectory() as home:
        env = {name: text for name, text in os.environ.items()
               if name not in ("GANGWAY_ADDRESS", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")}
        env["HOME"] = home
        figures(command, "up", "--slots", 2, env=env)
        try:
            return gangway(options, options.trials, 0, "random", "durable", env=env)
        finally:
            figures(command, "down", env=env)


def peer(file, *words):
    return float(figures(sys.executable, os.path.join(HERE, file), *words).split()[-1])


def compare(options):
    """Trials a second of each system, by name, one figure a round."""
    found = {}
    for _ in range(options.rounds):
        for method in "random", "tpe":
            found.setdefault(("Gangway", method), []).append(
                gangway(options, options.trials, 0, method)["trials_per_second"])
            found.setdefault(("Optuna", method), []).append(
                peer("peer_optuna.py", options.trials, method))
        found.setdefault(("durable", "random"), []).append(durable(options)["trials_per_second"])
        found.setdefault(("Ray Tune", "random"), []).append(
            peer("peer_ray.py", options.ray_trials))
    return {name: statistics.median(figure) for name, figure in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--rounds", type=int, default=3)
    add("--trials", type=int, default=1000, help="of Gangway and of Optuna")
    add("--ray-trials", type=int, default=30)
    add("--busy-trials", type=int, default=1000, help="of 50 ms")
    add("--program", help="the program sweep_bench",
        default=os.path.join(os.environ.get("GANGWAY_BUILD") or
                             os.path.join(search.ROOT, "build", "release"), "bin", "sweep_bench"))
    options = parser.parse_args()
    search.import_optuna("ray[tune]")
    rates = compare(options)
    for (name, method), rate in rates.items():
        times = rates["Gangway", method] / rate
        print(f"{name:10}{method:8}{rate:10.1f} trials/s{times:10.1f} x", flush=True)
    busy = statistics.median(gangway(options, options.busy_trials, 50, "random")["busy"]
                             for _ in range(options.rounds))
    print(f"2 slots, {options.busy_trials} trials of 50 ms: busy {busy:.1%}")
    return (any(rates["Gangway", method] < OPTUNA_BAR * rates["Optuna", method]
                for method in ("random", "tpe")) or
            rates["durable", "random"] < OPTUNA_BAR * rates["Optuna", "random"] or
            rates["Gangway", "random"] < RAY_BAR * rates["Ray Tune", "random"] or busy < BUSY_BAR)


if __name__ == "__main__":
    sys.exit(main())
