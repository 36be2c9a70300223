#!/usr/bin/env python3
"""compare.py BUILD [--rounds N]: all-reduce of two ranks on this machine, Gangway's host backend
against MPI, in turns, so that a slow moment of the machine hits both. Prints the medians of the
rounds and how many times faster. Wants mpicc and mpiexec (Debian: mpich, libmpich-dev)."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def lines(argv):
    out = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not shutil.which("mpicc") or not shutil.which("mpiexec"):
        sys.exit("no mpicc or mpiexec: apt-get install mpich libmpich-dev")
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        mpi = os.path.join(folder, "mpi")
        subprocess.run(["mpicc", "-O3", "-o", mpi, os.path.join(HERE, "mpi.c")], check=True)
        for _ in range(options.rounds):
            for line in lines(["mpiexec", "-n", "2", mpi]):
                times.setdefault(line["bytes"], {}).setdefault("mpi", []).append(line["us"])
            for line in lines([os.path.join(options.build, "bin", "comm_bench"), "--json"]):
                if line["operation"] == "all_reduce" and line["bytes"] in times:
                    times[line["bytes"]].setdefault(line["memory"], []).append(line["us"])
    print(f"{'bytes':>10} {'MPI us':>11} {'registered us':>14} {'malloc us':>11} "
          f"{'registered x':>13} {'malloc x':>9}")
    for size, by in sorted(times.items()):
        mpi, shared, private = (statistics.median(by[key]) for key in ("mpi", "shared", "private"))
        print(f"{size:10d} {mpi:11.2f} {shared:14.2f} {private:11.2f} "
              f"{mpi / shared:13.2f} {mpi / private:9.2f}")


if __name__ == "__main__":
    main()
