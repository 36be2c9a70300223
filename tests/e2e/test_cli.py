#!/usr/bin/env python3
"""The command line in use: live output, exit codes, Ctrl-C, listings, JSON."""
import json
import os
import pwd
import re
import signal
import subprocess

import e2e

HANG = """#!/bin/sh
trap 'echo ended gently; exit 7' TERM
echo up
while :; do read line < "$FIFO"; done
"""
DEAF = """#!/bin/sh
trap '' TERM
echo up
exec tail -f /dev/null
"""


class CommandLine(e2e.Case):
    def test_output_of_ranks_has_prefixes(self):
        done = self.gangway("dispatch", "-n", "2", "--", "sh", "-c",
                            "echo out $RANK of $WORLD_SIZE; echo err $RANK >&2")
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] out 0 of 2", "[1] out 1 of 2"])
        self.assertEqual(sorted(done.stderr.splitlines()), ["[0] err 0", "[1] err 1"])

    def test_output_of_a_single_rank_is_unchanged(self):
        data = b"10%\r50%\r100%\ndos\r\n\xff\0\r\r\nno newline"
        with open(os.path.join(self.dir, "data"), "wb") as f:
            f.write(data)
        done = subprocess.run([e2e.BINARY, "submit", "--", "cat", "data"], env=self.env,
                              cwd=self.dir, capture_output=True, check=True)
        self.assertEqual(done.stdout, data)

    def test_foreign_text_cannot_control_the_terminal(self):
        """Error texts may be invalid UTF-8 or contain control characters; such names are
        refused."""
        self.up("--slots", "1")
        said = self.gangway("submit", "-d", "--name", "evil\033[2Jname", "--", "true", rc=2).stderr
        self.assertIn("without control characters", said)
        program = self.write("evil\033[2Jname",
                             "#!/bin/sh\nprintf 'caf\\351: \\033[2J\\n' >&2; exit 3")
        job = self.gangway("submit", "-d", "--", program).stdout.strip()
        self.assertIn("command (task 0", self.gangway("wait", job, rc=3).stderr)
        for verb in ("explain", "events", "graph", "jobs", "tasks"):
            said = subprocess.run([e2e.BINARY, verb, *([job] if verb != "jobs" else [])],
                                  env=self.env, capture_output=True, check=True).stdout
            self.assertIn(b"command", said)
            self.assertNotIn(b"\033", said)
        logs = subprocess.run([e2e.BINARY, "logs", job], env=self.env, capture_output=True,
                              check=True).stderr.splitlines()
        self.assertIn(b"command", logs[0])
        self.assertEqual(logs[1], b"caf\351: \033[2J")  # its own output is unchanged
        self.assertIn("caf\ufffd: ?[2J", self.gangway_json("explain", job)["reason"])
        self.assertEqual(self.gangway_json("logs", job)["text"], "caf\ufffd: \033[2J")
        self.assertIn("caf\ufffd", json.dumps(self.gangway_json("tasks", job), ensure_ascii=False))

    def test_dispatch_returns_the_exit_code_and_prints_the_cause(self):
        done = self.gangway("dispatch", "-n", "2", "--", "sh", "-c",
                            "echo last words >&2; test $RANK = 0 || exit 42; "
                            "exec tail -f /dev/null", rc=42)
        self.assertRegex(done.stderr, r"gangway: .*rank 1.*exit code 42")
        self.assertGreaterEqual(done.stderr.count("last words"), 2)
        done = self.gangway("submit", "--", "sh", "-c", "kill -SEGV $$", rc=139)
        self.assertIn("signal 11", done.stderr)
        self.gangway("submit", "--time-limit", "100ms", "--", "tail", "-f", "/dev/null", rc=124)

    def test_task_inherits_environment_and_working_folder(self):
        done = self.gangway("submit", "-e", "ADDED=a b", "--env", "HOME=/elsewhere", "--cwd", "/",
                            "--", "sh", "-c", 'echo "$ADDED $HOME $KEPT $SLURM_JOB_ID"; pwd',
                            env={"KEPT": "kept", "SLURM_JOB_ID": "1"})
        self.assertEqual(done.stdout, "a b /elsewhere kept \n/\n")

    def test_task_does_not_inherit_the_client_token(self):
        """Otherwise anyone who reads the environment of a task could act as its user."""
        show = ["--", "sh", "-c", 'echo "$KEPT,$GANGWAY_TOKEN,$GANGWAY_TOKEN_FILE"']
        secret = {"KEPT": "kept", "GANGWAY_TOKEN": "secret", "GANGWAY_TOKEN_FILE": "/secret"}
        for words in ([], ["-e", "ADDED=1"]):
            self.assertEqual(self.gangway("submit", *words, *show, env=secret).stdout, "kept,,\n")
        done = self.gangway("submit", "-e", "GANGWAY_TOKEN=given", *show, env=secret)
        self.assertEqual(done.stdout, "kept,given,\n")

    def test_retry_of_an_attached_job_says_that_it_was_not_detached(self):
        self.up("--slots", "1")
        self.gangway("submit", "--", "false", rc=1)
        said = self.gangway("retry", "1", rc=2).stderr
        self.assertIn("it was not detached (-d), so it has lost its inputs", said)

    def test_rank_variables_of_an_outer_launcher_are_replaced(self):
        """The outer launcher is another tool, or a gang that dispatches gangs."""
        self.up("--slots", "3")
        show = 'echo "$RANK of $WORLD_SIZE, $GANGWAY_RANK, $LOCAL_RANK at $MASTER_PORT"'
        wanted = ["[0] 0 of 2, 0, 0", "[1] 1 of 2, 1, 1"]
        for outer in ([], [e2e.BINARY, "dispatch", "-n", "1", "--"]):
            for added in ([], ["--env", "ADDED=1"]):
                with self.subTest(outer=outer, added=added):
                    said = self.run_program(
                        *outer, e2e.BINARY, "dispatch", "-n", "2", *added, "--", "sh", "-c", show,
                        env={"RANK": "7", "WORLD_SIZE": "8", "LOCAL_RANK": "7"}).stdout
                    self.assertEqual(sorted(re.findall(r"^(.*) at \d+$", said, re.M)), wanted)
        said = self.gangway("dispatch", "--env", "RANK=5", "--", "sh", "-c", show).stdout
        self.assertTrue(said.startswith("5 of 1"), said)  # the user's value takes precedence

    def interrupt(self, script, *options):
        path = self.write("script", script)
        job = self.start(e2e.BINARY, "dispatch", "-n", "2", *options, "--", path,
                         env={"FIFO": self.fifo()})
        job.wait_output(r"\[0\] up")
        job.wait_output(r"\[1\] up")
        job.kill(signal.SIGINT)
        job.wait_output("interrupted")
        return job

    def test_interrupt_lets_ranks_end_gently(self):
        job = self.interrupt(HANG)
        self.assertEqual(job.wait(), 130, job.text)
        self.assertIn("[0] ended gently", job.text)
        self.assertIn("[1] ended gently", job.text)

    def test_second_interrupt_ends_the_job_at_once(self):
        job = self.interrupt(DEAF, "--grace", "1h")
        job.kill(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.text)

    def test_detached_job_can_be_awaited_read_and_explained(self):
        self.up("--slots", "2")
        job = self.gangway("submit", "-d", "--name", "one", "--", "sh", "-c",
                           "echo out; echo err >&2; exit 5").stdout.strip()
        self.assertRegex(job, r"^\d+$")
        done = self.gangway("wait", job, rc=5)
        self.assertIn("exit code 5", done.stderr)
        done = self.gangway("logs", job)
        self.assertEqual(done.stdout, "out\n")
        self.assertRegex(done.stderr, r"^gangway: one \(task 0 of job \d+\), on .*: exit code 5\n"
                                      r"err\n$")
        self.assertEqual(self.gangway("logs", "last", "--out").stderr, "")
        self.assertEqual(json.loads(self.gangway("logs", job + ".0", "--out", "--json").stdout),
                         {"rank": 0, "stream": "out", "text": "out"})
        self.assertRegex(self.gangway("explain", job).stdout,
                         rf"^failed: one \(task 0 of job {job}\), on .*: exit code 5\nerr\n$")
        self.assertEqual(self.gangway_json("wait", job, rc=5)["exit_code"], 5)

        done = self.gangway("dispatch", "-d", "-n", "2", "--json", "--", "sh", "-c", "echo $RANK")
        gang = json.loads(done.stdout)["job"]
        self.gangway("wait", str(gang))
        self.assertEqual(sorted(self.gangway("logs", "-f", str(gang)).stdout.splitlines()),
                         ["[0] 0", "[1] 1"])
        self.assertEqual(self.gangway("logs", str(gang), "--rank", "1").stdout, "1\n")
        self.assertIn("0 to 1", self.gangway("logs", str(gang), "--rank", "2", rc=2).stderr)
        self.assertIn("are numbered from 0",
                      self.gangway("logs", str(gang), "--rank", "-1", rc=2).stderr)
        folder = os.path.join(self.dir, "output")
        self.gangway("logs", str(gang), "--output", folder)
        self.assertEqual(sorted(os.listdir(folder)), ["rank.000", "rank.001"])
        with open(os.path.join(folder, "rank.001", "stdout"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "1\n")
        self.gangway("logs", job, "-o", folder)
        with open(os.path.join(folder, "stderr"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "err\n")
        self.gangway("logs", job, "-o", "/proc/none", rc=1)
        self.gangway("logs", job, "-f", "-o", folder, rc=2)
        jobs = self.gangway_json("jobs")
        self.assertEqual({j["id"]: j["state"] for j in jobs}, {int(job): "failed", gang: "done"})
        table = self.gangway("jobs").stdout.splitlines()
        self.assertRegex(table[0], r"^ *JOB +NAME +STATE")
        self.assertTrue(any(re.match(rf" *{job} +one +failed", line) for line in table), table)
        for chosen, wanted in (([job], [job]), (["one", job], [job]), (["last"], [gang]),
                               ([job, gang], [gang, job]), ([f"{job}-99"], [gang, job]),
                               (["all", "one"], [gang, job])):
            shown = self.gangway_json("jobs", *map(str, chosen))
            self.assertEqual([j["id"] for j in shown],  # the newest first
                             sorted(map(int, wanted), reverse=True), chosen)
        self.assertIn("there is no job 99", self.gangway("jobs", job, "99", rc=2).stderr)
        self.assertIn("there is no job \"two\"", self.gangway("jobs", "two", rc=2).stderr)
        self.assertIn("is not a job", self.gangway("jobs", "1,,", rc=2).stderr)

    def test_log_follower_ends_after_a_cancel(self):
        self.up("--slots", "2")
        fifo = self.fifo()
        job = self.gangway("submit", "-d", "--", self.write("hang", HANG),
                           env={"FIFO": fifo}).stdout.strip()
        logs = self.start(e2e.BINARY, "logs", "-f", job)
        logs.wait_output("up")
        self.gangway("wait", "--timeout", "10ms", job, rc=124)
        self.assertIn("slot", self.gangway("status").stdout.lower())
        self.assertEqual(self.gangway_json("status")["slots_free"], 1)
        self.assertEqual(self.gangway_json("worker", "list")[0]["slots"], 2)
        self.gangway("cancel", "all")
        self.gangway("wait", job, rc=130)
        self.assertEqual(logs.wait(), 0)
        self.assertIn("ended gently", logs.text)
        self.gangway("cancel", "999", rc=2)
        self.assertIn("had ended already", self.gangway("cancel", job).stderr)
        self.assertEqual(self.gangway_json("cancel", job), {"job": int(job), "cancelled": False})
        self.assertEqual(self.gangway_json("wait", job, rc=130)["state"], "cancelled")
        self.assertIn("no unfinished jobs", self.gangway("wait", "all").stderr)
        self.gangway("logs", "999", rc=2)

    def test_job_name_selects_the_latest_job(self):
        self.up("--slots", "2")
        for word in ("one", "two"):
            self.gangway("submit", "-d", "--name", "my job.v2", "--", "echo", word)
        self.gangway("wait", "my job.v2")
        self.assertEqual(self.gangway("logs", "my job.v2").stdout, "two\n")
        self.assertEqual(self.gangway("logs", "my job.v2/0").stdout, "two\n")
        self.assertEqual(self.gangway("logs", "1.0").stdout, "one\n")
        self.assertIn("task 0 of job 2", self.gangway("explain", "my job.v2").stdout)
        self.gangway("submit", "--after", "my job.v2", "-q", "--", "true")
        self.assertIn('there is no job "nobody"', self.gangway("explain", "nobody", rc=2).stderr)
        for word in ("", "1,,2", "5-"):
            self.assertIn("is not a job", self.gangway("explain", "--", word, rc=2).stderr)

    def test_commands_on_ended_or_pending_tasks_say_so(self):
        self.up("--slots", "1")
        tasks = [{"name": "a", "argv": ["true"]}]
        self.gangway("submit", "-q", "--from-json", self.write("one.json", json.dumps(tasks)))
        self.assertIn("had ended already", self.gangway("cancel", "last/a").stderr)
        self.assertIn("has succeeded", self.gangway("retry", "last/a", rc=2).stderr)
        job = self.gangway("submit", "-d", "--array", "0-9%1", "--", "tail", "-f",
                           "/dev/null").stdout.strip()
        self.assertIn("has not begun", self.gangway("logs", f"{job}/5", rc=2).stderr)
        self.gangway("cancel", job)
        self.gangway("wait", job, rc=130)

    def test_commands_accept_several_jobs(self):
        """The jobs are given as arguments, and as lists with names in them."""
        self.up("--slots", "2")
        numbers = [self.gangway("submit", "-d", "--name", name, "--", "sh", "-c", script)
                   .stdout.strip()
                   for name, script in (("one", "exit 0"), ("two", "exit 5"), ("o,p", "exit 6"))]
        self.assertIn("job " + numbers[1], self.gangway("wait", "one", "two", rc=5).stderr)
        for jobs in (("one", "two"), ("two,one",), (numbers[0] + ",two",)):
            told = self.gangway("explain", *jobs).stdout.splitlines()
            self.assertEqual(len([line for line in told if "(task 0 of job " in line]), 2, told)
        self.gangway("wait", "one,last", rc=6)
        self.assertIn("exit code 6", self.gangway("explain", "o,p").stdout)
        for jobs in ("one,nosuch", "one,", "one,all"):
            done = self.gangway("retry", jobs, rc=2)
            self.assertNotIn("job " + numbers[0], done.stderr + done.stdout)
        self.gangway("submit", "--after", "one,two", "--", "true", rc=1)
        self.gangway("submit", "--after-any", "one,two", "--", "true")

    def test_time_limits_of_0_and_none_mean_what_the_help_says(self):
        """The behaviour matches the help texts."""
        self.up("--slots", "1", "--idle-stop", "none", "--file-cache", "none", "--keep-files",
                "none", "--checkpoint-max", "none", "--log-max", "none", "--orphan-timeout",
                "none", "--pure-keep", "none", "--scatter-memory", "none", "--memory-pause",
                "none", "--memory-limit", "none")
        self.assertIn("Every limit accepts `none`", self.gangway("help").stdout)
        for command, words in (("wait", "124; 0: check once"), ("submit", "124; default: none"),
                               ("up", "30m (default: none)"), ("sync get", "0: try once"),
                               ("scheduler", "30m (default: none)"),
                               ("sync lock", "0: try once")):
            said = self.gangway(*command.split(), "--help").stdout
            self.assertIn(words.replace(" ", ""), re.sub(r"\s", "", said))
        fifo = self.fifo()
        job = self.gangway("submit", "-d", "--time-limit", "0", "--inactivity-timeout", "0",
                           "--", "sh", "-c", f"read line < {fifo}; exit $line").stdout.strip()
        waiting = self.start(e2e.BINARY, "wait", "--timeout", "none", job)
        self.gangway("wait", "--timeout", "0", job, rc=124)
        self.gangway("sync", "get", "queue", "none", "--timeout", "0", rc=124)
        self.gangway("up", "--log-max", "0", rc=2)
        self.assertEqual(len(self.gangway_json("jobs", "--limit", "none")), 1)
        self.assertEqual(len(self.gangway_json("tasks", job, "--limit", "none")), 1)
        self.assertIn("sh", self.gangway("graph", job, "--limit", "none").stdout)
        self.assertEqual(self.gangway("logs", job, "--tail", "none").stdout, "")
        with open(fifo, "w", encoding="utf-8") as f:
            f.write("5\n")
        self.assertEqual(waiting.wait(), 5)
        self.gangway("submit", "--time-limit", "none", "--inactivity-timeout", "none", "--grace",
                     "none", "--max-worker-losses", "none", "--retries", "none", "--", "true")
        many = self.write("many", json.dumps([{"argv": ["true"], "options": {
            "time-limit": "none", "grace": "none", "max-worker-losses": "none",
            "retries": "none"}}]))
        self.gangway("submit", "--from-json", many)
        self.gangway("dispatch", "--hang-timeout", "none", "--min-ranks", "1",
                     "--full-size-timeout", "none", "--max-preemptions", "none",
                     "--max-restarts", "none", "--", "true")

    def test_up_starts_and_down_ends_a_cluster(self):
        self.assertIn("unknown option '--up'", self.gangway("--up", rc=2).stderr)
        self.assertIn("no cluster", self.gangway("down").stderr)
        self.up("--slots", "3", "--workers", "2", "--idle-stop", "1h")
        self.assertIn("already", self.gangway("up", rc=2).stderr)
        status = self.gangway_json("status")
        self.assertEqual((status["workers"], status["slots"]), (2, 3))
        self.assertNotIn("address", status)  # it has no address for other hosts
        self.assertEqual(self.gangway_json("down"), {"was_running": True})
        self.gangway("status", rc=3)
        done = self.gangway("status", rc=2, env={"GANGWAY_ADDRESS": "tcp://127.0.0.1:1"})
        self.assertIn("needs a token", done.stderr)
        self.assertIn("gangway token create", self.gangway("up", "--listen", "127.0.0.1:1",
                                                           rc=2).stderr)

    def test_down_waits_for_grace_periods_unless_interrupted(self):
        """Running tasks get their --grace, and `down` reports that; --now and Ctrl-C end the
        wait."""
        said = e2e.Lines(self.fifo("said"))
        self.addCleanup(said.close)
        for way in "grace", "now", "Ctrl-C":
            self.up("--slots", "1")
            fifo = self.fifo(f"end-{way}")
            client = self.start(e2e.BINARY, "submit", "--grace", "50s", "--", "sh", "-c",
                                f"trap 'echo told > {said.path}; cat {fifo}; exit 0' TERM; "
                                f"echo ready > {said.path}; tail -f /dev/null & wait")
            self.assertEqual(said.next(), "ready")
            down = self.start(e2e.BINARY, "down", *(["--now"] if way == "now" else []))
            self.assertEqual(said.next(), "told")
            if way != "now":
                down.wait_output(r"waiting for job \d+ \(sh\) to end within its --grace, on "
                                 "worker-1;")
            if way == "grace":
                with open(fifo, "w", encoding="utf-8"):
                    pass
            if way == "Ctrl-C":
                down.kill(signal.SIGINT)
            self.assertEqual(down.wait(), 0)
            self.assertIn("the cluster has ended", down.text)
            client.wait()

    def test_workers_of_a_host_share_its_threads_and_memory(self):
        """The threads and the memory of all slots together do not exceed the host's, however
        many workers there are."""
        # the user's own values would take precedence
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            self.env.pop(name, None)
        cores = len(os.sched_getaffinity(0))
        self.up("--slots", str(2 * cores), "--workers", "2")
        threads = self.gangway("dispatch", "-n", str(2 * cores), "--", "sh", "-c",
                               "echo $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS").stdout
        self.assertEqual(re.findall(r"\] (.*)", threads), ["1 1"] * 2 * cores)
        memory = sum(worker["memory_bytes"] for worker in self.gangway_json("worker", "list"))
        self.assertLessEqual(memory, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))

    def test_scheduler_log_shows_where_ranks_run(self):
        self.up("--slots", "4", "--workers", "2")
        self.gangway("dispatch", "-n", "3", "--", "true")
        path = self.cluster("scheduler.log")
        with open(path, encoding="utf-8") as file:
            places = re.findall(r"attempt (\d+): ranks (\d) to (\d) of 3 are at", file.read())
        self.assertEqual([place[1:] for place in places], [("0", "1"), ("2", "2")])
        self.assertEqual(len({place[0] for place in places}), 1)

    def test_scheduler_log_shows_submissions_and_workers(self):
        self.up("--slots", "2", "--workers", "2")
        self.gangway("submit", "-d", "--name", "nap", "--", "true")
        self.gangway("dispatch", "-n", "2", "--", "true")
        path = self.cluster("scheduler.log")
        self.gangway("down")
        with open(path, encoding="utf-8") as file:
            log = file.read()
        user = pwd.getpwuid(os.geteuid()).pw_name
        for line in (f"job 1 (nap) by gangway submit ({user}): 1 task, detached",
                     f"job 2 (true) by gangway dispatch ({user}): 1 task, 2 ranks"):
            self.assertEqual(log.count(f"scheduler info: {line}\n"), 1, log)
        for worker in ("worker-1", "worker-2"):
            self.assertRegex(log, f"info: worker {worker} on \\S+ joined: 1 slot, ")
            self.assertRegex(log, f"info: worker {worker} on \\S+ left: ")

    def test_full_log_file_is_rotated(self):
        self.up("--slots", "4", "--log-max", "500")
        folder = self.cluster()
        for _ in range(8):
            self.gangway("dispatch", "-n", "3", "--", "true")
        for name in ("scheduler.log", "worker-0.log"):
            self.assertLess(os.path.getsize(os.path.join(folder, name)), 500)
        with open(os.path.join(folder, "scheduler.log.1"), encoding="utf-8") as file:
            self.assertIn("ranks 0 to 2 of 3 are at worker", file.read())
        workers = [e2e.command_of(pid) for pid in e2e.pids_marked(self.mark)]
        self.assertIn("--log-max 500", next(w for w in workers if "worker --dir" in w))

    def test_watch_repeats_the_listing_until_interrupted(self):
        """The listing is printed whenever it changes, until an interrupt."""
        self.up("--slots", "1")
        watcher = self.start(e2e.BINARY, "status", "--watch", "--json")
        watcher.wait_output(r'^\{.*"done":0[,}].*\n')
        self.gangway("submit", "--", "true")
        watcher.wait_output(r'^\{.*"done":1[,}].*\n')
        watcher.kill(signal.SIGINT)
        self.assertEqual(watcher.wait(), -signal.SIGINT)
        job = self.gangway("submit", "-d", "--", "tail", "-f", "/dev/null").stdout.strip()
        watcher = self.start(e2e.BINARY, "tasks", job, "--watch", "--json")
        watcher.wait_output('"running"')
        self.gangway("cancel", job)
        watcher.wait_output('"cancelled"')
        watcher.kill(signal.SIGINT)
        self.assertEqual(watcher.wait(), -signal.SIGINT)
        self.assertIn("`gangway tasks JOB --watch`",
                      self.gangway("explain", job, "--watch", rc=2).stderr)

    def test_error_of_an_unusable_folder_names_the_environment_variable(self):
        self.write("gangway", "a file")
        failed = self.gangway("new", os.path.join(self.dir, "gangway", "such"), rc=1)
        self.assertIn("gangway/such: Not a directory", failed.stderr)
        run = ["submit", "--", "true"]
        for words, name in (["up"], "XDG_STATE_HOME"), (run, "XDG_RUNTIME_DIR"):
            failed = self.gangway(*words, rc=1, env={name: self.dir})
            self.assertIn(f"set {name} to a folder", failed.stderr)
        self.assertIn("no cluster is running",
                      self.gangway("jobs", rc=3, env={"XDG_STATE_HOME": self.dir}).stderr)

    def test_new_refuses_a_folder_that_is_not_empty(self):
        self.gangway("new", "project")
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "project"))),
                         ["CMakeLists.txt", "Makefile", "README.md", "main.c"])
        self.assertIn("not empty", self.gangway("new", "project", rc=2).stderr)

    def test_example_programs_print_the_expected_results(self):
        hello = os.path.join(e2e.BUILD, "bin", "hello")
        if not os.path.exists(hello):
            self.skipTest("the examples were not built")
        self.assertIn("2 ranks learned y = 3.00 x - 1.00", self.run_program(hello).stdout)
        self.assertIn("328350", self.run_program(os.path.join(e2e.BUILD, "bin", "tree"), "100")
                      .stdout)
        done = self.run_program(hello, env={"GANGWAY_INLINE": "1"})
        self.assertIn("y = 3.00 x - 1.00", done.stdout)


if __name__ == "__main__":
    e2e.main()
