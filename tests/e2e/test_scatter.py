#!/usr/bin/env python3
"""Scattered values are counted and limited in the scheduler; see results/scatter.c."""
import os
import re

import e2e

SCATTER = os.path.join(e2e.BUILD, "bin", "scatter")
KIB = 1024


class Scatter(e2e.Case):
    def up_with(self, files, *arguments):
        """A cluster whose processes may have this many descriptors."""
        self.run_program("sh", "-c", f'ulimit -n {files} && exec "$@"', "sh", e2e.BINARY, "up",
                         *arguments)
        self.is_up = True

    def scatter(self, count, size, tasks, env=None, many=()):
        """How many values were accepted, and why the next one was not."""
        done = self.run_program(SCATTER, str(count), str(size), str(tasks), *many, env=env,
                                timeout_s=100)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[-1], "well")
        refused = re.match(r"refused (-\d+): (.*)", lines[1])
        return int(lines[0].split()[1]), refused and refused.group(2)

    def assert_nothing_left(self, env=None):
        """The values of a client are removed when it has ended, which is noticed a moment
        later."""
        self.assert_idle()
        while (counts := self.gangway_json("status", env=env)["scattered"])["values"]:
            pass
        self.assertEqual((counts["bytes"], counts["descriptors"]), (0, 0))

    def test_more_small_values_than_descriptors_can_be_scattered(self):
        """There are more values than descriptors, in all sizes that need no descriptor."""
        self.up_with(400, "--slots", "2")
        for size in (10, 8 * KIB, 200 * KIB):
            self.assertEqual(self.scatter(600, size, 50), (600, None))
            self.assert_nothing_left()

    def test_scatter_beyond_the_descriptor_limit_is_refused(self):
        self.up_with(400, "--slots", "2")
        most = self.gangway_json("status")["scattered"]["descriptors_max"]
        self.assertEqual(most, (400 - 128) // 2)
        taken, why = self.scatter(300, 300 * KIB, 20)
        self.assertEqual(taken, most)
        self.assertIn(f"holds {most} values that are larger than 256 KiB, which is the most, "
                      f"{most} of them from here; release the futures", why)
        self.assert_nothing_left()

    def test_scatter_beyond_the_memory_limit_is_refused(self):
        self.up("--slots", "2", "--scatter-memory", "4M")
        for size, fit, full in ((100 * KIB, 40, 3.9), (1000 * KIB, 4, 3.9)):
            taken, why = self.scatter(100, size, 4)
            self.assertEqual(taken, fit)
            self.assertIn(f"it holds {fit} values of {full} MiB, of at most 4.0, {fit} of them and "
                          f"{full} MiB from here", why)
            self.assertIn("release the futures", why)
            self.assertIn("--scatter-memory", why)
        self.assertIn("no room for a value of 9.5 MiB: it holds 0 values",
                      self.run_program(SCATTER, "1", "10000000", "0").stdout)
        self.assert_nothing_left()
        listed = self.gangway("status").stdout
        self.assertRegex(listed, r"Scattered values\s+0\n")

    def test_scatter_many_stores_all_values_or_none(self):
        """All values are stored, or none is left."""
        self.up("--slots", "2", "--scatter-memory", "4M")
        self.assertEqual(self.scatter(2000, 10, 50, many=("many",)), (2000, None))
        self.assert_nothing_left()
        taken, why = self.scatter(100, 100 * KIB, 4, many=("many",))
        self.assertEqual(taken, 0)
        self.assertIn("it holds 40 values of 3.9 MiB, of at most 4.0", why)
        self.assert_nothing_left()

    def test_large_values_are_scattered_without_a_copy(self):
        self.up("--slots", "2")
        self.assertEqual(self.scatter(2, 64 << 20, 2), (2, None))
        self.assert_nothing_left()

    def test_scatter_over_tls_has_the_same_limits(self):
        """Large values arrive as bytes over TLS and become descriptors in the scheduler, so
        they count likewise."""
        token = self.gangway_json("token", "create", "--user", "root", "--role", "admin")
        self.up_with(400, "--slots", "2", "--listen", "127.0.0.1", "--trust-users")
        path = self.cluster("address")
        with open(path, encoding="utf-8") as f:
            env = {"GANGWAY_ADDRESS": f.read().strip(), "GANGWAY_TOKEN": token["token"]}
        self.assertEqual(self.scatter(500, 8 * KIB, 50, env), (500, None))
        taken, why = self.scatter(200, 300 * KIB, 20, env)
        self.assertEqual(taken, (400 - 128) // 2)
        self.assertIn("release the futures", why)
        self.assert_nothing_left(env)

    def test_scattered_values_displace_no_ended_jobs(self):
        """Values remove no job from the list of ended jobs."""
        self.up("--slots", "1")
        self.gangway("submit", "--", "true")
        before = self.gangway_json("status")["jobs"]["ended"]
        self.assertEqual(self.scatter(300, 10, 0), (300, None))
        self.assert_nothing_left()
        jobs = self.gangway_json("jobs")
        self.assertEqual(self.gangway_json("status")["jobs"]["ended"], len(jobs))
        self.assertEqual(before, 1)
        self.assertIn("no job 150", self.gangway("tasks", "150", rc=2).stderr)


if __name__ == "__main__":
    e2e.main()
