#!/usr/bin/env python3
"""A gang waits while tasks run: what comes free is kept for it, and who waits is told why."""
import e2e


class Reservation(e2e.Case):
    def submit(self, *words):
        return self.gangway(*words).stdout.split()[0]

    def release(self, fifo):
        with open(fifo, "w"):
            pass

    def test_waits_its_turn(self):
        self.up("--slots", "2")
        fifos = [self.fifo("a"), self.fifo("b")]
        first = self.submit("submit", "-d", "--wall", "10m", "--", "cat", fifos[0])
        second = self.submit("submit", "-d", "--", "cat", fifos[1])
        gang = self.submit("dispatch", "-d", "-n", "2", "--", "sh", "-c", "echo rank $RANK")
        later = self.submit("submit", "-d", "--", "true")
        self.assertIn(f"job {second} has no wall limit (--wall)",
                      self.gangway("explain", gang).stdout)
        self.release(fifos[1])
        self.gangway("wait", second)
        self.assertIn(f"kept for job {gang}", self.gangway("explain", later).stdout)
        quick = self.submit("submit", "-d", "--wall", "1s", "--grace", "1s", "--", "true")
        self.gangway("wait", quick)  # it ends before the gang can start
        self.assertRegex(self.gangway("explain", gang).stdout,
                         rf"starts in about \d+ min at the latest, when job {first} reaches")
        self.release(fifos[0])
        self.gangway("wait", gang)
        self.gangway("wait", later)
        self.assertIn("rank 1", self.gangway("logs", gang).stdout)
        self.assert_idle()


if __name__ == "__main__":
    e2e.main()
