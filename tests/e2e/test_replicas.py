#!/usr/bin/env python3
"""Replicas of results at several workers, and their use; see results/replicas.c."""
import os
import signal

import e2e

REPLICAS = os.path.join(e2e.BUILD, "bin", "replicas")


class Replicas(e2e.Case):
    def spread(self, *arguments):
        self.up("--slots", "3", "--workers", "3", *arguments)
        done = self.run_program(REPLICAS, "spread", self.write("counts", ""))
        self.assertEqual(done.stdout, "ok\n")

    def workers_of(self, name):
        return sorted(line["worker"] for line in self.gangway_json("data", "where", name))

    def test_result_is_replicated_to_chosen_workers(self):
        self.spread()
        self.assertEqual(self.workers_of("everywhere"), [0, 1, 2, 3])

        # from a shell
        self.gangway("submit", "--name", "one", "-d", "--", "true")
        self.gangway("wait", "last")
        self.gangway("data", "publish", "ended", "last")
        self.assertEqual(self.workers_of("ended"), [0])
        done = self.gangway("data", "replicate", "ended", "--copies", "2")
        self.assertEqual(done.stdout, "ended: at 2 workers\n")
        self.assertEqual(len(self.workers_of("ended")), 3)
        done = self.gangway("data", "replicate", "last/0", "--workers", "worker-2")
        self.assertIn("last/0: at ", done.stdout)
        self.assertIn(2, self.workers_of("ended"))
        self.assertEqual(self.gangway("data", "replicate", "ended").stdout,
                         "ended: at 3 workers\n")
        for arguments, words in ((("--copies", "4"), "3 of 4 workers have a copy"),
                                 (("--copies", "2", "--all"), "contradict"),
                                 (("--workers", "nobody"), "worker-1 on"),
                                 (("--workers", "a,,b"), "workers")):
            with self.subTest(arguments=arguments):
                done = self.gangway("data", "replicate", "ended", *arguments, rc=2)
                self.assertIn(words, done.stderr)
        self.assertIn("nobody", self.gangway("data", "replicate", "nobody", rc=2).stderr)

    def test_result_is_replicated_over_tls(self):
        self.spread("--peers", "127.0.0.1")

    def test_replica_prevents_recomputation_after_worker_loss(self):
        self.up("--slots", "3", "--workers", "3")
        counts, go = self.write("counts", ""), self.fifo("go")
        program = self.start(REPLICAS, "loss", counts, go)
        program.wait_output("^computed$")
        worker = [pid for pid in e2e.pids_marked(self.mark)
                  if "gangway worker --dir" in e2e.command_of(pid) and
                  "--name worker-1" in e2e.command_of(pid)]
        self.assertEqual(len(worker), 1)
        os.kill(worker[0], signal.SIGKILL)
        self.assert_gone(worker)
        with open(go, "w", encoding="utf-8") as f:
            f.write("x")
        self.assertEqual(program.wait(), 0, program.text)
        with open(counts, encoding="utf-8") as f:
            self.assertEqual(f.read(), "made\n")  # the result was not recomputed


if __name__ == "__main__":
    e2e.main()
