#!/usr/bin/env python3
"""kill -9 of a rank, a worker, the client, the scheduler: ends in bounded time, with the first
cause."""
import os
import signal
import time

import e2e

# A rank that ignores SIGTERM, has a grandchild in a session of its own with an empty environment,
# reports both pids, and stays. (Ignored signals stay ignored across exec.)
STUBBORN = """#!/bin/sh
trap '' TERM
setsid env -i PATH="$PATH" sh -c 'echo "grandchild $$" > "$0"; exec tail -f /dev/null' "$FIFO" &
echo "about to hang, rank $RANK" >&2
echo "rank $RANK $$" > "$FIFO"
exec tail -f /dev/null
"""


class Kills(e2e.Case):
    def stubborn_gang(self, *options, ranks=2):
        """Starts a gang of STUBBORN ranks; returns (process, {rank: pid}, pids of
        grandchildren)."""
        self.pids = e2e.Lines(self.fifo("pids"))
        self.addCleanup(self.pids.close)
        script = self.write("stubborn", STUBBORN)
        process = self.start(e2e.BINARY, "dispatch", "-n", str(ranks), *options, "--", script,
                             env={"FIFO": self.pids.path})
        return process, *self.gang_pids(ranks)

    def gang_pids(self, ranks=2):
        rank_pids, grandchildren = {}, []
        while len(rank_pids) < ranks or len(grandchildren) < ranks:
            words = self.pids.next().split()
            if words[0] == "rank":
                rank_pids[int(words[1])] = int(words[2])
            else:
                grandchildren.append(int(words[1]))
        return rank_pids, grandchildren

    def private_folders(self):
        folder = os.path.join(self.env["XDG_RUNTIME_DIR"], "gangway")
        return os.listdir(folder) if os.path.isdir(folder) else []

    def test_killed_rank_ends_its_gang_with_code_137(self):
        self.up("--slots", "2")
        # does not apply to failures
        gang, ranks, grandchildren = self.stubborn_gang("--grace", "1h")
        os.kill(ranks[1], signal.SIGKILL)
        self.assertEqual(gang.wait(), 137, gang.text)
        self.assertIn("rank 1", gang.text)
        self.assertRegex(gang.text, "signal 9|SIGKILL")
        self.assertIn("about to hang, rank 1", gang.text)
        self.assert_gone(list(ranks.values()) + grandchildren)
        self.assert_idle()

    def test_killed_client_ends_its_gang(self):
        self.up("--slots", "2")
        gang, ranks, grandchildren = self.stubborn_gang("--grace", "100ms")
        gang.kill()
        self.assert_gone(list(ranks.values()) + grandchildren)
        self.gangway("dispatch", "-n", "2", "--", "true")
        self.assert_idle()

    def test_killed_client_ends_its_private_cluster(self):
        gang, ranks, grandchildren = self.stubborn_gang()
        gang.kill()
        gang.wait()
        self.assert_gone()
        self.assert_gone(list(ranks.values()) + grandchildren)
        self.assertEqual(self.private_folders(), [])

    def test_killed_private_scheduler_ends_gang_and_client(self):
        gang, ranks, grandchildren = self.stubborn_gang()
        os.kill(self.process_of("scheduler --dir"), signal.SIGKILL)
        self.assertEqual(gang.wait(), 3, gang.text)
        self.assertIn("scheduler", gang.text)
        self.assert_gone(list(ranks.values()) + grandchildren)
        self.assert_gone()
        self.assertEqual(self.private_folders(), [])

    def test_job_numbers_are_never_reused(self):
        """A reused number would give a job the checkpoints of an earlier job."""
        def submit():
            return int(self.gangway("submit", "-d", "--", "true").stdout)
        self.up("--slots", "1")
        first = submit()
        self.gangway("down")
        self.up("--slots", "1")
        second = submit()
        self.assertEqual(second, first + 1)
        processes = [self.process_of(words + " --dir") for words in ("scheduler", "worker")]
        for pid in processes:
            os.kill(pid, signal.SIGKILL)
        self.assert_gone(processes)
        self.up("--slots", "1")
        self.assertGreater(submit(), second)

    def test_killed_worker_comes_back_and_its_gang_restarts(self):
        self.up("--slots", "2")
        gang, ranks, grandchildren = self.stubborn_gang("--grace", "100ms")
        os.kill(self.process_of("worker --dir"), signal.SIGKILL)
        self.assert_gone(list(ranks.values()) + grandchildren)
        # The worker comes back and the gang with it: a lost worker is not the gang's fault.
        again, grandchildren = self.gang_pids()
        self.assertFalse(set(again.values()) & set(ranks.values()))
        gang.kill(signal.SIGINT)
        gang.kill(signal.SIGINT)
        self.assertEqual(gang.wait(), 130, gang.text)
        self.assert_gone(list(again.values()) + grandchildren)
        self.assert_idle()

    def test_tasks_of_a_stopped_worker_end_before_their_rerun(self):
        """The tasks of a stopped worker end before they are reassigned; they run once more, and
        no budget counts it."""
        self.up("--slots", "1")
        fifo = e2e.Lines(self.fifo())
        self.addCleanup(fifo.close)
        go = os.path.join(self.dir, "go")
        job = self.gangway("submit", "-d", "--", "sh", "-c",
                           f"echo $$ > {fifo.path}; [ -e {go} ] || exec tail -f /dev/null"
                           ).stdout.strip()
        rank = int(fifo.next())
        worker = self.process_of("worker --dir")
        os.kill(worker, signal.SIGSTOP)
        self.assert_gone([rank])
        gone_ns = time.time_ns()
        self.write("go", "")
        os.kill(worker, signal.SIGCONT)
        self.gangway("wait", job)
        self.assertNotEqual(int(fifo.next()), rank)
        # If the test is slow to continue the worker, it is given up nevertheless, but later.
        for fact in self.gangway_json("events", job)["events"]:
            self.assertTrue("was lost" not in fact["text"] or fact["at_ns"] > gone_ns, fact)


if __name__ == "__main__":
    e2e.main()
