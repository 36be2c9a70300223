#!/usr/bin/env python3
"""A host is lost: its gang continues with fewer ranks, and with all ranks when there are slots
again."""
import os
import signal

import e2e


class Elastic(e2e.Case):
    def worker(self, name):
        """A worker beside those of `up`, which is not restarted automatically."""
        cluster = self.cluster()
        return self.start(e2e.BINARY, "worker", "--dir", cluster, "--name", name, "--slots", "2")

    def wait_workers(self, count):
        """Polls until this many are registered; each query waits for its answer."""
        while self.gangway_json("status")["workers"] != count:
            pass

    def test_function_gang_shrinks_and_grows(self):
        self.up("--slots", "2")
        worker = self.worker("second")
        self.wait_workers(2)
        told = e2e.Lines(self.fifo("told"))
        self.addCleanup(told.close)
        gate = self.fifo("gate")
        program = self.start(os.path.join(os.path.dirname(e2e.BINARY), "elastic"), self.dir)
        self.assertEqual(sorted(told.next() for _ in range(4)),
                         [f"rank {rank}" for rank in range(4)])
        worker.kill(signal.SIGKILL)
        gate = open(gate, "w", encoding="utf-8")  # while the second attempt waits there
        said = self.gangway("explain", "1").stdout
        self.assertIn("runs with 2 of 4 ranks (--min-ranks 2)", said)
        self.assertIn("was lost", said)
        self.assertEqual(self.gangway_json("tasks", "1")[0]["world_size"], 2)
        self.worker("third")
        self.wait_workers(2)
        gate.close()
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 28680, ranks 4 2 4; rank 3: ", program.text)
        events = self.gangway("events", "1").stdout
        self.assertIn("attempt 2 starts: all 2 ranks are ready, fewer than 4 (--min-ranks)", events)
        self.assertIn("there is room for 4 ranks", events)
        self.assert_idle()

    def test_command_gang_starts_smaller_after_the_timeout(self):
        self.up("--slots", "2")
        run = self.gangway("dispatch", "-n", "4", "--min-ranks", "1",
                           "--full-size-timeout", "100ms", "--", "sh", "-c",
                           "echo rank $RANK of $WORLD_SIZE")
        self.assertIn("rank 1 of 2", run.stdout)

    def test_logs_show_the_actual_ranks_of_an_elastic_gang(self):
        self.up("--slots", "2")
        job = self.gangway("dispatch", "-d", "-n", "4", "--min-ranks", "2",
                           "--full-size-timeout", "0", "--", "sh", "-c",
                           "echo rank $RANK").stdout.strip()
        self.gangway("wait", job)
        for attempt in ([], ["--attempt", "1"]):
            said = self.gangway("logs", job, *attempt)
            self.assertEqual(said.stdout, "[0] rank 0\n[1] rank 1\n")
            self.assertEqual(said.stderr, "")
        self.gangway("logs", job, "-o", "out")
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "out"))),
                         ["rank.000", "rank.001"])
        self.assertIn("there is no rank 3: the ranks are 0 to 1",
                      self.gangway("logs", "-r", "3", job, rc=2).stderr)
        self.assertIn("there is no rank 3: the last attempt had ranks 0 to 1",
                      self.gangway("get", job, "--rank", "3", "x", rc=2).stderr)
        self.assertIn("; 2 results, ", self.gangway("events", job).stdout)
        self.assertEqual(self.gangway_json("jobs")[0]["ranks"], 2)
        task = self.gangway_json("tasks", job)[0]
        self.assertEqual((task["where"], task["world_size"]), ("worker-1", 2))
        self.assertRegex(self.gangway("tasks", job).stdout, r"done +1 +worker-1\b")

    def test_command_gang_grows_after_a_checkpoint(self):
        """The gang restarts larger after a checkpoint if there are free slots and it has run
        for a while."""
        self.up("--slots", "2")
        self.assertEqual(self.gangway_json("worker", "list")[0]["address"], "local")
        fifo = e2e.Lines(self.fifo())
        self.addCleanup(fifo.close)
        gate = self.fifo("gate")
        rank = (f'[ $RANK != 0 ] || echo $WORLD_SIZE > {self.dir}/fifo; '
                '[ $WORLD_SIZE = 2 ] || exit 0; '
                f'[ $RANK != 0 ] || {{ read word < {gate}; '
                'echo saved > "$GANGWAY_CHECKPOINT_DIR/state"; }; exec tail -f /dev/null')
        run = self.start(e2e.BINARY, "dispatch", "-n", "3", "--min-ranks", "1",
                         "--full-size-timeout", "50ms", "--", "sh", "-c", rank)
        self.assertEqual(fifo.next().strip(), "2")
        self.assertIn("when its folder of checkpoints changes",
                      self.gangway("explain", "1").stdout)
        self.worker("second")
        self.wait_workers(2)
        with open(gate, "w", encoding="utf-8") as f:
            f.write("save\n")
        self.assertEqual(fifo.next().strip(), "3")
        self.assertEqual(run.wait(), 0, run.text)
        self.assertIn("was told to end after its checkpoint", self.gangway("events", "1").stdout)

    def test_impossible_gang_sizes_are_refused(self):
        def refused(words, *options):
            run = self.gangway("dispatch", *options, "--", "true", rc=2)
            self.assertIn(words, run.stderr)
        refused("--min-ranks 3: the gang has only 2 ranks", "-n", "2", "--min-ranks", "3")
        refused("a multiple of the 2 ranks of each", "--nodes", "2", "--per-node", "2",
                "--min-ranks", "3")
        refused("--full-size-timeout needs --min-ranks", "--full-size-timeout", "1s")
        self.up("--slots", "2")
        refused("a gang of 3 ", "-n", "4", "--min-ranks", "3")


if __name__ == "__main__":
    e2e.main()
