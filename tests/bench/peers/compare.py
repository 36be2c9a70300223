#!/usr/bin/env python3
"""Runs the same task graphs on Gangway and on other systems (peers), alternately, and prints the
ratios.

    tests/bench/peers/compare.py                            the simple graphs, 10,000 tasks each
    tests/bench/peers/compare.py --graphs rsds --scale .05  those of the RSDS paper, smaller
    tests/bench/peers/compare.py --graphs bag,tb:fft --tasks 100000 --skip ray
    tests/bench/peers/compare.py --kill --graphs bag        a worker process is killed in each run

Each run starts a new cluster with --workers worker processes of one thread (HyperQueue: one worker
with this many cores) and warms it up; this is not timed. The time is from before the graph is
submitted until the values of all sinks have arrived and were compared. With two or more workers, at
least two must have run tasks before. The systems run alternately, --repeats times, and the medians
are shown. A missing peer is an error unless --skip names it. TaskVine takes part if vine_worker is
on PATH."""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv

import graphs

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
COMMANDS = "commands"  # not a graph, but a bag of processes
GROUPS = {
    "simple": (*graphs.SIMPLE, COMMANDS),
    "rsds": tuple(f"rsds:{name}" for name in graphs.RSDS),
    "taskbench": tuple(f"tb:{name}" for name in graphs.TASK_BENCH),
}


class Missing(Exception):
    """A peer that is not installed, and how to install it."""


# -- Systems ---------------------------------------------------------------------------------------

class System:
    """A system that runs graphs: the command line of its driver, and which graphs it can run."""

    def __init__(self, name, argv, runs_graphs=True, runs_commands=False):
        self.name, self.argv, self.version = name, argv, "?"
        self.runs_graphs, self.runs_commands = runs_graphs, runs_commands

    def runs(self, what):
        return self.runs_commands if what == COMMANDS else self.runs_graphs


def imports(python, module):
    """Returns True if that Python has the module, not counting the files of this folder."""
    return subprocess.run([python, "-c", f"import {module}"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, cwd="/").returncode == 0


def from_pypi(package, cache):
    """Makes a virtual environment with the newest release of a package."""
    folder = os.path.join(cache, package)
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        venv.create(folder, with_pip=True)
    pip = subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade",
                          "--disable-pip-version-check", package], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if pip.returncode and not imports(python, package):
        last = (pip.stdout.strip().splitlines() or ["no words"])[-1]
        raise Missing(f"pip could not install {package}: {last}")
    return python


