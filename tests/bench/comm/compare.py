#!/usr/bin/env python3
"""compare.py BUILD [--rounds N] [--skip mpi|gloo]...: measures all-reduce between two ranks on this
machine with Gangway's host backend, MPI and Gloo. The systems run alternately, so that a slow
moment of the machine affects all of them. Prints the medians of the rounds and the ratios. Requires
mpicc and mpiexec (Debian: mpich, libmpich-dev), and torch (python3-torch). A missing system is an
error unless it is skipped."""
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


def find_torch():
    """Returns a Python that has torch: this one, or the system's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import torch"], check=False,
                                                     capture_output=True).returncode == 0:
            return python
    sys.exit("no torch: apt-get install python3-torch, or --skip gloo")


def mpi_lines(folder, state):
    if "mpi" not in state:
        if not shutil.which("mpicc") or not shutil.which("mpiexec"):
            sys.exit("no mpicc or mpiexec: apt-get install mpich libmpich-dev, or --skip mpi")
        state["mpi"] = os.path.join(folder, "mpi")
        subprocess.run(["mpicc", "-O3", "-o", state["mpi"], os.path.join(HERE, "mpi.c")],
                       check=True)
    return lines(["mpiexec", "-n", "2", state["mpi"]])


def gloo_lines(folder, state):
    if "gloo" not in state:
        state["gloo"] = find_torch()
    state["rounds"] = state.get("rounds", 0) + 1
    argv = [state["gloo"], os.path.join(HERE, "gloo.py")]
    meeting = os.path.join(folder, f"gloo-{state['rounds']}")
    with subprocess.Popen(argv + ["1", meeting]) as other:
        try:
            return lines(argv + ["0", meeting])
        finally:
            if other.poll() is None and not os.path.exists(meeting):
                other.kill()


PEERS = {"mpi": mpi_lines, "gloo": gloo_lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip", action="append", choices=sorted(PEERS), default=[])
    options = parser.parse_args()
    peers = [peer for peer in PEERS if peer not in options.skip]
    times, state = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for peer in peers:
                for line in PEERS[peer](folder, state):
                    times.setdefault(line["bytes"], {}).setdefault(peer, []).append(line["us"])
            for line in lines([os.path.join(options.build, "bin", "comm_bench"), "--json"]):
                if line["operation"] == "all_reduce":
                    times.setdefault(line["bytes"], {}).setdefault(line["memory"],
                                                                   []).append(line["us"])
    print(f"{'bytes':>10} {'registered us':>14} {'malloc us':>11}" +
          "".join(f" {peer + ' us':>11} {'registered x':>13} {'malloc x':>9}" for peer in peers))
    for size, by in sorted(times.items()):
        if any(name not in by for name in ["shared", "private"] + peers):
            continue
        us = {name: statistics.median(values) for name, values in by.items()}
        print(f"{size:10d} {us['shared']:14.2f} {us['private']:11.2f}" +
              "".join(f" {us[peer]:11.2f} {us[peer] / us['shared']:13.2f} "
                      f"{us[peer] / us['private']:9.2f}" for peer in peers))


if __name__ == "__main__":
    main()
