#!/usr/bin/env python3
"""A gang waits while tasks run: free slots are reserved for it, and waiting jobs are explained."""
import time

import e2e


class Reservation(e2e.Case):
    def submit(self, *words):
        return self.gangway(*words).stdout.split()[0]

    def release(self, fifo):
        with open(fifo, "w"):
            pass

    def test_waiting_gang_reserves_slots_until_it_starts(self):
        self.up("--slots", "2")
        fifos = [self.fifo("a"), self.fifo("b")]
        first = self.submit("submit", "-d", "--time-limit", "10m", "--", "cat", fifos[0])
        second = self.submit("submit", "-d", "--", "cat", fifos[1])
        gang = self.submit("dispatch", "-d", "-n", "2", "--", "sh", "-c", "echo rank $RANK")
        later = self.submit("submit", "-d", "--", "true")
        self.assertIn(f"job {second} has no time limit (--time-limit)",
                      self.gangway("explain", gang).stdout)
        self.release(fifos[1])
        self.gangway("wait", second)
        self.assertIn(f"reserved for job {gang}", self.gangway("explain", later).stdout)
        quick = self.submit("submit", "-d", "--time-limit", "1s", "--grace", "1s", "--", "true")
        self.gangway("wait", quick)  # it ends before the gang can start
        self.assertRegex(self.gangway("explain", gang).stdout,
                         rf"starts in about \d+m(\d\ds)? at the latest, when job {first} reaches")
        told = self.gangway_json("explain", gang)
        self.assertEqual(told["expected_start"], "about")
        self.assertLess(abs(told["expected_start_ns"] - time.time_ns() - 600e9), 120e9)
        self.release(fifos[0])
        self.gangway("wait", gang)
        self.gangway("wait", later)
        self.assertIn("rank 1", self.gangway("logs", gang).stdout)
        self.assert_idle()

    def test_node_options_place_ranks_or_are_refused(self):
        def refused(words, *options):
            run = self.gangway("dispatch", *options, "--", "true", rc=2)
            self.assertIn(words, run.stderr)
        refused("--nodes 2 --per-node 2 are 4 ranks, but -n is 3",
                "--nodes", "2", "--per-node", "2", "-n", "3")
        refused("-n 3 ranks cannot be divided evenly among --nodes 2", "--nodes", "2", "-n", "3")
        refused("--spread is the opposite of --same-host", "--spread", "--same-host")
        refused("--same-host means one node, but --nodes is 2", "--same-host", "--nodes", "2")
        refused("--nodes 0: must be at least 1", "--nodes", "0")
        refused("-H a:2,b:2 has room for 4 ranks, but -n is 5", "-np", "5", "-H", "a:2,b:2")
        refused("the same number of ranks", "-H", "a:2,b", "--min-ranks", "2")
        refused("-H cannot be combined with", "-H", "a:2", "--same-host")
        refused("-H a:x: ", "-H", "a:x")
        self.up("--slots", "2")
        self.assertIn("fits no worker of this cluster as a whole: the largest has 2 slots",
                      self.gangway("dispatch", "-n", "3", "--same-host", "--", "true",
                                   rc=2).stderr)
        run = self.gangway("dispatch", "--nodes", "1", "--per-node", "2", "--", "sh", "-c",
                           "echo rank $LOCAL_RANK of $LOCAL_WORLD_SIZE")
        self.assertIn("rank 1 of 2", run.stdout)
        run = self.gangway("dispatch", "-np", "2", "-H", "localhost:2", "--", "sh", "-c",
                           "echo rank $RANK of $WORLD_SIZE")
        self.assertIn("rank 1 of 2", run.stdout)
        for words in (("-np2", "-host", "localhost:2"), ("-hosts", "localhost:2", "-np", "2"),
                      ("--spread", "--nodes", "1", "--per-node", "2")):
            run = self.gangway("dispatch", *words, "--", "sh", "-c", "echo rank $RANK of $1", "sh",
                               "-host")
            self.assertIn("rank 1 of -host", run.stdout)
        file = self.write("hosts", "# ours\nlocalhost slots=2  # both\n")
        for word in ("-hostfile", "--hostfile", "-machinefile", "--machinefile"):
            run = self.gangway("dispatch", word, file, "--", "sh", "-c",
                               "echo rank $RANK of $WORLD_SIZE")
            self.assertIn("rank 1 of 2", run.stdout)
        for words, wanted in (((file, "-np", "3"), "has room for 2 ranks, but -n is 3"),
                              ((file, "-H", "localhost"), "only one of"),
                              ((file + "x",), "cannot read"),
                              ((self.write("odd", "\na slots=x\n"),), "line 2: a:x: the number")):
            self.assertIn(wanted, self.gangway("dispatch", "--hostfile", *words, "--", "true",
                                               rc=2).stderr)
        self.assertIn("--on is given twice: write --on a,b",
                      self.gangway("dispatch", "--on", "a", "--on", "b", "--", "true",
                                   rc=2).stderr)
        self.assertIn("nowhere", self.gangway("dispatch", "-H", "nowhere:2", "--", "true",
                                              rc=2).stderr)


if __name__ == "__main__":
    e2e.main()
