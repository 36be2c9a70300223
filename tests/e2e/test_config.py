#!/usr/bin/env python3
"""The configuration file of schedulers and workers."""
import json
import os
import signal
import subprocess
import time

import e2e

# The message for a bad file (with FILE for its path), after "gangway config: ".
BAD = (
    ("worker = { slotz = 3; };", "FILE:1: unknown option slotz, did you mean slots?"),
    ("workers = { };", "FILE:1: unknown group workers, did you mean worker?"),
    ("worker = 3;", "FILE:1: worker must be a group"),
    ('worker = {\n slots = "8"; };', "FILE:2: slots must be a whole number"),
    ("worker = { slots = true; };", "FILE:1: slots must be a whole number"),
    ("worker = {\n slots = 0; };", "FILE:2: slots 0: the minimum is 1"),
    ("worker = {\n slots = 4097; };", "FILE:2: slots 4097: must be 1 to 4096"),
    ("worker = {\n\n slots = 4294967297; };", "FILE:3: the number 4294967297 is too large"),
    ("worker = {\n slots = 99999999999999999999LL; };",
     "FILE:2: the number 99999999999999999999LL is too large: it does not fit into 64 bits"),
    ("worker = { slots = 4294967297L; };", "FILE:1: slots 4294967297: the maximum is"),
    ("worker = { memory-pause = 1.5; };", "FILE:1: memory-pause 1.5 must be a fraction"),
    ("worker = {\n memory-spill = 0.1; };", "FILE:2: memory-spill 0.1: memory target (0.6) is"),
    ('worker = { connect = "x"; };', "FILE:1: connect: x: wanted HOST:PORT"),
    ('worker = { spill-dir = "/dev/null"; };', "FILE:1: spill-dir /dev/null is a file"),
    ("worker = { background = true; };", "FILE:1: background is for the command line only"),
    ("worker = {\n health-interval = \"999ms\"; };",
     "FILE:2: health-interval: the minimum is 1 s"),
    ("worker = { health-timeout = \"none\"; };", "FILE:1: health-timeout cannot be none"),
    ("worker = { health-check = \"/a\";\n health-interval = \"none\"; };",
     "FILE:1: health-check needs an interval, and --health-interval is none"),
    ("scheduler = { accept-loss = true; };", "FILE:1: accept-loss is for the command line only"),
    ("scheduler = { listen = 3; };", 'FILE:1: listen must be a text in "quotes"'),
    ('scheduler = { idle-stop = "1x"; };', "FILE:1: idle-stop 1x: not a duration"),
    ("scheduler = { history = 1; history = 2; };", "FILE:1: duplicate setting name"),
    ("scheduler = {\n history 1; };", "FILE:2: syntax error"),
    ('/* a\n */ @include "x"', "FILE:2: a configuration file cannot include others"),
    ("# \0", "FILE: not a configuration file"),
    ("accounts = { };", "FILE:1: accounts must be a list of groups"),
    ('accounts = ( "a" );', "FILE:1: accounts must be a list of groups"),
    ("accounts = (\n { nam = \"a\"; } );", "FILE:2: unknown option nam, did you mean name?; valid "
     "are name, parent, shares, users, "),
    ("accounts = (\n { name = \"a\"; users = \"ada\"; },\n { name = \"b\"; users = [1]; } );",
     "FILE:3: users must be a list of texts"),
    ("accounts = (\n { name = \"a\"; gpus = -1; } );", "FILE:2: gpus -1: the minimum is 0"),
    ("accounts = (\n { name = \"a\"; },\n { name = \"b\"; shares = 0; } );",
     "FILE:3: account b: shares is 0"),
    ("accounts = (\n { name = \"a\"; parent = \"b\"; },\n"
     " { name = \"b\"; parent = \"a\"; } );",
     "FILE:2: account a is above itself"),
    ("accounts = (\n { name = \"a\"; },\n { name = \"a\"; } );",
     "FILE:3: account a exists twice"),
    ("accounts = (\n { name = \"a\"; users = [\"ada\"]; },\n"
     " { name = \"b\"; users = [\"ada\"]; } );",
     "FILE:3: user ada is in account a and in account b"),
    ("accounts = (\n { name = \"a b\"; } );",
     "FILE:2: account \"a b\": a name has 1 to 64 letters"),
    ("accounts = (\n { name = \"" + "x" * 500 + "\"; } );", "FILE:2: account \"xxx"),
    ("accounts = (\n { name = \"a\"; users = [\"x y\"]; } );",
     "FILE:2: account a: user \"x y\": a name has 1 to 64 letters"),
    ("policy = { half-life = 0; };\naccounts = ( { name = \"a\"; } );", "FILE:1: half-life is 0"),
    ("policy = { gpu-weight = -1; };", "FILE:1: gpu-weight -1: not a number from 0 to 1e9"),
    ("policy = { default-queue = \"x\"; };\naccounts = ( { name = \"a\"; } );",
     "FILE:1: policy: the default queue"),
    ("queues = (\n { name = \"q\"; } );", "FILE: the policy has no account"),
    ("accounts = ( { name = \"a\"; } );\n"
     "queues = (\n { name = \"q\"; accounts = [\"b\"]; } );",
     "FILE:3: queue q: its account"),
)


