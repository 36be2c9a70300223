#!/usr/bin/env python3
"""Large results one after another in the same memory: without page faults, and without visible
changes for any reader."""
import os
import re
import signal
import subprocess

import e2e

MEMFILES = os.path.join(e2e.BUILD, "bin", "memfiles")
MIB = 1 << 20


class Memfiles(e2e.Case):
    def setUp(self):
        super().setUp()
        self.up("--slots", "3")

    def worker_pid(self):
        return next(pid for pid in e2e.pids_marked(self.mark)
                    if "worker --dir" in e2e.command_of(pid))

    def test_later_rounds_reuse_mapped_result_pages(self):
        """Later rounds of a pipeline read their results from the same mappings, and the worker
        has as many descriptors after 40 rounds as after 10."""
        popen = subprocess.Popen([MEMFILES, "faults", "41"], env=self.env, cwd=self.dir, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(popen.stdout.close)
        self.addCleanup(popen.kill)
        counts = []
        for _ in range(40):
            popen.stdout.readline()
            counts.append(len(os.listdir(f"/proc/{self.worker_pid()}/fd")))
        first, fewest = map(int, re.fullmatch(r"first (\d+) fewest (\d+)\n",
                                              popen.stdout.readline()).groups())
        self.assertEqual(popen.wait(), 0)
        self.assertGreaterEqual(first, 4 * MIB // (64 << 10))  # the kernel maps 16 pages at once
        self.assertLess(fewest, first / 8)
        self.assertLessEqual(max(counts[30:]), max(counts[:10]) + 2, counts)

    def test_bytes_retained_by_a_task_stay_unchanged(self):
        out = self.run_program(MEMFILES, "keep", "30")
        self.assertEqual(out.stdout, "kept\n")

    def test_bytes_held_by_a_client_stay_unchanged(self):
        out = self.run_program(MEMFILES, "have", "30")
        self.assertEqual(out.stdout, "had\n")

    def test_killed_runners_leave_no_partial_results(self):
        """Runners are killed at any moment; a partly written result is never used."""
        popen = subprocess.Popen([MEMFILES, "faults", "60"], env=self.env, cwd=self.dir, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        self.addCleanup(popen.stdout.close)
        self.addCleanup(popen.kill)
        for i in range(59):
            line = popen.stdout.readline()
            self.assertRegex(line, r"^\d+$")
            # Not while it ends: LeakSanitizer's helper process has its name, and the program waits
            # for it.
            for pid in e2e.pids_marked(self.mark) if i % 5 == 3 and i < 55 else ():
                if pid != popen.pid and "memfiles" in e2e.command_of(pid) and \
                        "supervisor" not in e2e.command_of(pid):
                    os.kill(pid, signal.SIGKILL)
        self.assertRegex(popen.stdout.readline(), r"^first \d+ fewest \d+$")
        self.assertEqual(popen.wait(), 0)


class TwoUsers(e2e.Case):
    def test_result_memory_is_never_shared_between_users(self):
        tokens = [self.gangway_json("token", "create", "--user", name, "--role", role)["token"]
                  for name, role in (("alice", "user"), ("bob", "user"), ("root", "admin"))]
        self.up("--slots", "6", "--listen", "127.0.0.1", "--trust-users")
        path = self.cluster("address")
        with open(path, encoding="utf-8") as f:
            address = f.read().strip()
        env = {"GANGWAY_ADDRESS": address, "GANGWAY_TOKEN": tokens[0], "OTHER_TOKEN": tokens[1]}
        out = self.run_program(MEMFILES, "pry", "8", env=env)
        self.assertEqual(out.stdout, "pried\n")
        env["GANGWAY_TOKEN"] = tokens[2]
        for job in range(7, 17):  # earlier tasks were given new files, or none
            log = self.gangway("logs", str(job), env=env).stdout
            self.assertEqual(log, "looked at 1\n", job)


if __name__ == "__main__":
    e2e.main()
