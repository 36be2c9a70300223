#!/usr/bin/env python3
"""compare.py GANGWAY [--rounds N] [--ranks N]: measures how soon a gang of commands on this machine
has started and finished its first reduction, from the execution of its launcher. The launchers are
a private cluster, a cluster that is already running, and `mpiexec -n`, alternately, so that a slow
moment of the machine affects all of them. Then measures, after one rank of a gang was killed, when
all ranks are dead and when another gang has their slots. Prints medians in milliseconds. Requires
cc, mpicc and mpiexec (Debian: mpich, libmpich-dev)."""
import argparse
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WAITS = """
import os, signal, sys
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("rank", os.environ["RANK"], os.getpid(), flush=True)
while True:
    signal.pause()
"""


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def started_ms(argv, env):
    begin = now()
    out = subprocess.run(argv, env=env, check=True, capture_output=True, text=True,
                         timeout=60).stdout
    return (float(re.search(r"reduced ([0-9.]+)", out).group(1)) - begin) * 1e3


def died_ms(gangway, options, how, env):
    """Times until all ranks are dead, and until the next gang in their slots has reduced."""
    dispatch = [gangway, "dispatch", "-n", str(options.ranks), "--"]
    with subprocess.Popen(dispatch + [sys.executable, "-S", "-c", WAITS, how], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gang:
        pids = [int(re.search(r"rank \d+ (\d+)", gang.stdout.readline()).group(1))
                for _ in range(options.ranks)]
        fds = [os.pidfd_open(pid) for pid in pids]
        with subprocess.Popen(dispatch + [options.rank], env=env, text=True,
                              stdout=subprocess.PIPE) as following:
            while "queued" not in subprocess.run([gangway, "jobs"], env=env, check=True, text=True,
                                                 capture_output=True).stdout:
                pass
            begin = now()
            os.kill(pids[-1], signal.SIGKILL)
            for fd in fds:
                select.select([fd], [], [])
                os.close(fd)
            dead = now()
            free = float(re.search(r"reduced ([0-9.]+)", following.communicate()[0]).group(1))
    return (dead - begin) * 1e3, (free - begin) * 1e3


def say(name, times, of=None):
    median = statistics.median(times)
    ratio = f"  {median / of:5.2f} x mpiexec" if of else ""
    print(f"{name:42} {median:8.1f}  (least {min(times):.1f}, most {max(times):.1f}){ratio}")
    return median


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gangway")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ranks", type=int, default=4)
    options = parser.parse_args()
    gangway = os.path.abspath(options.gangway)
    if not shutil.which("mpicc") or not shutil.which("mpiexec"):
        sys.exit("no mpicc or mpiexec: apt-get install mpich libmpich-dev")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        env = dict(os.environ, HOME=folder, XDG_RUNTIME_DIR=folder, TMPDIR=folder,
                   GANGWAY_BINARY=gangway)
        options.rank, mpi = os.path.join(folder, "rank"), os.path.join(folder, "mpi")
        subprocess.run(["cc", "-O2", "-o", options.rank, os.path.join(HERE, "rank.c")], check=True)
        subprocess.run(["mpicc", "-O2", "-o", mpi, os.path.join(HERE, "mpi.c")], check=True)
        count = str(options.ranks)
        dispatch = [gangway, "dispatch", "-n", count, "--", options.rank]
        times = {"mpiexec": [], "private": [], "up": []}
        up = dict(env, HOME=os.path.join(folder, "up"))
        os.mkdir(up["HOME"], 0o700)
        subprocess.run([gangway, "up", "--slots", count], env=up, check=True, capture_output=True)
        try:
            for _ in range(options.rounds + 1):
                times["mpiexec"].append(started_ms(["mpiexec", "-n", count, mpi], env))
                times["private"].append(started_ms(dispatch, env))
                times["up"].append(started_ms(dispatch, up))
            for name in times:  # the first run of each has cold caches
                del times[name][0]
            mpiexec = say(f"mpiexec -n {count}", times["mpiexec"])
            say("dispatch, private cluster", times["private"], mpiexec)
            say("dispatch, cluster that is up", times["up"], mpiexec)
            for how, text in (("meek", "a rank is killed"), ("deaf", "... and others ignore TERM")):
                died = [died_ms(gangway, options, how, up) for _ in range(options.rounds)]
                say(f"{text}: all are dead", [dead for dead, _ in died])
                say(f"{text}: next gang reduced", [free for _, free in died])
        finally:
            subprocess.run([gangway, "down"], env=up, check=False, capture_output=True)


if __name__ == "__main__":
    main()
