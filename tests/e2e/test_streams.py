#!/usr/bin/env python3
"""The standard streams of attached commands: all output arrives, paced by its reader, and the
input reaches the task."""
import hashlib
import os
import pty
import signal
import subprocess
import time

import e2e

HELD = 16 << 20  # as GW_HELD_BYTES: how far a task may be ahead of its reader
RUNS = ("placed", "running")
KEPT = 64 << 20  # of a stream, at its worker


def digest(*argv):
    """The digest of a command's output, run here."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        return digest_of(process.stdout)


def digest_of(stream, begun=b""):
    found = hashlib.sha256(begun)
    while piece := stream.read(1 << 20):
        found.update(piece)
    return found.hexdigest()


class Streams(e2e.Case):
    def launch(self, *words, **streams):
        """Starts the command line beside this test."""
        process = subprocess.Popen([e2e.BINARY, *words], env=self.env, cwd=self.dir,
                                   **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                      **streams})
        self.addCleanup(process.wait, e2e.TIMEOUT_S)
        if process.stdout:
            self.addCleanup(process.stdout.close)
        return process

    def fed(self, given, *words, rc=0):
        """Its output, with this standard input."""
        done = subprocess.run([e2e.BINARY, *words], input=given, env=self.env, cwd=self.dir,
                              capture_output=True, timeout=2 * e2e.TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, rc, done.stderr.decode())
        self.stderr = done.stderr.decode()
        return done.stdout

    def test_attached_output_above_the_stored_size_is_complete(self):
        """The output is larger than the part that the worker stores."""
        wanted = digest("seq", "9000000")
        alone = self.launch("submit", "--", "seq", "9000000")
        self.assertEqual(digest_of(alone.stdout), wanted)
        self.assertEqual(alone.wait(), 0)
        alone = self.launch("submit", "--", "sh", "-c", "seq 9000000 >&2", stdout=None,
                            stderr=subprocess.PIPE)
        self.assertEqual(digest_of(alone.stderr), wanted)
        self.assertEqual(alone.wait(), 0)
        alone.stderr.close()

    def test_paused_reader_holds_back_only_its_own_task(self):
        """Only its own task is held back, and neither disk nor memory grows."""
        self.up("--slots", "2")
        size = KEPT + HELD
        command = f"head -c {size} /dev/zero | tr '\\0' x"
        reader = self.launch("submit", "--inactivity-timeout", "1", "--", "sh", "-c", command)
        begun = reader.stdout.read(1 << 20)
        reader.send_signal(signal.SIGSTOP)
        running = self.gangway_json("jobs")[0]["id"]
        self.gangway("submit", "--", "true")
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while self.printed(running) < HELD:
            self.assertLess(time.monotonic(), deadline)
            self.assertIn(self.gangway_json("tasks", str(running))[0]["state"], RUNS)
        for _ in range(5):  # longer than its inactivity timeout, in total
            self.gangway("submit", "--", "sleep", "0.5")
            self.assertLess(self.printed(running), HELD + (8 << 20))
        self.assertIn(self.gangway_json("tasks", str(running))[0]["state"], RUNS)
        reader.send_signal(signal.SIGCONT)
        rest = reader.stdout.read()
        self.assertEqual((len(begun) + len(rest), set(rest)), (size, {ord("x")}))
        self.assertEqual(reader.wait(), 0)

    def printed(self, job):
        """How many bytes of a task's output its worker has stored."""
        found = [os.path.join(at, name) for at, _, names in os.walk(self.dir) for name in names
                 if at.endswith(f"logs/{job}") and name.endswith(".out")]
        return max(map(os.path.getsize, found), default=0)

    def test_dead_reader_cancels_its_task(self):
        """The task is cancelled, and its last output has no reader."""
        self.up("--slots", "1")
        last = self.fifo("last")
        reader = self.launch("submit", "--grace", "60", "--", "sh", "-c",
                             f"trap 'seq 100000; echo over >{last}; exit 0' TERM; "
                             "while :; do seq 100000; done")
        reader.stdout.read(1 << 20)
        reader.kill()
        self.assertEqual(self.read_fifo(last), "over\n")
        self.assert_idle()

    def test_output_streams_of_two_ranks_stay_complete(self):
        """Each stream of each rank is complete, and lines are not mixed."""
        self.up("--slots", "2")
        line, count = "x" * 999, 70000  # more than is stored
        script = (f"if [ $RANK = 1 ]; then exec >&2; fi; yes {line} | head -n {count}")
        with open(os.path.join(self.dir, "err"), "w+b") as err:
            gang = self.launch("dispatch", "-n", "2", "--", "sh", "-c", script, stderr=err)
            wanted = {0: f"[0] {line}\n".encode(), 1: f"[1] {line}\n".encode()}
            self.assertEqual(gang.stdout.read(), wanted[0] * count)
            self.assertEqual(gang.wait(), 0)
            err.seek(0)
            self.assertEqual(err.read(), wanted[1] * count)

    def test_unfinished_lines_are_shown_at_once(self):
        """A line without an end is shown at once: a prompt, or a progress bar that overwrites
        itself."""
        self.up("--slots", "2")
        hang = self.fifo("hang")
        alone = self.start(e2e.BINARY, "submit", "--", "sh", "-c", f"printf 'go? '; cat {hang}")
        alone.wait_output("go\\? ")
        with open(hang, "w", encoding="utf-8"):
            pass
        self.assertEqual((alone.wait(), alone.text), (0, "go? "))
        ranks = [self.fifo(f"hang.{rank}") for rank in range(2)]
        gang = self.start(e2e.BINARY, "dispatch", "-n", "2", "--", "sh", "-c",
                          f"[ $RANK = 1 ] || printf '\\r 10%%\\r 20%%'; cat {hang}.$RANK; "
                          "[ $RANK = 1 ] || printf '\\r 99%%\\n'; echo end")
        gang.wait_output("20%")
        self.assertEqual(gang.text, "[0]  10%\r[0]  20%")
        for fifo in ranks:
            with open(fifo, "w", encoding="utf-8"):
                pass
        self.assertEqual(gang.wait(), 0)
        self.assertIn("[0]  99%\n", gang.text)
        self.assertEqual(gang.text.count("[0] end\n") + gang.text.count("[1] end\n"), 2)

    def test_stdin_reaches_the_command_or_rank_0(self):
        self.up("--slots", "2")
        self.assertEqual(self.fed(b"hello\n", "submit", "--", "cat"), b"hello\n")
        self.assertEqual(self.fed(b"", "submit", "--", "cat"), b"")
        self.assertEqual(self.fed(b"hello\n", "submit", "--stdin", "none", "--", "cat"), b"")
        self.write("given", "of a file\n")
        self.assertEqual(self.fed(b"hello\n", "submit", "--stdin", "given", "--", "cat"),
                         b"of a file\n")
        gang = self.fed(b"hello\n", "dispatch", "-n", "2", "--", "sh", "-c", "echo $(cat)")
        # only rank 0 gets the input
        self.assertEqual(sorted(gang.splitlines()), [b"[0] hello", b"[1] "])
        self.assertEqual(self.fed(b"hello\n", "submit", "--array", "1", "--", "cat"), b"")
        job = self.fed(b"hello\n", "submit", "-d", "--", "cat").decode().strip()
        self.gangway("wait", job)
        self.assertEqual(self.gangway("logs", job).stdout, "")
        for words in ["-d"], ["--array", "0-1"], ["--pty"]:
            self.assertIn("--stdin given cannot be combined with --detach",
                          self.gangway("submit", *words, "--stdin", "given", "--", "cat",
                                       rc=2).stderr)
        self.assertIn("--stdin none-such: No such file",
                      self.gangway("submit", "--stdin", "none-such", "--", "cat", rc=2).stderr)

    def test_large_input_flows_at_the_speed_of_the_task(self):
        """The input flows as fast as the task reads, and nothing accumulates on the way."""
        self.up("--slots", "1")
        given = os.urandom(1 << 20) * (48 if e2e.SANITIZED else 256)
        said = self.fed(given, "submit", "--", "sha256sum")
        self.assertEqual(said.decode().split()[0], hashlib.sha256(given).hexdigest())
        beside = self.launch("submit", "--", "sh", "-c",
                             "read line; echo $line; exec tail -f /dev/null",
                             stdin=subprocess.PIPE)
        beside.stdin.write(b"first\n")
        beside.stdin.flush()
        self.assertEqual(beside.stdout.readline(), b"first\n")
        os.set_blocking(beside.stdin.fileno(), False)
        written, still = 0, 0
        while still < 3:  # until no more of it is accepted, long before all is in memory
            try:
                written, still = written + os.write(beside.stdin.fileno(), bytes(1 << 16)), 0
                self.assertLess(written, 4 << 20)
            except BlockingIOError:
                still += 1
                self.gangway("status")
        self.gangway("cancel", "--now", "last")
        self.assertNotEqual(beside.wait(e2e.TIMEOUT_S), 0)
        beside.stdin.close()

    def test_command_that_ignores_its_input_ends_normally(self):
        """The command ends normally, and its client does not wait for the end of the unread
        input."""
        self.up("--slots", "1")
        for script, rc in (("exit 0", 0), ("exec <&-; exit 3", 3), ("head -n 1", 0),
                           ("kill -9 $$", 137)):
            source = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
            client = self.launch("submit", "--", "sh", "-c", script, stdin=source.stdout)
            source.stdout.close()
            self.assertEqual(client.wait(e2e.TIMEOUT_S), rc)
            source.wait(e2e.TIMEOUT_S)
        read, write = os.pipe()
        client = self.launch("submit", "--", "echo", "done", stdin=read)
        self.assertEqual((client.stdout.read(), client.wait(e2e.TIMEOUT_S)), (b"done\n", 0))
        os.close(read)
        os.close(write)

    def test_next_attempt_gets_the_same_input_or_is_cancelled(self):
        """If the input is too large to be repeated, there is no next attempt."""
        self.up("--slots", "1")
        large = b"x" * (3 << 20)
        self.write("large", large.decode())
        words = ("submit", "--retries", "1")
        self.assertEqual(self.fed(b"few words\n", *words, "--", "sh", "-c",
                                  "cat; [ $GANGWAY_RESTART_COUNT = 1 ]"), b"few words\nfew words\n")
        count = "wc -c; [ $GANGWAY_RESTART_COUNT = 1 ]"
        self.assertEqual(self.fed(b"", *words, "--stdin", "large", "--", "sh", "-c", count),
                         b"%d\n" % len(large) * 2)
        self.assertEqual(self.fed(large, *words, "--", "sh", "-c", count, rc=1),
                         b"%d\n" % len(large))
        self.assertIn("which cannot be read again", self.stderr)
        self.assertNotEqual(self.gangway_json("tasks", "last")[0]["state"], "done")

    def test_next_attempt_gets_the_input_of_an_open_pipe(self):
        """The pipe stays open, and nothing more is written into it."""
        self.up("--slots", "1")
        read, write = os.pipe()
        client = self.launch("submit", "--retries", "1", "--", "sh", "-c",
                             "head -n 1; [ $GANGWAY_RESTART_COUNT = 1 ]", stdin=read)
        os.write(write, b"few words\n")
        self.assertEqual((client.stdout.read(), client.wait(e2e.TIMEOUT_S)),
                         (b"few words\nfew words\n", 0))
        os.close(read)
        os.close(write)


