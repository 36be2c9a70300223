#!/usr/bin/env python3
"""Results that go with their worker are made again, from as far back as it takes and no further;
see results/lineage.c."""
import os
import signal

import e2e

LINEAGE = os.path.join(e2e.BUILD, "bin", "lineage")


class Lineage(e2e.Case):
    def worker(self, name):
        """The process number of a worker of the cluster."""
        found = [pid for pid in e2e.pids_marked(self.mark)
                 if "gangway worker --dir" in e2e.command_of(pid) and
                 f"--name {name}" in e2e.command_of(pid)]
        self.assertEqual(len(found), 1)
        return found[0]

    def runs(self, what, *arguments, number=signal.SIGKILL):
        """How often each of the chain's tasks ran, when worker-1 died after all of them had."""
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

    def test_all_of_a_chain(self):
        self.assertEqual(self.runs("all"), [2, 2, 2, 2, 2])

    def test_down_to_what_is_left(self):
        self.assertEqual(self.runs("tail"), [1, 1, 1, 2, 2])

    def test_giver_is_stopped(self):
        """Whoever takes its result over TLS does not wait for ever: it is made again."""
        self.assertEqual(self.runs("peer", "--peers", "127.0.0.1", number=signal.SIGSTOP),
                         [2, 1, 0, 0, 0])

    def test_giver_is_stopped_on_one_host(self):
        """Likewise where results go as descriptors."""
        self.assertEqual(self.runs("peer", number=signal.SIGSTOP), [2, 1, 0, 0, 0])

    def test_scattered_value_that_was_given_up(self):
        self.assertEqual(self.runs("value"), [0, 1, 0, 0, 0])


if __name__ == "__main__":
    e2e.main()
