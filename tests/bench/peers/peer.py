"""Code that the drivers of the peers share. A driver is `peer_NAME.py GRAPH --repeats N --workers
N`, run by the Python that has the peer. It prints a line of JSON {"version": ...}, then one line
{"seconds": ..., "tasks": ...} per run. The time is from before the graph is submitted until the
right values of all sinks have arrived. --kill: in each run a process that runs tasks is killed
after the graph was submitted, and reported as "killed". With two or more workers, a driver fails if
only one of them runs tasks."""
import argparse
import functools
import json
import os
import signal
import sys
import time

import graphs


def row(index, duration_ns, size, *inputs):
    """The task in Python, like `row` of replay.c."""
    begin = time.perf_counter_ns()
    values = [int.from_bytes(data[:8], "little") for data in inputs]
    value = graphs.combine(index, values).to_bytes(8, "little")
    while time.perf_counter_ns() - begin < duration_ns:
        pass
    return value + bytes(size - 8) if size > 8 else value


def say(**line):
    print(json.dumps(line), flush=True)


def check(graph, expected, results):
    """results: {sink: bytes}."""
    for sink, value in expected.items():
        data = results[sink]
        if len(data) != graph.size[sink] or int.from_bytes(data[:8], "little") != value:
            sys.exit(f"the value of row {sink} is wrong")


def pid(_=None):
    """A task that returns its process. It takes a while, so that other processes run some, too."""
    begin = time.perf_counter_ns()
    while time.perf_counter_ns() - begin < 5000000:
        pass
    return os.getpid()


def nothing():
    pass


def run(version, open_cluster, run_graph=None, run_commands=None, find_pids=None):
    """open_cluster(workers) is a context manager. Its value is passed to three functions:
    run_graph(cluster, graph, submitted) returns {sink: bytes} and calls submitted() when the
    whole graph is submitted; run_commands(cluster, count) raises an exception if a command failed;
    find_pids(cluster, count) runs the task `pid` `count` times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?")
    parser.add_argument("--commands", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill", action="store_true")
    options = parser.parse_args()
    if (run_commands if options.commands else run_graph) is None:
        sys.exit("this peer does not run that")
    if not options.commands and not options.graph:
        parser.error("a GRAPH or --commands")
    say(version=version)
    graph = graphs.read(options.graph) if options.graph else None
    expected = graph.expected() if graph else None
    with open_cluster(options.workers) as cluster:
        if graph:
            warm = graphs.make("bag", 64)
            check(warm, warm.expected(), run_graph(cluster, warm, nothing))
            if options.workers > 1 and len(set(find_pids(cluster, 64))) < 2:
                sys.exit(f"one process ran all tasks, of {options.workers} workers")
        else:
            run_commands(cluster, 8)
        for _ in range(options.repeats):
            kill, victim = nothing, 0
            if options.kill:
                victim = find_pids(cluster, 1)[0]
                kill = functools.partial(os.kill, victim, signal.SIGKILL)
            begin = time.perf_counter()
            if graph:
                results = run_graph(cluster, graph, kill)
                check(graph, expected, results)
            else:
                run_commands(cluster, options.commands)
            say(seconds=time.perf_counter() - begin,
                tasks=graph.count if graph else options.commands, killed=victim)
