#!/usr/bin/env python3
"""Very many jobs: each command answers each user, whatever the names and texts of the jobs."""
import json
import os

import e2e

QUEUED = os.path.join(e2e.BUILD, "bin", "queued")
# A listing of 5,150 jobs exceeded a message. (A checked core examines all jobs in each step.)
JOBS = 10000
ANNOTATED, NOTE_BYTES = 249, 4000
ARRAY = 1000 if e2e.SANITIZED else 5000
SHOWN = 50
SUBMIT_S = 280
RUNS_ON = ("tail", "-f", "/dev/null")


class Load(e2e.Case):
    def rows(self, *arguments):
        return json.loads(self.gangway("jobs", *arguments, "--json").stdout)

    def user(self, name):
        """The environment of a user with a token."""
        home = os.path.join(self.dir, name)
        os.mkdir(home, 0o700)
        token = self.gangway_json("token", "create", "--user", name, "--role", "user")["token"]
        return {"GANGWAY_ADDRESS": self.address, "GANGWAY_TOKEN": token, "HOME": home}

    def up_for_two(self):
        """A cluster of one slot, and the environments of two of its users."""
        self.gangway("token", "create", "--user", "carol", "--role", "admin")
        self.up("--listen", "127.0.0.1", "--slots", "1", "--trust-users")
        self.address = self.gangway_json("status")["address"]
        return self.user("alice"), self.user("bob")

    @e2e.in_release
    def test_commands_answer_with_very_many_queued_jobs(self):
        alice, bob = self.up_for_two()
        hold = self.gangway("submit", "-d", "--name", "hold", "--", *RUNS_ON,
                            env=alice).stdout.strip()
        self.run_program(QUEUED, str(JOBS), env=alice, timeout_s=SUBMIT_S)
        self.run_program(QUEUED, str(ANNOTATED), str(NOTE_BYTES), env=bob, timeout_s=SUBMIT_S)
        done = self.gangway("jobs", env=bob)
        self.assertEqual(len(done.stdout.splitlines()), 1 + SHOWN)
        self.assertIn(f"and {JOBS + 1 + ANNOTATED - SHOWN} more", done.stderr)
        self.assertEqual(len(self.rows("--all")), JOBS + 1 + ANNOTATED)
        self.assertEqual(len(self.rows("--limit", "70", "--user", "alice")), 70)
        self.assertEqual([row["name"] for row in self.rows("--state", "running")], ["hold"])
        self.every_verb(alice)
        self.every_verb(bob)
        self.gangway("logs", hold, env=alice)
        self.cancel_all(bob, ANNOTATED)
        self.cancel_all(alice, JOBS + 1)
        self.gangway("wait", hold, env=alice, rc=None)
        self.assertEqual(self.gangway_json("status")["jobs"]["running"], 0)

    def every_verb(self, env):
        last = json.loads(self.gangway("jobs", "last", "--json", env=env).stdout)[0]["id"]
        last = str(last)
        self.assertIn("it needs 1 free slot", self.gangway("explain", last, env=env).stdout)
        self.assertIn("(task 0 of job " + last, self.gangway("explain", "queued", env=env).stdout)
        self.assertIn("ready", self.gangway("tasks", last, env=env).stdout)
        self.assertIn("submitted by", self.gangway("events", "last", env=env).stdout)
        self.assertIn("queued", self.gangway("graph", "last", env=env).stdout)
        self.gangway("wait", "--timeout", "50ms", last, env=env, rc=124)
        self.gangway("restart", last, env=env, rc=2)  # no gang of it runs
        self.gangway("stop", last, env=env, rc=2)
        self.gangway("pause", last, env=env)
        self.gangway("resume", last, env=env)
        self.gangway("cancel", "queued", env=env)
        self.gangway("retry", last, env=env)

    def cancel_all(self, env, count):
        said = self.gangway("cancel", "all", env=env, timeout_s=SUBMIT_S).stderr.splitlines()
        self.assertEqual(len(set(said)), count)

    def test_long_annotations_of_many_jobs_are_listed(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--name", "hold", "--", *RUNS_ON)
        self.run_program(QUEUED, str(ANNOTATED), str(NOTE_BYTES), timeout_s=SUBMIT_S)
        self.assertEqual(len(self.rows("--all")), ANNOTATED + 1)
        self.assertIn("hold", self.gangway("explain", "hold").stdout)
        self.gangway("cancel", "queued")

    def test_failed_array_with_long_errors_is_listed_and_retried(self):
        self.up("--slots", "2")
        fails = "printf '%0200d' 7 >&2; exit 3"
        job = self.gangway("submit", "-d", "--array", f"0-{ARRAY - 1}", "--", "sh", "-c",
                           fails).stdout.strip()
        self.gangway("wait", job, rc=3, timeout_s=SUBMIT_S)
        tasks = json.loads(self.gangway("tasks", job, "--json").stdout)
        self.assertEqual(len(tasks), ARRAY)
        self.assertIn("0007", tasks[-1]["text"])
        self.assertIn(f"{ARRAY} tasks run again", self.gangway("retry", job).stderr)
        self.gangway("cancel", "--now", job)

    def test_names_last_and_all_select_own_jobs(self):
        alice, bob = self.up_for_two()
        train = ["submit", "-d", "--name", "train", "--", *RUNS_ON]
        first = self.gangway(*train, env=alice).stdout.strip()
        second = self.gangway(*train, env=bob).stdout.strip()
        self.assertIn(f"job {first}", self.gangway("explain", "train", env=alice).stdout)
        self.assertIn(f"job {first}", self.gangway("explain", "last", env=alice).stdout)
        self.assertIn(f"job {second}", self.gangway("explain", "train", env=bob).stdout)
        self.assertIn("of yours", self.gangway("explain", "train", rc=2).stderr)
        said = self.gangway("cancel", "all", env=bob).stderr
        self.assertEqual(said, f"job {second}: cancelled\n")
        self.assertIn("another user", self.gangway("cancel", first, env=bob, rc=1).stderr)
        self.gangway("cancel", "--user", "alice", "--all-users", "all", rc=2)
        self.assertEqual(self.gangway("cancel", "all", "--all-users").stderr,
                         f"job {first}: cancelled\n")

    def test_resource_use_is_listed_and_survives_a_restart(self):
        self.up("--slots", "3")
        shape = ["--slots", "2", "--memory", "64M"]
        job = self.gangway("submit", "-d", *shape, "--", "sleep", "1").stdout.strip()
        runs = self.gangway("submit", "-d", "--name", "runs", "--", *RUNS_ON).stdout.strip()
        self.gangway("wait", job)
        before = self.rows(job)[0]
        self.assertLessEqual(before["submitted_ns"], before["started_ns"])
        self.assertLess(before["started_ns"], before["ended_ns"])
        self.assertEqual(before["resources"]["slots"], 2)
        self.assertEqual(before["resources"]["memory_bytes"], 64 << 20)
        seconds = (before["ended_ns"] - before["started_ns"]) / 1e9
        # measured from outside, so it may have begun a little later
        ran = before["slot_seconds"] / 2
        self.assertTrue(0.5 < ran < seconds, (ran, seconds))
        self.assertAlmostEqual(before["memory_gib_seconds"], ran / 16, delta=0.01)
        self.assertEqual(before["gpu_seconds"], 0)
        where = json.loads(self.gangway("tasks", "--json").stdout)
        self.assertEqual([(row["job"], row["worker"]) for row in where],
                         [(int(runs), "worker-1")])
        self.assertIn("runs", self.gangway("tasks").stdout)
        self.assertEqual([row["name"] for row in self.rows("--user", before["user"])],
                         ["runs", "sleep"])
        self.assertEqual(self.rows("--user", "nobody-else"), [])
        ran_ns = self.gangway_json("tasks", job)[0]["run_ns"]
        self.assertGreater(ran_ns, 5e8)
        self.gangway("down", "--now")
        self.up("--slots", "3")
        self.assertEqual(self.gangway_json("tasks", job)[0]["run_ns"], ran_ns)
        after = self.rows(job)[0]
        for key in ("user", "started_ns", "slot_seconds", "memory_gib_seconds"):
            self.assertEqual(after[key], before[key], key)


if __name__ == "__main__":
    e2e.main()
