#!/usr/bin/env python3
"""Hosts with networks of their own: which route is used, the effect of slow and lossy links, and
the work on a host that is unreachable, for a moment or for good."""
import os
import re

import e2e
import networks

SPAN = os.path.join(e2e.BUILD, "bin", "span")

# Rank 1 connects to rank 0 at the announced address, and all ranks report the interface of their
# connections.
MEET = """
import os, socket
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    with socket.create_server(address) as listener:
        said = listener.accept()[0].makefile().readline()
else:
    while True:
        try:
            with socket.create_connection(address, timeout=30) as other:
                other.sendall(b"hello\\n")
            said = "hello\\n"
            break
        except ConnectionRefusedError:
            pass
print("rank", os.environ["RANK"], "at", os.environ["GROUP_RANK"], *address[:1],
      os.environ["NCCL_SOCKET_IFNAME"], os.environ["GLOO_SOCKET_IFNAME"], said.strip())
"""

# Reports its attempt, host and pid; then it stays until it may end.
STAY = """#!/bin/sh
echo "$GANGWAY_RESTART_COUNT $RANK $GANGWAY_LOG_DIR $$" > "$LINES"
read word < "$GO-$RANK"
echo "rank $RANK of attempt $GANGWAY_RESTART_COUNT: $word"
"""


class Networks(networks.Case):
    def test_gang_uses_the_route_between_its_hosts(self):
        """The route between the hosts decides, not the first interface; packet loss and delay
        only cost time."""
        self.open(hosts=2, interfaces=("front0", "fabric0"), wire=1)
        workers = [self.worker(1, 2), self.worker(2, 2)]
        self.wait_workers(2)
        script = self.write("meet.py", MEET)
        said = self.ask("dispatch", "-n", "2", "--spread", "--", "python3", script)
        rows = sorted(line.split("rank ", 1)[1] for line in said.splitlines())
        master = rows[0].split()[3]
        self.assertIn(master, [self.network.address(host, 1) for host in (1, 2)])
        self.assertEqual(rows, [f"{rank} at {rank} {master} fabric0 fabric0 hello"
                                for rank in (0, 1)])
        run = (*self.network.on(1), SPAN)
        self.assertEqual(self.run_program(*run, env=self.client).stdout, "ok\n")
        self.network.loss(20)
        self.network.delay(15)  # 30 ms for a round trip
        self.assertEqual(self.run_program(*run, env=self.client).stdout, "ok\n")
        self.assertEqual(self.run_program(*run, "die", env=self.client).stdout, "ok\n")
        self.down(*workers)

    def test_gang_moves_to_hosts_that_reach_each_other(self):
        """A gang whose ranks cannot connect is placed on hosts that can, and that does not
        count."""
        self.open(hosts=4)
        workers = []
        # in this order: the gang is placed on the workers that connected first
        for host in (2, 3, 4):
            workers.append(self.worker(host, 2))
            self.wait_workers(len(workers))
        self.network.part(2, 3)
        self.network.part(4, 2, one_way=True)
        run = (*self.network.on(1), SPAN)  # ranks have no retries
        self.assertEqual(self.run_program(*run, env=self.client).stdout, "ok\n")
        said = self.ask("events", "1/0")
        self.assertRegex(said, r"host-2 .*could not reach rank \d at host-[34]|"
                               r"host-[34] .*could not reach rank \d at host-2")
        self.down(*workers)

    def listen(self):
        self.lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(self.lines.close)
        self.client.update({"LINES": self.lines.path, "GO": os.path.join(self.dir, "go")})
        self.gates = [os.open(self.fifo(f"go-{rank}"), os.O_RDWR) for rank in range(2)]
        for gate in self.gates:
            self.addCleanup(os.close, gate)
        return self.write("stay", STAY)

    def begun(self, count):
        """The reports of ranks: [attempt, rank, host, pid]."""
        told = sorted(self.lines.next().split() for _ in range(count))
        return [[attempt, rank, int(re.search(r"/host-(\d+)-", folder).group(1)), int(pid)]
                for attempt, rank, folder, pid in told]

    def go(self, job):
        """Lets both ranks end, and checks that they do."""
        for gate in self.gates:
            os.write(gate, b"go\n")
        self.ask("wait", job)
        self.assertEqual(self.ask("logs", job).count(": go\n"), 2)

    def test_short_network_silence_reruns_nothing(self):
        """A host is silent for less than ten seconds: all its work continues, and runs once."""
        self.open(hosts=2)
        workers = [self.worker(1, 1), self.worker(2, 3)]
        self.wait_workers(2)
        script = self.listen()
        job = self.ask("dispatch", "-d", "-n", "2", "--spread", "--", script).strip()
        self.assertEqual([row[:2] for row in self.begun(2)], [["0", "0"], ["0", "1"]])
        self.network.cut(2)
        more = self.ask("submit", "-d", "--array", "0-3", "--on", "host-2", "--", "sh", "-c",
                        f"echo {{index}} >> {self.dir}/done").strip()
        workers[1].wait_output("the scheduler has sent nothing for some time")
        self.network.heal(2)
        self.ask("wait", more)
        with open(os.path.join(self.dir, "done"), encoding="utf-8") as f:
            self.assertEqual(sorted(f.read().split()), ["0", "1", "2", "3"])
        self.go(job)
        events = self.ask("events", job + "/0")
        self.assertNotIn("lost", events)
        self.down(*workers)

    def test_gang_restarts_after_runners_of_a_lost_host_ended(self):
        """A host is lost for good: its runners end by themselves, and only then the gang starts
        elsewhere."""
        self.open(hosts=3)
        workers = {f"host-{host}": self.worker(host, 2) for host in (2, 3)}
        self.wait_workers(2)
        script = self.listen()
        job = self.ask("dispatch", "-d", "-n", "2", "--same-host", "--", script).strip()
        first = self.begun(2)
        place = first[0][2]
        self.network.cut(place)
        second = self.begun(2)
        self.assertEqual([row[:2] for row in second], [["1", "0"], ["1", "1"]])
        self.assertNotIn(place, [row[2] for row in second])
        for row in first:
            self.assertTrue(e2e.wait_gone(row[3], 0), f"{row} runs beside {second}")
        self.assertIn("lost", self.ask("events", job + "/0"))
        self.network.heal(place)
        self.wait_workers(2)
        self.go(job)
        self.down(*workers.values())


if __name__ == "__main__":
    e2e.main()
