#!/usr/bin/env python3
"""Very many tasks at once: they fail, wait, or lose their client; other clients are answered
meanwhile."""
import os
import time

import e2e

CROWD = os.path.join(e2e.BUILD, "bin", "crowd")
COUNT = 20000 if e2e.SANITIZED else 1000000
ANSWER_S = 20 if e2e.SANITIZED else 10  # for other clients, beside the crowd


class Crowds(e2e.Case):
    def answered(self):
        """Another client is answered, and its task runs."""
        begin = time.monotonic()
        self.gangway("status")
        self.gangway("submit", "-q", "-p", "1", "--", "true")  # not behind the older crowd
        self.assertLess(time.monotonic() - begin, ANSWER_S)

    def test_scheduler_answers_while_a_huge_job_fails(self):
        self.up("--slots", "2")
        crowd = self.start(CROWD, "fail", str(COUNT))
        self.answered()
        self.assertEqual(crowd.wait(200), 0, crowd.text)
        self.answered()
        self.assert_idle()

    def test_scheduler_answers_after_the_client_of_a_huge_job_dies(self):
        self.up("--slots", "2")
        crowd = self.start(CROWD, "wait", str(COUNT), self.fifo())
        crowd.wait_output("there", 120)
        self.answered()
        crowd.kill()
        crowd.wait()
        self.answered()
        self.assert_idle()
        job = self.gangway_json("jobs")[-1]
        self.assertEqual((job["tasks"], job["state"]), (COUNT + 1, "cancelled"))

    def test_scheduler_answers_during_a_huge_chain(self):
        self.up("--slots", "2")
        crowd = self.start(CROWD, "chain", str(COUNT // 10))
        self.answered()
        self.assertEqual(crowd.wait(120), 0, crowd.text)


if __name__ == "__main__":
    e2e.main()
