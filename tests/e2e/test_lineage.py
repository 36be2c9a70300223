#!/usr/bin/env python3
"""Results lost with their worker are recomputed, from as far back as necessary and no further; see
results/lineage.c."""
import os
import signal

import e2e

LINEAGE = os.path.join(e2e.BUILD, "bin", "lineage")


class Lineage(e2e.Case):
    def worker(self, name):
        """The pid of a worker of the cluster."""
        found = [pid for pid in e2e.pids_marked(self.mark)
                 if "gangway worker --dir" in e2e.command_of(pid) and
                 f"--name {name}" in e2e.command_of(pid)]
        self.assertEqual(len(found), 1)
        return found[0]

    def runs(self, what, *arguments, number=signal.SIGKILL):
        """How often each task of the chain ran, if worker-1 died after all of them had run."""
        self.up("--slots", "2", "--workers", "2", *arguments)
        counts, go = self.write("counts", ""), self.fifo("go")
        program = self.start(LINEAGE, what, counts, go)
        program.wait_output("^computed$")
        worker = self.worker("worker-1")
        os.kill(worker, number)
        if number == signal.SIGKILL:
            self.assert_gone([worker])
        with open(go, "w", encoding="utf-8") as f:
            f.write("x")
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("ok", program.text)
        if number == signal.SIGSTOP:
            os.kill(worker, signal.SIGCONT)
        with open(counts, encoding="utf-8") as f:
            lines = f.read().split()
        return [lines.count(str(number)) for number in range(1, 6)]

    def test_lost_worker_recomputes_a_whole_chain(self):
        self.assertEqual(self.runs("all"), [2, 2, 2, 2, 2])

    def test_lost_worker_recomputes_only_missing_results(self):
        self.assertEqual(self.runs("tail"), [1, 1, 1, 2, 2])

    def test_result_of_a_stopped_tls_peer_is_recomputed(self):
        """A worker that fetches the result over TLS does not wait without end: the result is
        recomputed."""
        self.assertEqual(self.runs("peer", "--peers", "127.0.0.1", number=signal.SIGSTOP),
                         [2, 1, 0, 0, 0])

    def test_result_of_a_stopped_local_peer_is_recomputed(self):
        """The same holds if results are passed as descriptors."""
        self.assertEqual(self.runs("peer", number=signal.SIGSTOP), [2, 1, 0, 0, 0])

    def test_result_of_a_released_scattered_value_is_lost(self):
        self.assertEqual(self.runs("value"), [0, 1, 0, 0, 0])


if __name__ == "__main__":
    e2e.main()