def driver(name, python, file, package, **can):
    """The version is known in advance, for a peer that can run none of the chosen graphs."""
    system = System(name, [python, os.path.join(HERE, file)], **can)
    shown = subprocess.run([python, "-c", "import importlib.metadata as m, sys; "
                            "print(m.version(sys.argv[1]))", package], cwd="/", text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    system.version = shown.stdout.strip() or "?"
    return system


def make_gangway(options):
    if not os.access(options.replay, os.X_OK):
        raise Missing(f"{options.replay} is not built: cmake --preset release-tests && "
                      "cmake --build --preset release-tests")
    system = System("gangway", [options.replay, "--slots", str(options.workers)],
                    runs_commands=True)
    binary = os.path.join(os.path.dirname(options.replay), "gangway")
    shown = subprocess.run([binary, "--version"], capture_output=True, text=True)
    system.version = (shown.stdout.split() or ["?"])[-1]
    return system


def make_dask_debian(options):
    if not imports("/usr/bin/python3", "distributed"):
        raise Missing("Debian's package python3-distributed is not installed")
    return driver("dask-debian", "/usr/bin/python3", "peer_dask.py", "distributed")


def make_dask(options):
    return driver("dask", from_pypi("distributed", options.cache), "peer_dask.py",
                  "distributed")


def make_ray(options):
    return driver("ray", from_pypi("ray", options.cache), "peer_ray.py", "ray")


def make_hyperqueue(options):
    return driver("hyperqueue", from_pypi("hyperqueue", options.cache), "peer_hyperqueue.py",
                  "hyperqueue", runs_graphs=False, runs_commands=True)


def make_taskvine(options):
    for python in filter(None, (shutil.which("python3"), "/usr/bin/python3")):
        if imports(python, "ndcctools.taskvine"):
            return driver("taskvine", python, "peer_taskvine.py", "ndcctools",
                          runs_graphs=False, runs_commands=True)
    raise Missing("vine_worker is on PATH, but no python3 has ndcctools.taskvine (PYTHONPATH)")


PEERS = {"dask-debian": make_dask_debian, "dask": make_dask, "ray": make_ray,
         "hyperqueue": make_hyperqueue, "taskvine": make_taskvine}


def make_systems(options):
    systems = [make_gangway(options)]
    for name, make in PEERS.items():
        if name in options.skip:
            continue
        if name == "taskvine" and not shutil.which("vine_worker"):
            print("taskvine: vine_worker is not on PATH: left out", file=sys.stderr)
            continue
        try:
            systems.append(make(options))
        except Missing as missing:
            raise Missing(f"{name} is missing: {missing}; or leave it out with --skip {name}")
    return systems


# -- Runs ------------------------------------------------------------------------------------------

def run_once(system, arguments, options):
    """The seconds of one run; None if it took too long; raises RuntimeError if it failed."""
    argv = [*system.argv, *arguments, *(["--kill"] if options.kill else [])]
    if system.name != "gangway":
        argv += ["--workers", str(options.workers)]
    path = os.pathsep.join(filter(None, (HERE, os.environ.get("PYTHONPATH"))))
    binary = os.path.join(os.path.dirname(options.replay), "gangway")
    env = dict(os.environ, GANGWAY_BINARY=binary, PYTHONPATH=path)
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=env, start_new_session=True)
    try:
        out, err = process.communicate(timeout=options.limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return None
    seconds, killed = None, 0
    for line in out.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            system.version = said.get("version", system.version)
            seconds, killed = said.get("seconds", seconds), said.get("killed", killed)
    if process.returncode or seconds is None:
        tail = "\n".join((err or out).strip().splitlines()[-5:])
        raise RuntimeError(f"{system.name} failed (exit code {process.returncode}):\n{tail}")
    if options.kill and not killed:
        raise RuntimeError(f"{system.name} did not say whom it killed")
    return seconds


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


def measure(what, systems, options, folder):
    """A row of the result: a graph on all systems that can run it."""
    result = {"graph": what, "seconds": {}}
    if what == COMMANDS:
        arguments = ["--commands", str(options.commands)]
        result.update(tasks=options.commands, edges=0, bound_s=None)
    else:
        graph = graphs.make(what, options.tasks, options.scale, options.seed)
        path = os.path.join(folder, "graph")
        graph.write(path)
        arguments = [path]
        bound = max(graph.work_s() / options.workers, graph.longest_s())
        result.update(tasks=graph.count, edges=graph.edges, bound_s=bound or None)
    able = [system for system in systems if system.runs(what)]
    times = {system.name: [] for system in able}
    for turn in range(options.repeats):
        for system in able[turn % len(able):] + able[:turn % len(able)]:
            if None in times[system.name]:
                continue
            progress(f"{what}, turn {turn + 1} of {options.repeats}: {system.name}")
            times[system.name].append(run_once(system, arguments, options))
    progress("")
    for name, seconds in times.items():
        result["seconds"][name] = None if None in seconds else statistics.median(seconds)
    return result


# -- What is shown ---------------------------------------------------------------------------------

def rate(tasks, seconds):
    return f"{tasks / seconds:,.0f}/s"


def print_table(results, systems, options):
    peers = [system.name for system in systems[1:]]
    rows = [["graph", "tasks", "edges", "bound", "gangway", *peers]]
    for result in results:
        ours, tasks = result["seconds"].get("gangway"), result["tasks"]
        row = [result["graph"], f"{tasks:,}", f"{result['edges']:,}",
               f"{result['bound_s']:.3g} s" if result["bound_s"] else "-",
               f"{ours:.3g} s, {rate(tasks, ours)}" if ours else f"over {options.limit:g} s"]
        for peer in peers:
            theirs = result["seconds"].get(peer, 0)
            if theirs == 0:
                row.append("-")
            elif theirs is None:
                row.append(f"over {options.limit:g} s")
            else:
                row.append(f"{rate(tasks, theirs)}, {theirs / ours:.3g} x" if ours
                           else rate(tasks, theirs))
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    print("\nbound: what its durations take at best on so many workers. N x: how many times as "
          "long as\nGangway the peer took for the same graph, medians.")


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--graphs", default="simple", help=f"names or groups, with commas ({', '.join(GROUPS)}; "
        f"{', '.join((*graphs.NAMES, COMMANDS))})")
    add("--tasks", type=int, default=10000, help="of the simple and tb: graphs (10000)")
    add("--commands", type=int, default=2000, help="processes of the bag of commands (2000)")
    add("--scale", type=float, default=1.0, help="of the rsds: graphs (1: as published)")
    add("--repeats", type=int, default=3)
    add("--workers", type=int, default=2, help="processes that run tasks (2)")
    add("--limit", type=float, default=900, help="seconds of one run, start included (900)")
    add("--seed", type=int, default=1)
    add("--kill", action="store_true", help="kill a process that runs tasks in each run, right "
        "after the graph was handed over; without the bag of commands")
    add("--skip", default="", help="peers to leave out, with commas")
    add("--json", action="store_true", help="print JSON instead of a table")
    add("--replay", default=os.path.join(ROOT, "build", "release", "bin", "replay"),
        help="Gangway's driver (build/release/bin/replay)")
    add("--cache", default=os.path.join(os.environ.get("XDG_CACHE_HOME") or
                                        os.path.expanduser("~/.cache"), "gangway-peers"),
        help="where peers from PyPI are installed")
    options = parser.parse_args(argv)
    options.skip = [name for name in options.skip.split(",") if name]
    for name in options.skip:
        if name not in PEERS:
            parser.error(f"--skip {name}: the peers are {', '.join(PEERS)}")
    wanted = []
    for name in options.graphs.split(","):
        wanted += GROUPS.get(name, (name,))
    for name in wanted:
        if name not in (*graphs.NAMES, COMMANDS):
            parser.error(f"--graphs {name}: there are "
                         f"{', '.join((*GROUPS, *graphs.NAMES, COMMANDS))}")
    options.wanted = list(dict.fromkeys(wanted))
    if options.kill:
        options.wanted = [name for name in options.wanted if name != COMMANDS]
    if not options.wanted:
        parser.error("--kill: commands have no process that runs tasks")
    for name in ("tasks", "commands", "repeats", "workers"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is at least 1")
    if not 0 < options.scale <= 10 or options.limit <= 0:
        parser.error("--scale is over 0 and at most 10, --limit over 0")
    return options


def main(argv=None):
    options = parse(argv)
    try:
        systems = make_systems(options)
        with tempfile.TemporaryDirectory(prefix="gangway-peers-") as folder:
            results = [measure(what, systems, options, folder) for what in options.wanted]
    except Missing as missing:
        sys.exit(f"compare: {missing}")
    except RuntimeError as failure:
        sys.exit(f"\ncompare: {failure}")
    about = {"machine": platform.machine(), "kernel": platform.release(), "cores": os.cpu_count(),
             "load": os.getloadavg()[0], "workers": options.workers, "threads_per_worker": 1,
             "repeats": options.repeats, "kill": options.kill,
             "versions": {system.name: system.version for system in systems}}
    if options.json:
        print(json.dumps({"about": about, "results": results}, indent=1))
        return
    print(", ".join(f"{name} {version}" for name, version in about["versions"].items()))
    alone = " (hyperqueue: one worker)" if "hyperqueue" in about["versions"] else ""
    print(f"{options.workers} worker processes of 1 thread{alone}, {about['cores']} cores, "
          f"load {about['load']:.1f}, medians of {options.repeats}"
          f"{', a process that runs tasks killed in each run' if options.kill else ''}\n")
    print_table(results, systems, options)


if __name__ == "__main__":
    main()