class Tasks(e2e.Case):
    """The output of C functions, at the program that has submitted them."""

    def prints(self, show, *, private=False, **options):
        fifo = os.path.join(self.dir, "here")
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
        if not private and not self.is_up:
            self.up("--slots", "2")
        return self.start(os.path.join(e2e.BUILD, "bin", "prints"), str(show), fifo, **options)

    def go_on(self):
        with open(os.path.join(self.dir, "here"), "w", encoding="utf-8") as file:
            file.write("x")

    def test_task_output_is_shown_if_the_program_asks(self):
        for private in True, False:
            process = self.prints(1, private=private)
            first = process.wait_output(r"\[(\d+)/0\] it waits$")
            self.assertNotIn("has begun", process.text)  # its line has no end yet
            self.go_on()
            self.assertEqual(process.wait(), 0, process.text)
            job, lines = int(first.group(1)), process.text.splitlines()
            for line in (f"[{job}/0] and has begun a line", f"[{job + 1}/0] to error",
                         f"[{job + 1}/0] to output", f"[{job + 2}/0:0] rank 0",
                         f"[{job + 2}/0:1] rank 1", f"[{job + 3}/0] {99999:099}"):
                self.assertIn(line, lines)
            self.assertEqual(lines[-1], "ok")
            if private:
                self.assertNotIn("%", process.text)
            left = next(line for line in lines if "left out" in line)
            self.assertRegex(left, rf"^\[{job + 3}/0\] \d+ bytes of its output are left out here$")

    def test_private_cluster_shows_task_output_at_a_terminal(self):
        primary, secondary = pty.openpty()
        fifo = self.fifo("here")
        with subprocess.Popen([os.path.join(e2e.BUILD, "bin", "prints"), "0", fifo], env=self.env,
                              cwd=self.dir, stdin=secondary, stdout=secondary,
                              stderr=subprocess.STDOUT) as process:
            os.close(secondary)
            self.go_on()
            text = b""
            try:
                while piece := os.read(primary, 65536):
                    text += piece
            except OSError:
                pass  # no process has it open any more
            self.assertEqual(process.wait(e2e.TIMEOUT_S), 0, text)
        os.close(primary)
        self.assertIn(b"] it waits\r\n", text)
        self.assertTrue(text.endswith(b"ok\r\n"), text[-100:])

    def test_task_output_is_not_shown_by_default(self):
        for show, private in ((0, False), (-1, False), (0, True)):
            process = self.prints(show, private=private)
            self.go_on()
            self.assertEqual((process.wait(), process.text), (0, "ok\n"))


if __name__ == "__main__":
    e2e.main()
