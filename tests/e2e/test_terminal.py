#!/usr/bin/env python3
"""The display for a person at a terminal: why nothing happens, what a cluster resumes, and
tables."""
import fcntl
import json
import os
import pty
import re
import selectors
import signal
import socket
import struct
import termios
import threading
import time

import e2e


def read_until(primary, pattern):
    """The output at a terminal, as soon as the pattern is in it."""
    text, deadline = b"", time.monotonic() + e2e.TIMEOUT_S
    with selectors.DefaultSelector() as selector:
        selector.register(primary, selectors.EVENT_READ)
        while not re.search(pattern, text.decode()):
            if not selector.select(max(0, deadline - time.monotonic())):
                raise AssertionError(f"no {pattern!r} in {text}")
            text += os.read(primary, 65536)
    return text.decode()


class Waiting(e2e.Case):
    def test_waiting_client_prints_the_reason(self):
        self.up("--slots", "1")
        gate = self.fifo("gate")
        self.gangway("submit", "-d", "--", "sh", "-c", f"read -r line <{gate}")
        clients = [self.start(e2e.BINARY, "submit", "--", "echo", "one here"),
                   self.start(e2e.BINARY, "dispatch", "-n", "1", "--", "echo", "gang here"),
                   self.start(e2e.BINARY, "submit", "--array", "0-1", "--", "echo", "array here")]
        for client in clients:
            client.wait_output("the job waits: .*needs 1 free slots?; 0 of 1 slots are free; "
                               "job 1 ")
        with open(gate, "w", encoding="utf-8") as file:
            file.write("go\n")
        for client, word in zip(clients, ("one", "gang", "array")):
            self.assertEqual(client.wait(), 0, client.text)
            self.assertIn(f"{word} here", client.text)
            self.assertEqual(client.text.count("the job waits"), 1, client.text)

    def test_running_client_prints_no_waiting_notice(self):
        """The task runs for longer than the delay of the notice, which a second, waiting client
        proves."""
        self.up("--slots", "1")
        gate = self.fifo("gate")
        runs = self.start(e2e.BINARY, "submit", "--", "sh", "-c", f"echo on; read -r line <{gate}")
        runs.wait_output("on")
        waits = self.start(e2e.BINARY, "submit", "--", "true")
        waits.wait_output("the job waits")
        with open(gate, "w", encoding="utf-8") as file:
            file.write("go\n")
        self.assertEqual((runs.wait(), waits.wait()), (0, 0))
        self.assertEqual(runs.text, "on\n")


class Silent(e2e.Case):
    def test_terminal_tells_that_the_scheduler_does_not_answer(self):
        """The notice appears at a terminal only; a script reads the error, if there is one."""
        self.up("--slots", "1")
        with open(self.cluster("state/lock"),
                  encoding="utf-8") as lock:
            scheduler = int(lock.read())
        os.kill(scheduler, signal.SIGSTOP)
        self.addCleanup(os.kill, scheduler, signal.SIGCONT)
        script = self.start(e2e.BINARY, "jobs")
        terminals = []
        for command in (["jobs"], ["submit", "--", "true"], ["submit", "-d", "--", "true"]):
            primary, secondary = pty.openpty()
            self.addCleanup(os.close, primary)
            self.addCleanup(os.close, secondary)
            terminals.append((self.start("sh", "-c",
                                         f'exec "$@" 2>{os.ttyname(secondary)}', "sh",
                                         e2e.BINARY, *command), primary))
        for _, primary in terminals:
            read_until(primary, "gangway: the scheduler has not answered yet")
        os.kill(scheduler, signal.SIGCONT)
        for command, _ in terminals:
            self.assertEqual(command.wait(), 0, command.text)
        self.assertEqual(script.wait(), 0)
        self.assertNotIn("waiting", script.text)


class Failing(e2e.Case):
    SCRIPT = ("sh", "-c", "echo oh no >&2; exit 7")

    def test_last_error_lines_are_printed_once(self):
        said = self.gangway("submit", "--", *self.SCRIPT, rc=7).stderr
        self.assertRegex(said, r"^oh no\ngangway: sh \(task 0 of job 1\), on .*: exit code 7\n$")
        said = self.gangway("submit", "-q", "--", *self.SCRIPT, rc=7).stderr
        self.assertRegex(said, r"^gangway: sh \(task 0 of job 1\), on .*: exit code 7\noh no\n$")

    def test_last_lines_appear_unchanged_but_not_in_tables(self):
        self.up("--slots", "1")
        self.assertIn("there are no jobs", self.gangway("tasks", "last", rc=2).stderr)
        script = "printf 'line 1\\n  in it\\nover\\n' >&2; exit 7"
        self.gangway("submit", "-q", "--", "sh", "-c", script, rc=7)
        self.assertRegex(self.gangway("tasks", "last").stdout, r"\n +0  sh .*: exit code 7\n$")
        self.assertRegex(self.gangway("events", "last").stdout,
                         r"(?m)^( +)sh .*: exit code 7\n\1line 1\n\1  in it\n\1over$")

    def test_last_lines_of_the_causing_rank_are_printed_last(self):
        said = self.gangway("dispatch", "-n", "1", "--", *self.SCRIPT, rc=7).stderr
        self.assertRegex(said, r"exit code 7\noh no\n$")


