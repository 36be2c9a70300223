#!/usr/bin/env python3
"""Options of tasks, from a shell and from C (graphs/options.c): named resources, workers, retry
backoff, inactivity timeouts, annotations."""
import os

import e2e

PROGRAM = os.path.join(e2e.BUILD, "bin", "options")


class Options(e2e.Case):
    def test_named_resources_limit_running_tasks(self):
        self.up("--slots", "4", "--workers", "2", "--resources", "license=1,tape=2")
        held = self.fifo("held")
        waits = ["submit", "-d", "--resources", "license=1", "--"]
        first = self.gangway(*waits, "sh", "-c", f"cat {held}").stdout.strip()
        second = self.gangway(*waits, "true").stdout.strip()
        self.assertIn("it needs 1 free slot, 1 of license\n  3 of 4 slots are free",
                      self.gangway("explain", second).stdout)
        worker = next(w for w in self.gangway_json("worker", "list") if w["resources"])
        self.assertEqual(worker["name"], "worker-1")
        self.assertEqual(worker["resources"], {"license": {"amount": 1, "free": 0},
                                               "tape": {"amount": 2, "free": 2}})
        with open(held, "w", encoding="utf-8"):
            pass
        self.gangway("wait", first)
        self.gangway("wait", second)
        said = self.gangway("submit", "--resources", "license=3", "--", "true", rc=2).stderr
        self.assertIn("no worker offers 3 of `license`: the most is 1", said)
        said = self.gangway("submit", "--resources", "disc=1", "--", "true", rc=2).stderr
        self.assertIn("no worker offers any of `disc`", said)

    def test_command_without_a_slot_starts_although_no_slot_is_free(self):
        self.up("--slots", "1")
        held = self.fifo("held")
        first = self.gangway("submit", "-d", "--", "sh", "-c", f"cat {held}").stdout.strip()
        self.assertEqual(self.gangway("submit", "--slots", "none", "--", "echo", "runs").stdout,
                         "runs\n")
        many = self.write("many", '[{"argv": ["echo", "too"], "options": {"slots": "none"}}]')
        self.assertIn("too\n", self.gangway("submit", "--from-json", many).stdout)
        self.assertIn("without a slot", self.gangway("submit", "--slots", "none", "--gpus", "1",
                                                     "--", "true", rc=2).stderr)
        with open(held, "w", encoding="utf-8"):
            pass
        self.gangway("wait", first)

    def test_function_without_a_slot_starts_although_no_slot_is_free(self):
        self.subject("slotless")

    def test_malformed_resources_are_refused(self):
        self.assertIn("\"license\" is not NAME=VALUE",
                      self.gangway("up", "--resources", "license", rc=2).stderr)
        self.assertIn("resources: a=0: not a whole number from 1",
                      self.gangway("submit", "--resources", "a=0", "--", "true", rc=2).stderr)
        self.assertIn("--gpu-memory needs --gpus",
                      self.gangway("submit", "--gpu-memory", "1G", "--", "true", rc=2).stderr)

    def test_on_and_prefer_select_workers_by_name(self):
        self.up("--slots", "4", "--workers", "2")
        named = {w["name"]: w["id"] for w in self.gangway_json("worker", "list")}
        for name in sorted(named):
            job = self.gangway("submit", "-d", "--on", name, "--", "true").stdout.strip()
            self.gangway("wait", job)
            said = self.gangway("explain", job).stdout
            self.assertIn("done", said)
            job = self.gangway("dispatch", "-d", "-n", "2", "--prefer", name, "--", "true").stdout
            self.gangway("wait", job.strip())
        said = self.gangway("submit", "--on", "worker-9", "--", "true", rc=2).stderr
        self.assertRegex(said, "no worker or host is called worker-9: give another .*worker-1 on ")
        said = self.gangway("submit", "--prefer", "worker-1,nobody", "--", "true").stderr
        self.assertIn("--prefer nobody: no worker or host has this name", said)
        self.assertNotIn("worker-1", said)
        for option in ("--on", "--prefer"):
            self.assertIn("a name is missing",
                          self.gangway("submit", option, "", "--", "true", rc=2).stderr)
        self.assertIn("only one of",
                      self.gangway("submit", "--on", "a", "--prefer", "b", "--", "true",
                                   rc=2).stderr)

    def test_retry_waits_for_its_backoff(self):
        self.up("--slots", "1")
        count = self.write("count", "")
        script = f'echo x >> {count}; test "$(wc -l < {count})" = 3'
        self.gangway("submit", "--retries", "3", "--backoff", "50ms", "--", "sh", "-c", script)
        with open(count, encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 3)
        job = self.gangway("submit", "-d", "--retries", "3", "--backoff", "4m", "--", "false")
        job = job.stdout.strip()
        said = self.wait_said("before attempt", "explain", job)  # it may still run
        self.assertRegex(said, r"it waits [1-4]m(\d\ds)? before attempt 2 of 4")
        self.gangway("cancel", job)
        self.assertIn("cancelled", self.gangway("wait", job, rc=130).stderr)
        self.assert_idle()


    def subject(self, name, env=None):
        self.assertEqual(self.run_program(PROGRAM, name, env=env).stdout, f"{name}: well\n")

    def test_c_function_sees_its_restart_count(self):
        self.subject("tries")
        self.subject("tries", env={"GANGWAY_INLINE": "1"})

    def test_inactivity_timeout_ends_a_silent_c_function(self):
        self.subject("silence")

    def test_progress_calls_reset_the_inactivity_timeout(self):
        self.subject("progress")

    def test_steps_of_any_rank_reset_the_inactivity_timeout(self):
        self.subject("steps")

    def test_ranks_of_a_function_stop_at_the_step_of_the_option(self):
        self.subject("until")
        self.subject("until", env={"GANGWAY_INLINE": "1"})

    def test_inactivity_timeout_ends_a_silent_command(self):
        said = self.gangway("submit", "--inactivity-timeout", "200ms", "--", "sh", "-c",
                            "echo last words; exec tail -f /dev/null", rc=124)
        self.assertIn("inactivity timeout of 200ms", said.stderr)
        self.assertEqual(said.stdout, "last words\n")

    def test_command_output_resets_the_inactivity_timeout(self):
        """The output continues for longer than the timeout, and the timeout is longer than
        machines stand still."""
        says = "for i in $(seq 15); do echo on; timeout .4 tail -f /dev/null || :; done"
        self.gangway("submit", "-q", "--inactivity-timeout", "2s", "--", "sh", "-c", says)

    def test_jobs_can_be_selected_by_annotation(self):
        self.up("--slots", "1")
        for team in ("north", "south"):
            job = self.gangway("submit", "-d", "--annotate", f"team={team}", "--annotate",
                               "note=a b=c", "--", "true").stdout.strip()
            self.gangway("wait", job)
        jobs = self.gangway_json("jobs", "--where", "team=north")
        self.assertEqual([j["annotations"] for j in jobs], [{"note": "a b=c", "team": "north"}])
        self.assertEqual(len(self.gangway_json("jobs", "--where", "note=a b=c")), 2)
        self.assertEqual(self.gangway_json("jobs", "--where", "team=north", "--where", "note=x"),
                         [])
        self.assertIn("(team=south,note=a b=c)", self.gangway("explain", "last").stdout)
        said = self.gangway("submit", "--annotate", "nothing", "--", "true", rc=2).stderr
        self.assertIn("annotations: \"nothing\" is not NAME=VALUE", said)
        self.assertIn("NAME=VALUE", self.gangway("jobs", "--where", "x", rc=2).stderr)


if __name__ == "__main__":
    e2e.main()
