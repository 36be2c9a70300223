#!/usr/bin/env python3
"""Actors: in a private cluster, on one and two workers, inline, and held by several programs."""
import json
import os
import time
import unittest

import e2e

ACTORS = os.path.join(e2e.BUILD, "bin", "actors")
SHARED = ("state", "order", "crash", "killed", "cannot", "inside", "behind")


class Actors(e2e.Case):
    def check(self, what, **options):
        self.assertEqual(self.run_program(ACTORS, what, timeout_s=100, **options).stdout, "ok\n")

    def actors(self):
        return [a for a in self.gangway_json("actor", "list") if a["state"] != "dead"]

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "an actor keeps the only slot there is")
    def test_actor_works_in_a_private_cluster(self):
        for what in SHARED:
            with self.subTest(what=what):
                self.check(what)

    def test_actor_calls_run_in_order_inside_the_client_process(self):
        self.check("order", env={"GANGWAY_INLINE": "1"})

    def test_program_is_told_that_its_actor_holds_the_only_slot(self):
        self.up("--slots", "1")
        done = self.run_program(ACTORS, "order")
        self.assertEqual(done.stderr.count("hold all slots of the cluster (1)"), 1, done.stderr)

    def test_command_in_a_private_cluster_uses_this_cluster(self):
        jobs = self.gangway("submit", "--", e2e.BINARY, "jobs", "--json").stdout
        self.assertEqual([job["id"] for job in json.loads(jobs)], [1])
        refused = self.gangway("submit", "--", e2e.BINARY, "submit", "-d", "--", "true", rc=None)
        self.assertIn("cannot outlive this private cluster", refused.stderr)

    def test_actor_works_on_two_workers(self):
        self.up("--slots", "4", "--workers", "2")
        for what in SHARED:
            with self.subTest(what=what):
                self.check(what)
        self.assert_idle()
        self.assertEqual(self.actors(), [])

    def test_actor_is_destroyed_when_its_last_holder_ends(self):
        """The creator is killed, and the client that found the actor continues; when that
        client ends, destroy runs."""
        self.up("--slots", "2")
        gone, go_on = self.fifo("gone"), self.fifo("go")
        maker = self.start(ACTORS, "keep", gone)
        maker.wait_output("kept")
        finder = self.start(ACTORS, "find", go_on)
        finder.wait_output("found")
        self.assertEqual([a["name"] for a in self.actors()], ["kept"])
        maker.kill()
        maker.wait()
        with open(go_on, "w", encoding="ascii") as fifo:
            fifo.write("x")
        self.assertEqual(self.read_fifo(gone).strip(), "111")
        self.assertEqual(finder.wait(), 0)
        self.assert_idle()
        self.assertEqual(self.actors(), [])

    def test_actors_of_a_job_are_its_own_and_end_with_it(self):
        self.up("--slots", "4")
        go_on = self.fifo("go")
        program = self.start(ACTORS, "scope", go_on)
        names = program.wait_output(r"made (\S+) (\S+)").groups()
        self.assertEqual(sorted(a["name"] for a in self.actors()), sorted(names))
        self.gangway("actor", "rm", names[0])
        with open(go_on, "w", encoding="ascii") as fifo:
            fifo.write("x")
        self.assertEqual(program.wait(), 0, program.text)
        self.assert_idle()
        self.assertEqual(self.actors(), [])

    def test_actor_name_is_free_after_its_client_closed(self):
        self.up("--slots", "3")
        path = os.path.join(self.dir, "slow")
        for _ in range(4):
            self.assertEqual(self.run_program(ACTORS, "names", path).stdout, "ok\n")
            os.unlink(path)
        self.assertEqual(self.actors(), [])

    def test_close_does_not_wait_for_actors_held_by_others(self):
        self.up("--slots", "2")
        maker = self.start(ACTORS, "keep", "")
        maker.wait_output("kept")
        go_on = self.fifo("go")
        finder = self.start(ACTORS, "find", go_on)
        finder.wait_output("found")
        begun = time.monotonic()
        with open(go_on, "w", encoding="ascii") as fifo:
            fifo.write("x")
        self.assertEqual(finder.wait(), 0)
        self.assertLess(time.monotonic() - begun, 8)  # close would give up after 10 s
        self.assertEqual([a["name"] for a in self.actors()], ["kept"])
        maker.kill()
        maker.wait()

    def test_output_of_actor_calls_is_in_the_actor_log(self):
        self.up("--slots", "2")
        maker = self.start(ACTORS, "keep", "")
        maker.wait_output("kept")
        job = str(self.actors()[0]["job"])
        finder = self.start(ACTORS, "find", self.fifo("never"))
        finder.wait_output("found")
        logs = self.start(e2e.BINARY, "logs", "-f", job)
        logs.wait_output("asked for its process")
        logs.wait_output(r"\[tally_pid, task 0 of job \d+, try 1\]")
        self.assertIn("alive", self.gangway("explain", job).stdout)
        self.gangway("actor", "rm", "kept")
        finder.kill()
        self.assert_idle()
        self.run_program(e2e.BINARY, "actor", "rm", "kept", rc=2)
        maker.kill()


if __name__ == "__main__":
    e2e.main()
