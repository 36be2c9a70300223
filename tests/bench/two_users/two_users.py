#!/usr/bin/env python3
"""two_users.py [BUILD] [--tries N] [--tasks N] [--microseconds N] [--slots N] [--limit MS]: two
users with equal shares on a live cluster of this machine. One has a million tasks of a millisecond
in the queue; the other submits one task, waits for it, and again. Prints how long these tasks wait
from the submit to their start: alone on the cluster, then beside the million. With --limit, exits
with 1 unless 99% of them start within so many milliseconds beside the million."""
import argparse
import os
import subprocess
import sys
import tempfile

CONFIG = """
accounts = ( { name = "one"; users = ["ada"]; }, { name = "other"; users = ["bob"]; } );
"""


def single(program, tries, env):
    """Sorted waits in milliseconds."""
    out = subprocess.run([program, "single", str(tries)], env=env, check=True, text=True,
                         stdout=subprocess.PIPE, timeout=900).stdout
    return sorted(int(line) / 1e3 for line in out.split())


def say(name, waits):
    p99 = waits[len(waits) * 99 // 100]
    print(f"{name:20} p50 {waits[len(waits) // 2]:7.2f} ms  p99 {p99:7.2f} ms  worst "
          f"{waits[-1]:7.2f} ms  ({len(waits)} tries, load {os.getloadavg()[0]:.1f} on "
          f"{os.cpu_count()} CPUs)", flush=True)
    return p99


def measure(options, gangway, program, env):
    token = {user: subprocess.run([gangway, "token", "create", "--quiet", "--user", user], env=env,
                                  check=True, text=True, capture_output=True).stdout.strip()
             for user in ("ada", "bob")}
    config = os.path.join(env["HOME"], "gangway.conf")
    with open(config, "w", encoding="utf-8") as f:
        f.write(CONFIG)
    with subprocess.Popen([gangway, "scheduler", "--config", config, "--listen", "127.0.0.1",
                           "--workers", "1", "--slots", str(options.slots), "--trust-users"],
                          env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as scheduler:
        try:
            address = next(line.split("listening at ")[1].split(",")[0]
                           for line in scheduler.stdout if "listening at " in line)
            ada, bob = (dict(env, GANGWAY_ADDRESS=address, GANGWAY_TOKEN=token[user])
                        for user in ("ada", "bob"))
            say("alone", single(program, options.tries, bob))
            with subprocess.Popen([program, "many", str(options.tasks), str(options.microseconds)],
                                  env=ada, text=True, stdout=subprocess.PIPE) as million:
                if million.stdout.readline() != "running\n":
                    sys.exit("the tasks do not run")
                p99 = say("beside the million", single(program, options.tries, bob))
                if million.poll() is not None:
                    sys.exit("the tasks ended too soon: give more --tasks")
                million.kill()
        finally:
            scheduler.terminate()
            scheduler.stdout.read()
    return p99


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", nargs="?",
                        default=os.environ.get("GANGWAY_BUILD", "build/release"))
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=1000000)
    parser.add_argument("--microseconds", type=int, default=900)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--limit", type=float, default=float("inf"))
    options = parser.parse_args()
    gangway, program = (os.path.join(os.path.abspath(options.build), "bin", name)
                        for name in ("gangway", "two_users"))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        env = dict(os.environ, HOME=folder, XDG_RUNTIME_DIR=folder, TMPDIR=folder,
                   GANGWAY_BINARY=gangway)
        if measure(options, gangway, program, env) >= options.limit:
            sys.exit(f"99% did not start within {options.limit} ms")


if __name__ == "__main__":
    main()