class Up(e2e.Case):
    def test_up_reports_the_number_of_unfinished_jobs(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "tail", "-f", "/dev/null")
        self.gangway("down")
        said = self.gangway("up", "--slots", "1").stderr
        self.assertIn("1 unfinished job of the cluster's last run continues: `gangway jobs`", said)
        self.gangway("submit", "-d", "--", "tail", "-f", "/dev/null")
        self.gangway("down")
        self.assertEqual(self.gangway_json("up", "--slots", "1")["jobs"], 2)
        self.gangway("cancel", "--now", "all")
        self.gangway("down")
        self.assertNotIn("last run", self.gangway("up", "--slots", "1").stderr)

    def test_interrupted_up_leaves_nothing(self):
        begun = self.fifo("begun")
        binary = self.write("binary", f"#!/bin/sh\necho $$ >{begun}\nexec tail -f /dev/null\n",
                            0o755)
        for number in (signal.SIGINT, signal.SIGHUP):
            up = self.start(e2e.BINARY, "up", env={"GANGWAY_BINARY": binary})
            pid = int(self.read_fifo(begun))
            up.kill(number)
            self.assertEqual(up.wait(), 130)
            self.assertEqual(up.text, "gangway: interrupted: no cluster was started\n")
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_up_warns_if_gangway_address_names_another_cluster(self):
        elsewhere = {"GANGWAY_ADDRESS": f"unix:{self.dir}/elsewhere/scheduler.sock"}
        said = self.gangway("up", "--slots", "1", env=elsewhere).stderr
        self.is_up = True
        self.assertIn(f"GANGWAY_ADDRESS is {elsewhere['GANGWAY_ADDRESS']}: commands", said)
        self.gangway("down")
        path = self.cluster("scheduler.sock")
        here = {"GANGWAY_ADDRESS": f"unix:{path}"}
        self.assertNotIn("GANGWAY_ADDRESS", self.gangway("up", "--slots", "1", env=here).stderr)


