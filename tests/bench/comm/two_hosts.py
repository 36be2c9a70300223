#!/usr/bin/env python3
"""two_hosts.py BUILD [--gbit 10] [--rounds 3] [--bytes 105000000] [--ddp]: measures all-reduce
between two ranks on two simulated hosts (network namespaces, a veth pair, limited by tc's tbf on
both sides), with TLS and without, alternating with iperf3. Prints the medians of the rounds and the
ratio of the bus bandwidth to that of iperf3. Requires root, iproute2 and iperf3, which sends in one
direction; an all-reduce sends in both directions at once. --ddp measures steps of data-parallel
training that compute as long as they communicate: the ratio is that of a step to the longer of the
two."""
import argparse
import contextlib
import json
import os
import statistics
import subprocess

ADDRESSES = ("10.78.0.1", "10.78.0.2")


class Host:
    """A network namespace that exists as long as the process that holds it."""

    def __init__(self, stack):
        self.holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        stack.callback(self.close)
        self.holder.stdout.readline()

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()
        self.holder.stdout.close()

    def on(self, *words):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *words]

    def run(self, *words):
        return subprocess.run(self.on(*words), check=True, capture_output=True, text=True,
                              timeout=120).stdout


def make(stack, gbit):
    hosts = [Host(stack), Host(stack)]
    hosts[0].run("ip", "link", "add", "wire0", "type", "veth", "peer", "name", "wire0", "netns",
                 str(hosts[1].holder.pid))
    for host, address in zip(hosts, ADDRESSES):
        host.run("ip", "link", "set", "lo", "up")
        host.run("ip", "addr", "add", address + "/24", "dev", "wire0")
        host.run("ip", "link", "set", "wire0", "up")
        host.run("tc", "qdisc", "add", "dev", "wire0", "root", "tbf", "rate", f"{gbit}gbit",
                 "burst", "2mb", "latency", "20ms")
    return hosts


def iperf(hosts, seconds, both):
    """Returns the bandwidth in one direction, or of the slower one of both directions at once."""
    server = subprocess.Popen(hosts[0].on("iperf3", "-s", "-1", "--forceflush"),
                              stdout=subprocess.PIPE, text=True)
    with server:
        while "listening" not in server.stdout.readline():
            pass
        said = hosts[1].run("iperf3", "-c", ADDRESSES[0], "-t", str(seconds), "--json",
                            *(["--bidir"] if both else []))
        server.stdout.read()
    end = json.loads(said)["end"]
    names = ["sum_received", "sum_received_bidir_reverse"] if both else ["sum_received"]
    return min(end[name]["bits_per_second"] for name in names) * 1e-9


def ring(hosts, options, plain):
    words = [os.path.join(options.build, "bin", "ring_bench"), "--bytes", str(options.bytes)]
    words += (["--ddp"] if options.ddp else []) + (["--plain"] if plain else [])
    words += [ADDRESSES[0] + ":7801"]
    with subprocess.Popen(hosts[0].on(*words, "0"), stdout=subprocess.PIPE, text=True) as first:
        first.stdout.readline()  # wait until it listens
        hosts[1].run(*words, "1")
        found = json.loads(first.stdout.read())
        return found["ratio" if options.ddp else "busbw_gbit"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--gbit", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=105000000)
    parser.add_argument("--ddp", action="store_true")
    options = parser.parse_args()
    measures = {} if options.ddp else {
        "iperf3 one way": lambda hosts: iperf(hosts, 1, False),
        "iperf3 both ways": lambda hosts: iperf(hosts, 1, True),
    }
    measures |= {
        "ring, TLS": lambda hosts: ring(hosts, options, False),
        "ring, plain": lambda hosts: ring(hosts, options, True),
    }
    found = {name: [] for name in measures}
    with contextlib.ExitStack() as stack:
        hosts = make(stack, options.gbit)
        for _ in range(options.rounds):
            for name, measure in measures.items():
                found[name].append(measure(hosts))
    line = {name: statistics.median(values) for name, values in found.items()}
    if options.ddp:
        for name, ratio in line.items():
            print(f"{name:18} a step takes {ratio:.2f} x max(compute, communication)")
        return
    for name, gbit in line.items():
        print(f"{name:18} {gbit:7.3f} Gbit/s  {gbit / line['iperf3 one way']:5.2f} of one way"
              f"  {gbit / line['iperf3 both ways']:5.2f} of both")


if __name__ == "__main__":
    main()
