#!/usr/bin/env python3
"""The accounting of ended jobs and of their users."""
import csv
import io
import os
import re
import signal
import time

import e2e


class Accounting(e2e.Case):
    def sums(self, *options, **more):
        return self.gangway_json("usage", *options, **more)

    def ended(self, *options, **more):
        return self.gangway_json("jobs", "--ended", *options, **more)

    def test_each_job_counts_once_although_the_scheduler_is_killed(self):
        """Kills the scheduler after each job. The history is smaller than the number of jobs."""
        self.up("--slots", "3", "--history", "2")
        for i in range(4):
            job = self.gangway("submit", "-d", "--name", f"n{i}", "--slots", str(i or "none"),
                               "--", "sh", "-c", "exit $((%d %% 2))" % i).stdout.strip()
            self.gangway("wait", job, rc=i % 2)
            scheduler = self.process_of("scheduler --dir")
            os.kill(scheduler, signal.SIGKILL)
            self.assert_gone([scheduler])
            self.up("--slots", "3", "--history", "2")
        self.gangway("dispatch", "-n", "2", "--name", "gang", "--", "true")
        rows = self.ended()
        self.assertEqual([row["name"] for row in rows], ["gang", "n3", "n2", "n1", "n0"])
        self.assertEqual([row["state"] for row in rows],
                         ["done", "failed", "done", "failed", "done"])
        self.assertEqual([row["exit_code"] for row in rows], [0, 1, 0, 1, 0])
        self.assertEqual([row["slots"] for row in rows], [1, 3, 2, 1, 0])
        self.assertEqual(rows[0]["ranks"], 2)
        total, = self.sums("--by", "day")
        self.assertEqual((total["jobs"], total["failed"]), (5, 2))
        self.assertAlmostEqual(total["slot_seconds"], sum(row["slot_seconds"] for row in rows), 6)
        self.assertGreater(total["slot_seconds"], 0)
        self.assertGreater(min(row["cpu_seconds"] for row in rows), 0)
        self.assertAlmostEqual(total["cpu_seconds"], sum(row["cpu_seconds"] for row in rows), 6)
        table = list(csv.DictReader(io.StringIO(self.gangway("jobs", "--ended", "--csv").stdout)))
        self.assertEqual([row["name"] for row in table], [row["name"] for row in rows])

    def test_next_scheduler_stores_jobs_that_a_killed_one_could_not(self):
        folder = os.path.join(self.dir, "later")
        options = "--slots", "2", "--accounting", os.path.join(folder, "accounting.db")
        self.up(*options)
        self.gangway("wait", self.gangway("submit", "-d", "--", "true").stdout.strip())
        scheduler = self.process_of("scheduler --dir")
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])
        os.mkdir(folder)
        self.up(*options)
        self.assertEqual(self.sums()[0]["jobs"], 1)

    def test_time_before_a_restart_of_the_scheduler_counts(self):
        self.up("--slots", "3")
        fifo, go = self.fifo(), self.fifo("go")
        lines = e2e.Lines(fifo)
        task = self.gangway("submit", "-d", "--", "sh", "-c",
                            f"echo on > {fifo}; cat {go}; exit 3").stdout.strip()
        gang = self.gangway("dispatch", "-d", "-n", "2", "--", "sh", "-c",
                            f"echo on > {fifo}; tail -f /dev/null").stdout.strip()
        self.assertEqual([lines.next() for _ in range(3)], ["on"] * 3)
        scheduler = self.process_of("scheduler --dir")
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])
        killed_ns = time.time_ns()
        self.up("--slots", "3")
        for job in task, gang:
            self.wait_said("after the restart of the scheduler: .*taken over", "events", job)
        now, = self.sums()
        self.assertEqual((now["jobs"], now["running"]), (2, 2))
        self.assertEqual(self.ended(), [])
        with open(go, "w", encoding="utf-8"):
            pass
        self.gangway("wait", task, rc=3)
        self.gangway("cancel", gang)
        self.gangway("wait", gang, rc=None)
        rows = {str(row["id"]): row for row in self.ended()}
        running_least = 0
        for job, ranks in (task, 1), (gang, 2):
            row = rows[job]
            self.assertLess(row["started_ns"], killed_ns)
            least = ranks * (killed_ns - row["started_ns"]) / 1e9
            self.assertGreater(row["slot_seconds"] + 0.01, least)
            running_least += least
        self.assertGreater(now["slot_seconds"] + 0.02, running_least)
        after, = self.sums()
        self.assertEqual((after["jobs"], after["running"]), (2, 0))
        self.assertAlmostEqual(after["slot_seconds"],
                               sum(row["slot_seconds"] for row in rows.values()), 6)
        lines.close()

    def test_cpu_time_is_that_of_all_ranks_and_their_children(self):
        self.up("--slots", "2")
        work = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; times"
        job = self.gangway("dispatch", "-d", "-n", "2", "--", "sh", "-c", work).stdout.strip()
        self.gangway("wait", job)
        used = 0
        for rank in "0", "1":  # the shell says of its children: 0m1.230s 0m0.040s
            said = self.gangway("logs", "--rank", rank, job).stdout.splitlines()[-1]
            for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", said):
                used += 60 * int(minutes) + float(seconds)
        row, = self.ended()
        self.assertGreater(used, 0)
        self.assertGreaterEqual(row["cpu_seconds"], used - 0.04)  # what the shell rounds
        self.assertLess(row["cpu_seconds"], used + 0.2)  # the shells themselves
        self.assertEqual(self.gangway_json("jobs")[0]["cpu_seconds"], row["cpu_seconds"])
        self.assertIn("CPU-TIME", self.gangway("usage").stdout)

    def test_users_see_only_their_own_use(self):
        roles = {"ann": "user", "bob": "user", "root": "admin"}
        tokens = {user: self.gangway_json("token", "create", "--user", user, "--role",
                                          role)["token"] for user, role in roles.items()}
        self.up("--listen", "127.0.0.1", "--slots", "2", "--trust-users")
        with open(self.cluster("address"), encoding="utf-8") as f:
            address = f.read().strip()
        envs = {user: {"GANGWAY_ADDRESS": address, "GANGWAY_TOKEN": token}
                for user, token in tokens.items()}
        for user in "ann", "ann", "bob":
            self.gangway("submit", "--", "true", env=envs[user])
        self.assertEqual([(row["user"], row["jobs"]) for row in self.sums(env=envs["ann"])],
                         [("ann", 2)])
        for words in ("usage",), ("jobs", "--ended"):
            refused = self.gangway(*words, "--user", "bob", env=envs["ann"], rc=1)
            self.assertIn("only user bob or an admin may see", refused.stderr)
        self.assertEqual(self.sums("--user", "ann", env=envs["ann"])[0]["jobs"], 2)
        self.assertEqual({row["user"]: row["jobs"] for row in self.sums(env=envs["root"])},
                         {"ann": 2, "bob": 1})
        self.assertEqual([row["user"] for row in self.ended("--user", "bob", env=envs["root"])],
                         ["bob"])

    def test_work_of_accounts_and_queues_is_listed_and_counted(self):
        path = self.write("gangway.conf", """
            policy = { default-account = "guests"; };
            accounts = ( { name = "vision"; shares = 3; users = ["ann"]; slots = 1; },
                         { name = "guests"; time-limit = "1h"; } );
            queues = ( { name = "night"; priority = -5; } );""")
        token = {user: self.gangway_json("token", "create", "--user", user)["token"]
                 for user in ("ann", "bob")}
        words = (e2e.BINARY, "scheduler", "--config", path, "--dir", self.cluster(), "--state",
                 self.cluster("state"), "--listen", "127.0.0.1", "--workers", "1", "--slots", "2",
                 "--trust-users")
        scheduler = self.start(*words)
        while not os.path.exists(self.cluster("address")):
            pass
        with open(self.cluster("address"), encoding="utf-8") as f:
            address = f.read().strip()
        ann, bob = ({"GANGWAY_ADDRESS": address, "GANGWAY_TOKEN": token[user]}
                    for user in ("ann", "bob"))
        job = self.gangway("submit", "-d", "--queue", "night", "--", "true", env=ann).stdout
        self.gangway("wait", job.strip(), env=ann)
        refused = self.gangway("submit", "--account", "vision", "--", "true", env=bob, rc=1)
        self.assertIn("may not use account vision", refused.stderr)
        refused = self.gangway("submit", "--time-limit", "2h", "--", "true", env=bob, rc=2)
        self.assertIn("above the limit of account guests, 1h", refused.stderr)
        table = self.gangway("account", "list", env=bob).stdout
        self.assertRegex(table, r"vision +- +3 +75\.0% +100\.0%.* 0 of 1 ")
        self.assertRegex(self.gangway("queue", "list", env=bob).stdout, r"night +-5 ")
        for restarted in False, True:  # the next scheduler stores the jobs of its history again
            if restarted:
                scheduler.kill()
                told = self.start(*words).wait_output(r"listening at (\S+?),?\s")
                ann["GANGWAY_ADDRESS"] = told.group(1)  # the old port may be in use
            row, = self.sums("--by", "account,queue", env=ann)
            self.assertEqual((row["account"], row["queue"], row["jobs"]), ("vision", "night", 1))
        self.gangway("down")

    def test_a_cluster_without_accounting_says_so(self):
        self.up("--accounting", "none")
        self.gangway("submit", "--", "true")
        refused = self.gangway("usage", rc=2)
        self.assertIn("keeps no accounts", refused.stderr)

    def test_without_retention_nothing_is_remembered(self):
        self.up("--accounting-retention", "0")
        self.gangway("submit", "--", "true")
        self.assertEqual((self.ended(), self.sums()), ([], []))

    def test_full_disk_does_not_disturb_the_cluster(self):
        """What was stored can be read, and what ends meanwhile is stored later."""
        disk = self.small_disk("1m")
        path = os.path.join(disk, "accounting.db")
        self.up("--accounting", path)
        self.gangway("submit", "--", "true")
        self.assertEqual(self.sums()[0]["jobs"], 1)
        ballast = os.path.join(disk, "ballast")
        with open(ballast, "wb", buffering=0) as f:
            with self.assertRaises(OSError):
                while True:
                    f.write(bytes(4096))
        for _ in range(3):
            self.gangway("submit", "--", "true")
        self.assertEqual(self.sums()[0]["jobs"], 1)
        with open(self.cluster("scheduler.log"), encoding="utf-8") as f:
            log = f.read()
        self.assertEqual(log.count(f"cannot be written: {path}: database or disk is full"), 1, log)
        os.unlink(ballast)
        self.gangway("down")
        self.up("--accounting", path)
        self.assertEqual(self.sums()[0]["jobs"], 4)

    def test_a_damaged_file_does_not_disturb_the_cluster(self):
        path = os.path.join(self.dir, "accounting.db")
        with open(path, "w", encoding="utf-8") as f:
            f.write("this is no database\n" * 1000)
        self.up("--accounting", path)
        self.gangway("submit", "--", "true")
        refused = self.gangway("usage", rc=1)
        self.assertIn("move it away", refused.stderr)
        os.rename(path, path + ".damaged")
        self.assertEqual(self.gangway("submit", "--", "true").returncode, 0)
        self.gangway("down")
        self.up("--accounting", path)
        self.assertGreaterEqual(self.sums()[0]["jobs"], 1)


if __name__ == "__main__":
    e2e.main()
