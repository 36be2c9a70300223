"""Hosts with networks of their own, for the tests of what happens between hosts.

    network = networks.Network(self, hosts=2)          # self: an e2e.Case
    self.start(*network.on(1), e2e.BINARY, "scheduler", "--listen", network.address(1))
    network.cut(2)                                     # no frame of that host arrives any more

The hosts share processes and files with the test, but no network. programs/network.c creates them
and carries their frames; they end with that program. Without root and user namespaces the test is
skipped with the reason."""
import json
import os
import subprocess
import time

import e2e

SKIPPED = 77


class Network:
    """`interfaces`: one per network; each host is in all of them, with the address
    10.77.N.HOST."""

    def __init__(self, case, hosts, interfaces=("gang0",)):
        self.case = case
        self.program = subprocess.Popen(
            [os.path.join(e2e.BUILD, "bin", "network"), str(hosts), *interfaces], env=case.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            bufsize=1)
        self.pids, self.user = {}, False
        for line in self.program.stdout:
            words = line.split()
            if words[0] == "ready":
                return
            if words[0] == "user":
                self.user = True
            else:
                self.pids[int(words[1])] = words[2]
        said = self.program.stderr.read().strip()
        self.close()
        if self.program.returncode == SKIPPED:
            case.skipTest(said)
        case.fail(said)

    def close(self):
        self.program.stdin.close()
        self.program.wait()
        self.program.stdout.close()
        self.program.stderr.close()

    @staticmethod
    def address(host, network=0):
        return f"10.77.{network}.{host}"

    def on(self, host):
        """The words to put before a command so that it runs there."""
        space = f"/proc/{self.pids[host]}/ns"
        words = ["nsenter", f"--net={space}/net"]
        return words + ([f"--user={space}/user", "--preserve-credentials"] if self.user else [])

    def tell(self, *words):
        self.program.stdin.write(" ".join(map(str, words)) + "\n")
        self.case.assertEqual(self.program.stdout.readline(), "ok\n", words)

    def cut(self, host):
        """No frame reaches or leaves that host any more, without a notice."""
        self.tell("cut", host)

    def heal(self, host):
        self.tell("heal", host)

    def part(self, host, other, one_way=False):
        """No frame of the first host reaches the second any more, nor (unless one_way) back."""
        self.tell("part", host, other)
        if not one_way:
            self.tell("part", other, host)

    def join(self, host, other):
        self.tell("join", host, other)
        self.tell("join", other, host)

    def loss(self, permille):
        """This part of all frames is lost, the same ones in every run."""
        self.tell("loss", permille)

    def delay(self, milliseconds):
        """Of each frame: twice that for a round trip."""
        self.tell("delay", milliseconds)


class Case(e2e.Case):
    """A test with a cluster whose scheduler is on host 1, reached by network `wire`."""

    def setUp(self):
        super().setUp()
        self.network = None

    def tearDown(self):
        if self.network:
            self.network.close()
        super().tearDown()

    def open(self, hosts, interfaces=("gang0",), wire=0):
        self.network = Network(self, hosts, interfaces)
        admin = self.gangway_json("token", "create", "--user", "root", "--role", "admin")
        self.worker_token = self.gangway_json("token", "create", "--user", "w", "--role", "worker")
        self.scheduler = self.start(*self.network.on(1), e2e.BINARY, "scheduler", "--listen",
                                    self.network.address(1, wire))
        self.address = self.scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        self.client = {"GANGWAY_ADDRESS": self.address, "GANGWAY_TOKEN": admin["token"]}

    def worker(self, host, slots):
        """A worker on a host, with folders of its own, named host-N."""
        env = {"GANGWAY_TOKEN": self.worker_token["token"]}
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            env[name] = os.path.join(self.dir, f"host-{host}-{name.lower()}")
            os.mkdir(env[name], 0o700)
        worker = self.start(*self.network.on(host), e2e.BINARY, "worker", "--connect",
                            self.address, "--name", f"host-{host}", "--slots", str(slots),
                            "--trust-users", env=env)
        worker.wait_output("other workers reach this one")
        return worker

    def ask(self, *arguments, **options):
        """Runs the command line on host 1."""
        return self.run_program(*self.network.on(1), e2e.BINARY, *arguments, env=self.client,
                                **options).stdout

    def wait_workers(self, count):
        """Polls until this many are connected; each query waits for its answer."""
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while json.loads(self.ask("status", "--json"))["workers"] != count:
            self.assertLess(time.monotonic(), deadline, f"there are not {count} workers")

    def down(self, *workers):
        self.ask("down")
        self.assertEqual([one.wait() for one in (self.scheduler, *workers)],
                         [0] * (1 + len(workers)))