class Explained(e2e.Case):
    def test_explain_tells_that_a_task_of_a_paused_job_continues(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "tail", "-f", "/dev/null")
        self.gangway("pause", "1")
        said = self.gangway("explain", "1").stdout
        self.assertRegex(said, "at worker-1 .*\n  it runs to its end, although its job is paused, ")
        self.gangway("resume", "1")
        self.assertNotIn("paused", self.gangway("explain", "1").stdout)

    def test_explain_prints_a_reason_and_one_fact_a_line_with_a_code(self):
        """A program finds the reason by its code; a text with the separator stays whole."""
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--name", "hold; on", "--", "tail", "-f", "/dev/null")
        self.gangway("submit", "-d", "--name", "second", "--", "sh", "-c",
                     "echo 'a; b' >&2; exit 3")
        self.gangway("submit", "-d", "--after", "2", "--", "true")
        self.assertEqual(self.gangway("explain", "2").stdout,
                         "second (task 0 of job 2): it needs 1 free slot\n"
                         "  0 of 1 slots are free\n"
                         "  job 1 (hold; on) has 1 task at workers\n"
                         "  no estimate of when it starts: job 1 has no time limit "
                         "(--time-limit)\n")
        self.assertEqual(self.gangway_json("explain", "2")["expected_start"], "unknown")
        code = lambda job: self.gangway_json("explain", job)["code"]
        self.assertEqual([code("1"), code("2"), code("3")],
                         ["running", "resources", "other_jobs"])
        self.assertIn("hold; on (task", self.gangway_json("explain", "1")["reason"])
        self.gangway("pause", "2")
        self.assertEqual(code("2"), "paused")
        self.gangway("resume", "2")
        self.gangway("cancel", "1")
        self.gangway("wait", "2", rc=3)
        self.gangway("wait", "3", rc=None)
        self.assertEqual([code("1"), code("2"), code("3")],
                         ["cancelled", "failed", "failed"])
        failed = self.gangway_json("explain", "2")
        self.assertIn("a; b", failed["reason"])
        self.assertEqual(failed["facts"], [])

    def test_explain_keeps_names_with_the_separator_of_facts_whole(self):
        """Each name, wherever it stands, is a part of the reason or of one fact."""
        self.up("--slots", "1")
        tasks = [{"name": "a; b", "argv": ["sh", "-c", "exit 3"]},
                 {"name": "c; d", "argv": ["true"], "after": ["a; b"]},
                 {"name": "e; f", "argv": ["true"], "after": ["c; d"]}]
        job = self.gangway("submit", "-d", "--name", "g; h", "--from-json",
                           self.write("tasks", json.dumps(tasks))).stdout.strip()
        self.gangway("wait", job, rc=3)
        failed = self.gangway_json("explain", f"{job}/0")
        self.assertRegex(failed["reason"], r"^failed: a; b \(task 0 of job 1\), on .*code 3$")
        self.assertEqual((failed["code"], failed["facts"]), ("failed", []))
        last = self.gangway_json("explain", f"{job}/2")
        self.assertRegex(last["reason"], r"^e; f \(task 2 of job 1\): it never ran, because a task "
                         r"that it depends on failed, by way of c; d \(task 1\): a; b \(task 0 .*")
        self.assertEqual((last["code"], last["facts"]), ("dependency_failed", []))
        whole = self.gangway_json("explain", job)
        self.assertRegex(whole["reason"], r"^g; h \(job 1\): 3 of 3 tasks failed")
        self.assertRegex(whole["facts"][0], r"^the cause: a; b \(task 0 of job 1\), on .*")
        self.assertEqual(len(whole["facts"]), 1)

    def test_explain_uses_the_singular_for_one_rank(self):
        self.up("--slots", "1")
        fifo = self.fifo()
        self.gangway("dispatch", "-d", "-n", "1", "--", "sh", "-c",
                     f"echo on >{fifo}; exec tail -f /dev/null")
        self.read_fifo(fifo)
        self.assertIn("1 rank has started, 1 has not ended", self.gangway("explain", "1").stdout)


