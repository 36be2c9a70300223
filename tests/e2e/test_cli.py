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

    def test_rank_variables_of_an_outer_launcher_are_replaced(self):
        """The outer launcher is another tool, or a gang that dispatches gangs."""
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
                "none")
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
        with open(fifo, "w", encoding="utf-8") as f:
            f.write("5\n")
        self.assertEqual(waiting.wait(), 5)
        self.gangway("submit", "--time-limit", "none", "--inactivity-timeout", "none", "--grace",
                     "none", "--max-worker-losses", "none", "--", "true")
        many = self.write("many", json.dumps([{"argv": ["true"], "options": {
            "time-limit": "none", "grace": "none", "max-worker-losses": "none"}}]))
        self.gangway("submit", "--from-json", many)
        self.gangway("dispatch", "--hang-timeout", "none", "--min-ranks", "1",
                     "--full-size-timeout", "none", "--max-preemptions", "none", "--", "true")

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

    def test_every_command_has_help_within_80_columns(self):
        listed = re.findall(r"^  (\w+) ", self.gangway("--help").stdout, re.M)
        self.assertIn("dispatch", listed)
        for command in listed:
            with self.subTest(command=command):
                self.assertIn("Usage: gangway", self.gangway("help", command).stdout)
                text = self.gangway(command, "--help").stdout
                self.assertIn("Usage: gangway", text)
                self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
            # Commands whose subcommands have options of their own.
            behind = text.partition("\nCommands:\n")[2]
            behind = "  list " if command == "worker" else behind
            for verb in re.findall(r"^  (\w+) ", behind, re.M):
                with self.subTest(command=command, verb=verb):
                    text = self.gangway(command, verb, "--help").stdout
                    self.assertEqual(self.gangway("help", command, verb).stdout, text)
                    self.assertIn(f"Usage: gangway {command} {verb}", text)
                    self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        self.assertIn("has no verbs", self.gangway("help", "submit", "ls", rc=2).stderr)
        self.assertRegex(self.gangway("--version").stdout, r"^gangway \d+\.\d+\.\d+$")
        self.assertIn("did you mean 'status'?", self.gangway("stauts", rc=2).stderr)
        self.gangway(rc=2)

    def test_commands_of_other_tools_suggest_the_gangway_command(self):
        """Commands of other tools are answered with the Gangway command; no typing error is
        answered with a command that ends work."""
        self.assertIn("unknown command 'run': did you mean submit (one task) or dispatch (a gang)?",
                      self.gangway("run", rc=2).stderr)
        for word, meant in (("srun", "dispatch"), ("sbatch", "submit -d"),
                            ("torchrun", "dispatch"), ("mpirun", "dispatch"), ("squeue", "jobs"),
                            ("ps", "jobs"), ("htop", "top"), ("cp", "get"),
                            ("scancel", "cancel"), ("kill", "cancel"), ("start", "up")):
            self.assertIn(f"`gangway {meant}", self.gangway(word, rc=2).stderr)
        for word in ("tpo", "cp", "kil", "stp", "step", "ups", "pu", "dow", "own", "cancle",
                     "stopp"):
            said = self.gangway(word, rc=2).stderr
            for verb in ("stop", "up", "down", "cancel", "restart"):
                self.assertNotRegex(said, rf"(?:'|gangway ){verb}\b")

    def test_commands_typed_as_in_other_tools_work_or_get_a_hint(self):
        """What users of Slurm, kubectl, Docker, gh, torchrun, Ray and HyperQueue type: it works
        (exit code 0), or the error says what to type instead (2)."""
        self.up("--slots", "4")
        self.gangway("submit", "-d", "--name", "train", "--", "echo", "a line")
        self.gangway("wait", "train")
        lines = self.write("lines", "a\nb\n")
        for typed, code, said in (
            # Slurm
            ("sbatch job.sh", 2, "`gangway submit -d"),
            ("squeue", 2, "`gangway jobs`"),
            ("scancel 1", 2, "`gangway cancel JOB`"),
            ("srun -n 4 hostname", 2, "`gangway dispatch -n N"),
            ("salloc", 2, "`gangway submit --pty"),
            ("sinfo", 2, "`gangway worker list`"),
            ("sacct -j 1", 2, "`gangway events JOB`"),
            ("scontrol show job 1", 2, "`gangway explain JOB`"),
            ("scontrol hold 1", 2, "`gangway explain JOB`"),
            ("hold 1", 2, "`gangway pause JOB`"),
            ("requeue 1", 2, "`gangway retry JOB`"),
            ("submit -J nap -c 2 --time 1:30:00 -- true", 0, ""),
            ("submit --time 90 -- true", 2, "--time 90: give a unit"),
            ("dispatch -N 1 --ntasks-per-node 2 -- true", 0, ""),
            ("submit --mem 4G -- true", 2, "did you mean --memory SIZE"),
            ("submit --partition gpu -- true", 2, "there are no partitions"),
            ("submit -o out.txt -- true", 2, "`gangway logs JOB -o DIR`"),
            ("submit --gres=gpu:1 -- true", 2, "--gpus N"),
            ("submit -a 1-3 -- true", 2, "--array FIRST-LAST"),
            ("submit --array=1-3 -- true", 0, ""),
            ("submit --dependency afterok:1 -- true", 2, "--after JOB"),
            ("submit -w node1 -- true", 2, "--on HOST"),
            ("jobs -t RUNNING", 2, "--state STATE"),
            ("jobs -u nobody-here", 0, "no jobs"),
            ("jobs -j 1", 2, "as arguments"),
            # kubectl
            ("get pods", 2, "`gangway jobs`"),
            ("describe job 1", 2, "`gangway explain JOB`"),
            ("delete pod train", 2, "`gangway cancel JOB`"),
            ("apply -f job.yaml", 2, "--from-json FILE"),
            ("logs -f train", 0, "a line"),
            ("logs --tail 1 train", 0, "a line"),
            ("logs --tail=1 train", 0, "a line"),
            ("logs -p train", 2, "--attempt N"),
            ("logs --since 1h train", 2, "stored without times"),
            ("exec -it train -- sh", 2, "--pty"),
            ("port-forward train 8080:80", 2, "`gangway forward JOB PORT`"),
            ("cordon worker-1", 2, "`gangway gpu drain UUID`"),
            ("cluster-info", 2, "`gangway status`"),
            # Docker
            ("run ubuntu", 2, "submit \\(one task\\) or dispatch \\(a gang\\)"),
            ("ps -a", 2, "`gangway jobs`"),
            ("top", 0, "no unfinished jobs"),
            ("stats", 2, "`gangway top`"),
            ("inspect train", 2, "`gangway explain JOB`"),
            ("rm train", 2, "`gangway data rm`"),
            ("cp train:file .", 2, "`gangway get JOB PATH`"),
            ("attach train", 2, "`gangway logs -f JOB`"),
            ("pull ubuntu", 2, "--container IMAGE"),
            ("submit -v /data:/data -- true", 2, "--ship FILE"),
            ("logs -n 5 train", 2, "--tail N"),
            ("version", 0, "gangway [0-9]"),
            # gh
            ("auth login", 2, "`gangway token store`"),
            ("jobs -L 5", 2, "--limit N"),
            ("jobs --limit 5", 0, "train"),
            ("rerun 1", 2, "`gangway retry JOB`"),
            # torchrun
            ("torchrun --nproc_per_node=4 train.py", 2, "`gangway dispatch -n N -- python3"),
            ("dispatch --nnodes 1 --nproc_per_node=2 --max_restarts=1 -- true", 0, ""),
            ("dispatch --standalone -- true", 2, "leave it out"),
            # Ray
            ("start --head", 2, "`gangway up`"),
            ("job submit -- python3 x.py", 2, "`gangway submit -- COMMAND`"),
            ("submit --num-cpus 2 -- true", 0, ""),
            ("timeline", 2, "`gangway events JOB`"),
            ("memory", 2, "`gangway status`"),
            # HyperQueue
            ("server start", 2, "`gangway up`"),
            ("alloc add slurm", 2, "`gangway up --hosts"),
            ("task list 1", 2, "`gangway tasks JOB`"),
            (f"submit --each-line {lines} -- echo {{line}}", 0, ""),
            ("submit --cpus=2 -- true", 0, ""),
            ("dashboard", 2, "`gangway top`"),
        ):
            with self.subTest(typed):
                done = self.gangway(*typed.split(), rc=None)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stdout + done.stderr, said or "^")

    def test_mistyped_verb_is_answered_but_never_with_a_removal(self):
        for command, word, meant in (("data", "lst", "list"), ("data", "ls", "list"),
                                     ("data", "delete", "rm"), ("data", "publsh", "publish"),
                                     ("sync", "delete", "rm"), ("actor", "kill", "rm"),
                                     ("gpu", "undrian", "undrain"), ("token", "rm", "revoke"),
                                     ("token", "add", "create")):
            said = self.gangway(command, word, rc=2).stderr
            self.assertIn(f"gangway {command}: unknown command '{word}', did you mean '{meant}'?",
                          said)
        for command, word in (("token", "revok"), ("gpu", "drai"), ("sync", "clera")):
            said = self.gangway(command, word, rc=2).stderr
            self.assertIn(f"unknown command '{word}'\n`gangway {command} --help`", said)

    def test_option_names_cannot_be_abbreviated(self):
        """Every command refuses an abbreviation and suggests the full option."""
        for command in re.findall(r"^  (\w+) ", self.gangway("--help").stdout, re.M):
            text = self.gangway(command, "--help").stdout
            verbs = re.findall(r"^  (\w+) ", text.partition("\nCommands:\n")[2], re.M)
            helps = {(command, verb): self.gangway(command, verb, "--help").stdout
                     for verb in verbs} or {(command,): text}
            for names, text in helps.items():
                option = re.search(r"^  (?:    |-., )--([a-z-]+)", text, re.M).group(1)
                for typed in (f"--{option[:-1]}", f"--{option[:-1]}=1"):
                    if option != "help":
                        said = self.gangway(*names, typed, rc=2).stderr
                        self.assertRegex(said, rf"unknown option.*--{option}\b", names)
        self.assertIn("--memory SIZE", self.gangway("submit", "--mem", "4G", "true", rc=2).stderr)
        self.assertIn("--memory-limit", self.gangway("up", "--mem", "4G", rc=2).stderr)

    def test_letter_of_an_option_has_one_meaning_in_all_commands(self):
        meant = {}
        for command in re.findall(r"^  (\w+) ", self.gangway("--help").stdout, re.M):
            text = self.gangway(command, "--help").stdout
            behind = text.partition("\nCommands:\n")[2]
            behind = "  list " if command == "worker" else behind
            texts = [text] + [self.gangway(command, verb, "--help").stdout
                              for verb in re.findall(r"^  (\w+) ", behind, re.M)]
            for letter, option in re.findall(r"^  -(.), --([a-z-]+)", "".join(texts), re.M):
                meant.setdefault(letter, set()).add(option)
        self.assertIn("n", meant)
        self.assertEqual({letter: options for letter, options in meant.items()
                          if len(options) > 1}, {})
        for command, letter, option in (("wait", "t", "--timeout"), ("up", "s", "--slots"),
                                        ("logs", "n", "--tail"), ("submit", "a", "--array"),
                                        ("jobs", "n", "--limit"), ("exec", "w", "--wait")):
            said = self.gangway(command, f"-{letter}", "1", rc=2).stderr
            self.assertRegex(said, rf"unknown option -{letter}[,:] .*{option}\b")

    def test_options_are_accepted_at_any_position(self):
        """Options before, between and after the arguments of every command have the same
        effect."""
        self.up("--slots", "1")
        job = self.gangway("submit", "-d", "--", "true").stdout.strip()
        self.gangway("wait", job)
        nap = self.gangway("submit", "-d", "--name", "nap", "--", "tail", "-f",
                           "/dev/null").stdout.strip()
        self.wait_said(r"running", "tasks", nap)
        tokens = os.path.join(self.dir, "tokens")
        words = {  # an option, and the arguments of a command; None: only --help
            "jobs": (["--json"], [job, job]), "tasks": (["--state", "done"], [job]),
            "logs": (["--rank", "0"], [job]), "wait": (["--timeout", "1ms"], [job, nap]),
            "cancel": (["--json"], [job, "97", "98"]), "retry": (None, ["97", "98"]),
            "restart": (None, ["97", "98"]), "pause": (["--now"], ["97", "98"]),
            "resume": (None, ["97", "98"]), "stop": (None, ["97", "98"]),
            "explain": (["--json"], [job, "97"]), "events": (["--json"], ["97", "98"]),
            "graph": (["--limit", "3"], [job, nap]),
            "exec": (["--rank", "0"], ["nap", "echo", "{rank}"]),
            "get": (["-o", "got"], ["nap", "a", "b"]), "forward": (["--rank", "7"], ["97", "80"]),
            "actor rm": (["--now"], ["a", "b"]), "data get": (["--json"], ["a"]),
            "data put": (["--json"], ["a", "no-such"]), "data publish": (None, ["a", nap]),
            "data rm": (None, ["a", "b"]), "data where": (["--json"], ["a"]),
            "data replicate": (["--copies", "2"], ["a"]),
            "sync set": (["--text"], ["variable", "a", "1"]),
            "sync get": (["--timeout", "1ms"], ["queue", "b"]),
            "sync put": (["--text"], ["queue", "q", "1"]),
            "sync open": (None, ["queue", "q", "1000"]),
            "sync lock": (["--timeout", "1ms"], ["l", "echo", "held"]),
            "sync lease": (["--timeout", "1ms"], ["s", "echo", "held"]),
            "sync clear": (None, ["event", "e"]),
            "sync wait": (["--timeout", "1ms"], ["event", "e"]),
            "sync close": (None, ["queue", "c"]), "sync rm": (None, ["queue", "d"]),
            "gpu drain": (None, ["GPU-y", "GPU-z"]), "gpu undrain": (None, ["GPU-y", "GPU-z"]),
            "token revoke": (["--tokens", tokens], ["ID", "f" * 16]),
            "new": (None, ["/proc/no-such"]), "completion": (None, ["csh"]),
            "help": (["--man"], ["submit"]),
        }
        listed = [(command,) for command in
                  re.findall(r"^  (\w+) ", self.gangway("--help").stdout, re.M)]
        listed += [(command, verb) for (command,) in listed for verb in re.findall(
            r"^  (\w+) ", self.gangway(command, "--help").stdout.partition("\nCommands:\n")[2],
            re.M) if command != "worker"]
        for names in listed:
            usage = self.gangway(*names, "--help").stdout.partition("\n")[0]
            if re.search(r"\[options\] (?!-- COMMAND|\[list)", usage):
                self.assertIn(" ".join(names), words, "its words are not tried")
        for verb, (option, given) in words.items():
            said, token = [], ""
            for at in range(len(given) + 1) if option else (0,):
                if verb == "token revoke":
                    token = json.loads(self.gangway("token", "create", "--json", "--tokens",
                                                    tokens).stdout)["id"]
                typed = [token if word == "ID" else word for word in given]
                done = self.gangway(*verb.split(), *typed[:at], *(option or []), *typed[at:],
                                    rc=None)
                said.append((done.returncode, done.stdout, done.stderr))
            self.assertEqual(said, said[:1] * len(said), verb)
        self.assertEqual(self.gangway_json("token", "list", "--tokens", tokens), [])

    def test_manual_page_lists_every_command_option_and_variable(self):
        """The page has each command with its options, and each environment variable that is
        read or set."""
        page = self.gangway("help", "--man").stdout.replace("\\-", "-")
        parts = dict(re.findall(r"^\.SS gangway (.*)\n((?:(?!\.S[HS] ).*\n)*)", page, re.M))
        for command in re.findall(r"^  (\w+) ", self.gangway("help").stdout, re.M):
            text = self.gangway("help", command).stdout
            behind = text.partition("\nCommands:\n")[2]
            behind = "  list " if command == "worker" else behind
            verbs = re.findall(r"^  (\w+) ", behind, re.M)
            helps = {f"{command} {verb}": self.gangway("help", command, verb).stdout
                     for verb in verbs}
            if "\nOptions:\n" in text:
                helps[command] = text
            for name, text in helps.items():
                options = set(re.findall(r"^  (?:    |-., )(--[a-z-]+)", text, re.M))
                there = re.findall(r"^(?:\\fB-.\\fR, )?\\fB(--[a-z-]+)", parts[name], re.M)
                self.assertEqual(set(there) | {"--help"}, options, name)
        self.assertNotIn("gangway supervisor", page)
        own = {"GANGWAY_RUNNER_FD", "GANGWAY_LOG_DIR", "GANGWAY_BINARY_DIR",
               "GANGWAY_MPI"}  # set between processes
        top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        for part in ("client", "gpu", "graph", "scheduler", "worker"):
            for folder, _, names in os.walk(os.path.join(top, part)):
                for name in names:
                    if not name.endswith((".c", ".h")):
                        continue
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        used = set(re.findall(r'"(GANGWAY_[A-Z_]+)(?:=[^"]*)?"', file.read()))
                    for variable in used - own:
                        self.assertTrue(f"\\fB{variable}\\fR" in page, f"{name}: {variable}")

    def test_shell_completion_offers_commands_and_options(self):
        script = self.gangway("completion", "bash").stdout
        for line, wanted in (("gangway di", ["dispatch"]),
                             ("gangway s", ["status", "submit", "stop", "sync",
                                            "scheduler"]),
                             ("gangway up --id", ["--idle-stop"]),
                             # whose help text contains another option
                             ("gangway submit --an", ["--annotate"]),
                             ("gangway submit --ti", ["--time-limit"]),
                             ("gangway worker --na", ["--name"]),
                             ("gangway worker l", ["list"]),
                             ("gangway data p", ["put", "publish"]),
                             ("gangway worker list --", ["--watch", "--json", "--connect-timeout",
                                                         "--help"]),
                             ("gangway help sta", ["status"]),
                             ("gangway completion f", ["fish"]),
                             ("gangway submit -- ls --a", [])):
            words = "".join(f" '{word}'" for word in line.split())
            said = self.run_program(
                "bash", "-c", f"{script}\nCOMP_WORDS=({words} ); COMP_CWORD=$((${{#COMP_WORDS[@]}}"
                '-1)); _gangway; printf "%s\\n" "${COMPREPLY[@]}"',
                env={"PATH": f"{os.path.dirname(e2e.BINARY)}:{os.environ['PATH']}"}).stdout
            self.assertEqual(said.split(), wanted, line)
        for shell in ("zsh", "fish"):
            self.assertIn("gangway help", self.gangway("completion", shell).stdout)
        self.gangway("completion", "csh", rc=2)

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

    def test_logs_tail_prints_the_last_lines(self):
        self.up("--slots", "1")
        fifo = self.fifo()
        job = self.gangway("submit", "-d", "--", "sh", "-c", "seq 100; seq 7 >&2; printf 'more '; "
                           f"read line < {fifo}; echo $line; printf end").stdout.strip()
        self.wait_said(r"more", "logs", job)
        done = self.gangway("logs", "--tail", "2", job)
        self.assertEqual((done.stdout, done.stderr), ("100\nmore ", "6\n7\n"))
        self.assertEqual(self.gangway("logs", "--tail", "0", job).stdout, "")
        self.assertEqual(self.gangway("logs", "--tail", "9", "--err", job).stderr.split(),
                         [str(i) for i in range(1, 8)])
        reader = self.start(e2e.BINARY, "logs", "--follow", "--tail", "2", "--out", job)
        reader.wait_output("^100\n")
        with open(fifo, "w", encoding="utf-8") as file:
            file.write("came\n")
        self.assertEqual(reader.wait(), 0)
        self.assertEqual(reader.text, "100\nmore came\nend")
        self.assertEqual(self.gangway("logs", "--tail", "1", "--out", job).stdout, "end")
        self.gangway("logs", "--tail", "2", "-o", "files", job, rc=2)

    def test_long_output_retains_its_start_and_end(self):
        """The start and the end of the output are stored; the bytes between are only
        counted."""
        self.up("--slots", "1")
        job = self.gangway("submit", "-d", "--", "sh", "-c",
                           "echo first; yes 123456789 | head -n 9000000; echo last").stdout.strip()
        self.gangway("wait", job)
        for words in [], ["-o", "kept"]:
            said = self.gangway("logs", job, *words)
            text = said.stdout
            if words:
                with open(os.path.join(self.dir, "kept", "stdout"), encoding="utf-8") as file:
                    text = file.read()
            self.assertTrue(text.startswith("first\n123456789\n"))
            self.assertTrue(text.endswith("123456789\nlast\n"))
            left = re.fullmatch(r"gangway: (\d+) bytes of the task's standard output are missing "
                                r"here, because they were not stored\n", said.stderr)
            self.assertEqual(int(left.group(1)) + len(text), 9000000 * 10 + 11)
            self.assertLess(len(text), (64 << 20) + (256 << 10))
        # Reads lines of the second half, and some before.
        self.assertEqual(self.gangway("logs", "--tail", "2", job).stderr, "")
        tail = self.gangway("logs", "--tail", "4000000", job)
        self.assertEqual((tail.stdout.count("\n"), tail.stdout[-5:]), (4000000, "last\n"))
        self.assertEqual(tail.stderr, said.stderr)

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
