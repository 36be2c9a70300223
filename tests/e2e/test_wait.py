#!/usr/bin/env python3
"""`gangway wait`: for one of several jobs."""
import json

import e2e


class Wait(e2e.Case):
    def test_wait_any_prints_the_first_job_that_has_ended(self):
        self.up("--slots", "3")
        gates = [self.fifo(f"gate{i}") for i in range(3)]
        jobs = [self.gangway("submit", "-d", "--", "sh", "-c",
                             f"read code <{gate}; exit $code").stdout.strip() for gate in gates]
        done = self.gangway("wait", "--any", "--timeout", "10ms", *jobs, rc=124)
        self.assertIn("none of the jobs has ended", done.stderr)
        waiter = self.start(e2e.BINARY, "wait", "--any", *jobs)
        with open(gates[1], "w", encoding="utf-8") as file:
            file.write("7\n")
        self.assertEqual(waiter.wait(), 7)
        self.assertIn(f"{jobs[1]}\n", waiter.text)
        done = self.gangway("wait", "--any", "--json", ",".join(jobs), rc=7)
        self.assertEqual(json.loads(done.stdout)["job"], int(jobs[1]))
        with open(gates[2], "w", encoding="utf-8") as file:
            file.write("0\n")
        self.assertEqual(self.gangway("wait", "--any", jobs[0], jobs[2]).stdout, f"{jobs[2]}\n")
        self.assertEqual(self.gangway("wait", "--any", jobs[0], "999", rc=2).stdout, "")
        self.gangway("cancel", jobs[0])

    def test_wait_any_fails_if_there_is_no_job_to_wait_for(self):
        """So that a loop that waits for one unfinished job after the other comes to an end."""
        self.up("--slots", "1")
        self.gangway("submit", "--", "true")
        done = self.gangway("wait", "--any", "all", rc=2)
        self.assertEqual((done.stdout, done.stderr), ("", "no unfinished jobs\n"))

    def test_wait_any_takes_jobs_in_any_order(self):
        self.up("--slots", "1")
        hold = self.gangway("submit", "-d", "--", "tail", "-f", "/dev/null").stdout.strip()
        later = [self.gangway("submit", "-d", "--", "true").stdout.strip() for _ in range(3)]
        self.gangway("cancel", later[1])
        self.assertEqual(self.gangway("wait", "--any", "--json", later[2], later[1], hold,
                                      later[1], rc=130).stdout.count(f'"job":{later[1]}'), 1)
        self.gangway("cancel", "all")


if __name__ == "__main__":
    e2e.main()