class Config(e2e.Case):
    def config(self, text):
        return self.write("gangway.conf", text, mode=0o644)

    def test_bad_files_are_refused_with_line_and_reason(self):
        for text, said in BAD:
            path = self.config(text)
            for command in (["config", "check"], ["config", "show"]):
                with self.subTest(text=text, command=command):
                    self.assertIn("gangway config: " + said.replace("FILE", path),
                                  self.gangway(*command, path, rc=2).stderr)
        said = self.gangway("config", "check", self.dir, rc=1).stderr
        self.assertIn(f"{self.dir}: Is a directory", said)
        self.assertIn("No such file", self.gangway("config", "check", "missing", rc=2).stderr)

    def test_show_prints_values_and_their_lines(self):
        path = self.config('worker = {\n slots = 4096;\n memory-pause = 0.9; };\n'
                           '# 99999999999 and "\n'
                           'scheduler = { scatter-memory = 5000000000L; idle-stop = "none"; };\n')
        self.assertEqual(self.gangway("config", "check", path).stdout, f"{path}: no errors\n")
        shown = {(row["group"], row["option"]): (row["value"], row["from"])
                 for row in self.gangway_json("config", "show", path)}
        self.assertEqual(shown["worker", "slots"], ("4096", f"{path}:2"))
        self.assertEqual(shown["worker", "memory-pause"], ("0.9", f"{path}:3"))
        self.assertEqual(shown["worker", "memory-spill"], (None, "default"))
        self.assertEqual(shown["scheduler", "scatter-memory"], ("5000000000", f"{path}:5"))
        self.assertEqual(shown["scheduler", "idle-stop"], ("none", f"{path}:5"))
        self.assertNotIn(("scheduler", "accept-loss"), shown)

    def test_daemons_read_the_file_and_the_command_line_wins(self):
        token = self.gangway_json("token", "create", "--user", "w", "--role", "worker")["token"]
        path = self.config('scheduler = { listen = "127.0.0.1"; slots = 3; workers = 5; };\n')
        scheduler = self.start(e2e.BINARY, "scheduler", "--config", path, "--workers", "1")
        self.is_up = True
        address = scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        self.wait_said(r"Slots +3\n", "status")
        self.assertEqual(len(self.gangway_json("worker", "list")), 1)

        path = self.config(f'worker = {{ connect = "{address}"; name = "filed"; slots = 1; }};\n')
        self.start(e2e.BINARY, "worker", "--config", path, "--slots", "2",
                   env={"GANGWAY_TOKEN": token})
        self.wait_said(r"Slots +5\n", "status")
        self.assertIn("filed", [row["name"] for row in self.gangway_json("worker", "list")])

    def test_worker_without_connect_finds_this_users_scheduler(self):
        path = self.config('worker = { slots = 2; };\naccounts = ( { name = "a"; } );\n'
                           'policy = { default-account = "a"; };\n')
        self.assertRegex(self.gangway("worker", "--config", path, rc=3).stderr,
                         r"no scheduler answers at unix:\S+/scheduler.sock: start it by `gangway "
                         r"scheduler`, or .* --connect HOST:PORT\n")
        self.assertIn("--background needs --connect",
                      self.gangway("worker", "--background", rc=2).stderr)
        for options in ([], ["--dir", os.path.join(self.dir, "there")]):
            with self.subTest(options=options):
                scheduler = self.start(e2e.BINARY, "scheduler", "--config", path, *options)
                scheduler.wait_output("listening at unix:.*scheduler.sock, for this user")
                worker = self.start(e2e.BINARY, "worker", "--config", path, "--name", "ada",
                                    "--health-interval", "1s", *options)
                worker.wait_output("worker ada: the scheduler at .* answers")
                env = {"GANGWAY_ADDRESS": f"unix:{options[1]}/scheduler.sock"} if options else {}
                self.gangway("submit", "--", "true", env=env)
                named = self.start(e2e.BINARY, "worker", "--name", "bob", env=env)
                named.wait_output("worker bob: the scheduler at .* answers")
                self.gangway("down", env=env)
                self.assertEqual([p.wait() for p in (scheduler, worker, named)], [0, 0, 0])
        folder = os.path.join(self.env["HOME"], ".config", "gangway")
        os.makedirs(folder, mode=0o700)
        with open(os.path.join(folder, "address"), "w", encoding="utf-8") as file:
            file.write("127.0.0.1:1\n")
        worker = self.start(e2e.BINARY, "worker", "--config", path,
                            env={"GANGWAY_TOKEN": "gangway-0123456789ab-" + "0" * 64})
        worker.wait_output("cannot connect to the scheduler at 127.0.0.1:1")
        worker.kill(signal.SIGTERM)
        worker.wait()

    def test_file_is_read_again_after_sighup_and_a_bad_one_changes_nothing(self):
        policy = ('policy = { default-account = "guests"; };\n'
                  'accounts = (\n { name = "guests"; running-jobs = %s; } );\n'
                  "scheduler = { slots = %s; workers = 1; };\n")
        self.config(policy % (1, 2))
        scheduler = self.start(e2e.BINARY, "scheduler", "--config", "gangway.conf")
        self.is_up = True
        scheduler.wait_output("worker-1")
        lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(lines.close)
        held = self.fifo("held")
        for _ in range(2):
            self.gangway("submit", "-d", "--", "sh", "-c", f"echo > {lines.path}; cat {held}")
        lines.next()
        self.config(policy % (-1, 2))
        scheduler.kill(signal.SIGHUP)
        scheduler.wait_output("is refused, and nothing changes: gangway.conf:3: running-jobs -1: "
                              "the minimum is 0")
        self.assertEqual(self.gangway_json("status")["slots_free"], 1)
        self.config(policy % (2, 3))
        scheduler.kill(signal.SIGHUP)
        scheduler.wait_output("need a restart of the scheduler: slots")
        lines.next()

    def test_admin_reloads_the_file_with_a_command(self):
        text = "scheduler = { slots = %d; workers = 1; %s };\n"
        self.config(text % (1, ""))
        scheduler = self.start(e2e.BINARY, "scheduler", "--config", "gangway.conf")
        self.is_up = True
        scheduler.wait_output("worker-1")

        def listed():
            for _ in range(2):
                self.gangway("wait", self.gangway("submit", "-d", "--", "true").stdout.strip())
            return len(self.gangway_json("jobs", "--all"))
        self.config(text % (1, "history = 0;"))
        said = self.gangway("config", "reload", rc=2)
        self.assertIn("gangway.conf:1: history 0: the minimum is 1", said.stderr)
        self.assertEqual(listed(), 2)
        self.config(text % (2, "history = 1;"))
        said = self.gangway("config", "reload")
        self.assertEqual(said.stdout, "the scheduler has read its configuration file\n"
                         "slots: takes effect after a restart of the scheduler, which ends no "
                         "task\n")
        self.assertEqual(listed(), 1)
        self.config(text % (1, ""))  # an option that is gone has its default again
        self.assertEqual(self.gangway("config", "reload").stdout,
                         "the scheduler has read its configuration file\n")
        self.assertEqual(listed(), 3)
        with open(self.cluster("audit.jsonl"), encoding="utf-8") as file:
            acts = [json.loads(line) for line in file]
        self.assertEqual([act["outcome"] for act in acts if act["what"] == "config reload"],
                         ["GW_EINVAL", "ok", "ok"])
        self.gangway("down")
        self.up("--slots", "1")
        self.assertIn("was started without a configuration file",
                      self.gangway("config", "reload", rc=2).stderr)

    def reloaded(self, *options):
        """Starts a scheduler that logs into a file, and reloads its file with these options."""
        self.config("scheduler = { workers = 1; slots = 1; };\n")
        with open(os.path.join(self.dir, "log"), "ab") as log:
            scheduler = subprocess.Popen([e2e.BINARY, "scheduler", "--config", "gangway.conf"],
                                         env=self.env, cwd=self.dir, stderr=log)
        self.addCleanup(scheduler.wait)
        self.is_up = True
        for option in options:
            self.gangway("submit", "--", "true")
            self.config("scheduler = { workers = 1; slots = 1; %s; };\n" % option)
            self.assertEqual(self.gangway("config", "reload").stdout,
                             "the scheduler has read its configuration file\n")
        return scheduler

    def test_idle_stop_can_be_reloaded(self):
        self.assertEqual(self.reloaded('idle-stop = "1s"').wait(e2e.TIMEOUT_S), 0)

    def test_limits_of_logs_and_accounting_can_be_reloaded(self):
        self.reloaded('audit-max = "1M"', 'accounting-retention = "1h"')
        self.wait_said("true", "jobs", "--ended")
        self.config('scheduler = { log-max = 1; audit-max = 1; accounting-retention = "1s"; };\n')
        self.gangway("config", "reload")
        self.gangway("submit", "--", "echo", "more")
        for path in (self.cluster("audit.jsonl.1"), os.path.join(self.dir, "log.1")):
            self.assertTrue(os.path.exists(path), path)

        def wait_forgotten():
            self.gangway("config", "reload")
            return "true" not in self.gangway("jobs", "--ended").stdout
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while not wait_forgotten():
            self.assertLess(time.monotonic(), deadline)

    def test_address_in_a_file_is_used_without_a_cluster_of_the_user(self):
        folder = os.path.join(self.env["HOME"], ".config", "gangway")
        os.makedirs(folder, mode=0o700)
        address = os.path.join(folder, "address")
        with open(address, "w", encoding="utf-8") as file:
            file.write("nowhere\n")
        self.assertIn(f'{address}:1: address "nowhere" is not of the form',
                      self.gangway("status", rc=2).stderr)
        with open(address, "w", encoding="utf-8") as file:
            file.write("127.0.0.1:1\n")
        self.assertIn("a cluster with a TCP address needs a token",
                      self.gangway("submit", "--", "true", rc=None).stderr)
        with open(address, "w", encoding="utf-8") as file:
            file.write(f"unix:{self.cluster('scheduler.sock')}\n")
        self.up("--slots", "1")
        elsewhere = {"XDG_STATE_HOME": self.dir}  # this user has another cluster there: none
        self.assertRegex(self.gangway("status", env=elsewhere).stdout, r"Slots +1\n")


if __name__ == "__main__":
    e2e.main()