class Valve:
    """Passes bytes between clients and an address; `most` bytes of each client, until it is
    opened."""

    def __init__(self, to, most):
        host, port = to.rsplit(":", 1)
        self.to, self.most, self.open = (host, int(port)), most, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.sockets, self.threads = [], [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            other = socket.create_connection(self.to)
            self.sockets += [one, other]
            for arguments in ((one, other, self.most), (other, one, None)):
                self.threads.append(threading.Thread(target=self.carry, args=arguments))
                self.threads[-1].start()

    def carry(self, one, other, most):
        done = 0
        try:
            while piece := one.recv(65536):
                other.sendall(piece)
                done += len(piece)
                if most is not None and done > most:
                    self.open.wait(e2e.TIMEOUT_S)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # reset: an end, too

    def close(self):
        self.open.set()
        for one in [self.listener, *self.sockets]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self.threads:
            thread.join()
        for one in [self.listener, *self.sockets]:
            one.close()


class Shipping(e2e.Case):
    MIB = 32  # more than sockets hold

    def setUp(self):
        super().setUp()
        tokens = {role: self.gangway_json("token", "create", "--user", role, "--role", role)
                  for role in ("admin", "worker")}
        scheduler = self.start(e2e.BINARY, "scheduler", "--listen", "127.0.0.1")
        address = scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        worker = self.start(e2e.BINARY, "worker", "--trust-users", "--connect", address,
                            # for all clients: a waiting one would print a notice after a while
                            "--slots", "8",
                            env={"GANGWAY_TOKEN": tokens["worker"]["token"]})
        worker.wait_output("other workers reach this one")
        self.valve = Valve(address, 1 << 20)
        self.addCleanup(self.valve.close)
        self.client = {"GANGWAY_TOKEN": tokens["admin"]["token"], "NO_COLOR": "1",
                       "GANGWAY_ADDRESS": self.valve.address, "TERM": "xterm"}
        self.ends = (scheduler, worker, dict(self.client, GANGWAY_ADDRESS=address))

    def ship(self, name, *options):
        with open(os.path.join(self.dir, name), "wb") as f:
            f.write(name.encode() * (self.MIB * (1 << 20) // len(name)))
        return [e2e.BINARY, "submit", *options, "--ship", name, "--", "true"]

    def in_terminal(self, argv, columns):
        """Starts it with its stderr in a terminal of this width; returns that, and its other
        side."""
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        client = self.start("sh", "-c", f"exec \"$@\" 2>{os.ttyname(secondary)}", "sh", *argv,
                            env=self.client)
        return client, primary, secondary

    def test_upload_progress_is_shown_at_a_terminal(self):
        """The progress is shown at a terminal of any width, but not in a pipe and not with
        -q."""
        long = "x" * 64
        silent = [self.start(*self.ship("piped"), env=self.client),
                  self.in_terminal(self.ship("quiet", "-q"), 80)]
        shown = [(self.in_terminal(self.ship("big"), 80), 80, "sending big: "),
                 (self.in_terminal(self.ship(long), 40), 40, "sending x+: "),
                 (self.in_terminal(self.ship("narrow"), 26), 26, "sending ")]
        share = rf"([1-9]\.[0-9]|1[0-9]\.[0-9]) of {self.MIB}\.0 MiB"
        texts = [read_until(primary, rf"\r{wanted}{share}")
                 for (_, primary, _), _, wanted in shown]
        self.valve.open.set()
        for ((client, primary, secondary), columns, _), text in zip(shown, texts):
            self.assertEqual(client.wait(), 0, client.text)
            os.write(secondary, b"$")
            text += read_until(primary, r"\$")
            lines = text.split("\r")
            self.assertEqual([line for line in lines if len(line) >= columns], [])
            self.assertEqual((lines[-2].strip(" "), lines[-1]), ("", "$"), text)
        self.assertEqual((silent[0].wait(), silent[0].text), (0, ""))
        client, primary, secondary = silent[1]
        self.assertEqual(client.wait(), 0)
        os.write(secondary, b"$")
        self.assertEqual(read_until(primary, r"\$"), "$")
        for _, primary, secondary in [silent[1]] + [each[0] for each in shown]:
            os.close(primary)
            os.close(secondary)
        scheduler, worker, direct = self.ends
        self.gangway("down", env=direct)
        self.assertEqual((worker.wait(), scheduler.wait()), (0, 0))


class Tables(e2e.Case):
    def lines(self, columns, *arguments, rc=0, until="", then=lambda: None):
        """The output of a command in a terminal of this width; `then` is called when it has shown
        `until`."""
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = self.start("sh", "-c", f"exec \"$@\" >{os.ttyname(secondary)} 2>&1", "sh",
                             e2e.BINARY, *arguments, env={"NO_COLOR": "1"})
        text = read_until(primary, until).encode()
        then()
        self.assertEqual(command.wait(), rc, command.text)
        os.close(secondary)
        try:
            while piece := os.read(primary, 65536):
                text += piece
        except OSError:
            pass  # the end of a terminal looks like this
        os.close(primary)
        return text.decode().replace("\r", "").splitlines()

    def test_tables_fit_the_terminal_width(self):
        self.up("--slots", "2")
        self.gangway("submit", "-d", "--name", "a-name-that-is-longer-than-most", "--", "tail",
                     "-f", "/dev/null")
        for columns in (60, 80, 100):
            for verb in (("jobs",), ("tasks", "last"), ("worker", "list")):
                lines = self.lines(columns, *verb)
                self.assertEqual([line for line in lines if len(line) > columns], [])
                self.assertEqual(len(lines), 2, lines)
        jobs = self.lines(80, "jobs")
        self.assertRegex(jobs[1], r"^ +1  a-name-that…  running ")
        self.assertIn("FREE", self.lines(60, "worker", "list")[0])

    def test_accounts_and_queues_fit_80_columns_with_whole_names(self):
        path = self.write("gangway.conf", """
            accounts = ( { name = "lab"; gpus = 128; slots = 2048; },
                         { name = "vision"; parent = "lab"; running-jobs = 1000; },
                         { name = "vision-segmentation"; parent = "vision"; queued-jobs = 10; } );
            queues = ( { name = "preemptible-at-night"; workers = "rack-1,rack-2,rack-3";
                         time-limit = "7d12h"; default-time-limit = "1h30m";
                         accounts = ["vision-segmentation"]; } );
            scheduler = { workers = 1; slots = 1; };""")
        scheduler = self.start(e2e.BINARY, "scheduler", "--config", path)
        self.is_up = True
        scheduler.wait_output("worker-1")
        names = {"account": "    vision-segmentation ", "queue": "preemptible-at-night "}
        for verb, name in names.items():
            lines = self.lines(80, verb, "list")
            self.assertEqual([line for line in lines if len(line) > 80], [])
            self.assertIn(name, "\n".join(lines))

    def test_trials_of_a_sweep_fit_80_columns_with_few_digits(self):
        self.up("--slots", "2")
        self.gangway("sweep", "--name", "s", "--param", "rate=0..1", "--param", "decay=0..1",
                     "--minimize", "loss", "--trials", "3", "-q", "--", e2e.BINARY, "report",
                     "loss={rate}", "decay={decay}")
        rows = self.lines(80, "sweep", "show", "s")[2:]
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.assertRegex(row, r" rate=[\d.]{3,6} decay=[\d.]{3,6}$")
        piped = self.gangway("sweep", "show", "s").stdout
        for trial in self.gangway_json("sweep", "show", "s")["trials"]:
            self.assertIn(f"rate={trial['params']['rate']} ", piped)

    def test_top_shows_the_jobs_until_q_and_restores_the_terminal(self):
        self.up("--slots", "1")
        self.assertRegex(self.gangway("top").stdout,  # no terminal: once
                         "^Running for .*\n(.*\n)+no unfinished jobs\n$")
        primary, secondary = pty.openpty()
        self.addCleanup(os.close, primary)
        self.addCleanup(os.close, secondary)
        earlier = termios.tcgetattr(secondary)
        for end, code in ((b"q", 0), (None, -signal.SIGINT)):
            job = self.gangway("submit", "-d", "--name", "nap", "--", "tail", "-f", "/dev/null")
            top = self.start("sh", "-c", f'exec "$@" <{os.ttyname(secondary)} '
                             f'>{os.ttyname(secondary)}', "sh", e2e.BINARY, "top",
                             env={"TERM": "xterm"})
            said = read_until(primary, "nap .*running")
            self.assertIn("Free slots", said)
            self.gangway("cancel", job.stdout.strip())
            read_until(primary, "no unfinished jobs")
            if end:
                os.write(primary, end)
            else:
                top.kill(signal.SIGINT)
            self.assertEqual(top.wait(), code)
            self.assertEqual(termios.tcgetattr(secondary), earlier)

    def test_explanations_are_wrapped_at_words(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "tail", "-f", "/dev/null")
        self.gangway("submit", "-d", "--", "true")
        said = self.gangway("explain", "2").stdout
        lines = self.lines(40, "explain", "2")
        self.assertGreater(len(lines), 2)
        self.assertEqual([line for line in lines if len(line) > 40], [])
        self.assertEqual(" ".join(lines).split(), said.split())

    def test_waiting_notices_are_wrapped_at_words(self):
        self.up("--slots", "1")
        gate = self.fifo("gate")
        self.gangway("submit", "-d", "--", "cat", gate)
        lines = self.lines(40, "submit", "--", "true", until="the job waits",
                           then=lambda: self.run_program("sh", "-c", f": > {gate}"))
        self.assertTrue(" ".join(lines).startswith("gangway: the job waits: true (task 0 of job "
                                                   "2): "))
        self.assertEqual([line for line in lines if len(line) > 40], [])
        self.assertTrue(all(len(line) + len(after.split()[0]) >= 40
                            for line, after in zip(lines, lines[1:])), lines)

    def test_errors_are_wrapped_but_task_output_is_not(self):
        self.up("--slots", "1")
        wrote = "x" * 30 + " " + "y" * 30
        failing = ("submit", "-q", "--", "sh", "-c", f"echo {wrote}; echo {wrote} >&2; exit 7")
        for rc, after, argv in ((7, [wrote], failing),
                                (2, [], ("submit", "--memory", "7000P", "--", "true")),
                                (2, ["`gangway up --help` shows the options"],
                                 ("up", "--slots", "many"))):
            said = self.gangway(*argv, rc=rc).stderr.splitlines()
            self.assertEqual(said[1:], after)
            lines = self.lines(40, *argv, rc=rc)
            count = len(lines) - len(after)
            self.assertGreater(count, 1)
            self.assertEqual([line for line in lines[:count] if len(line) > 40], [])
            number = re.compile(r"of job \d+")
            self.assertEqual(number.sub("", " ".join(lines[:count])), number.sub("", said[0]))
            self.assertEqual(lines[count:], after)

    def test_tasks_at_a_worker_are_listed_as_running(self):
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "tail", "-f", "/dev/null")
        self.gangway("submit", "-d", "--", "true")
        self.assertRegex(self.gangway("tasks", "1").stdout,
                         r"(?m)^ +0 +tail +running +1 +worker-1 ")
        self.assertRegex(self.gangway("tasks", "2").stdout, r"(?m)^ +0 +true +ready +0 +- ")
        self.assertIn("tail", self.gangway("tasks", "-s", "running", "1").stdout)
        self.assertIn("no tasks", self.gangway("tasks", "-s", "running", "2").stderr)


if __name__ == "__main__":
    e2e.main()
