"""The frame of the end-to-end tests: real processes, seen from outside, as a user sees them.

    import e2e

    class Status(e2e.Case):
        def test_status_without_a_cluster_exits_with_3(self):
            self.gangway("status", rc=3)

    if __name__ == "__main__":
        e2e.main()

Every test has a HOME, a runtime folder and a temporary folder of its own, and so its own clusters.
All its processes carry a mark in the environment, across setsid and exec: a process that still runs
when the test ends is killed and fails the test, and so does a sanitizer finding in any of them. If
the test itself is killed, undertaker.py cleans up. Nothing here sleeps: the end of a process is
awaited by pidfd, output by its arrival, and every wait has an end. Uses only Python's standard
library."""
import glob
import contextlib
import json
import os
import re
import select
import selectors
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

from undertaker import Undertaker

BUILD = os.environ.get("GANGWAY_BUILD", "")
BINARY = os.environ.get("GANGWAY_BINARY", "gangway")
# costs time, but does not change the behaviour
SANITIZED = "sanitize" in os.environ.get("GANGWAY_FLAVOUR", "")
# For tests that take long or much CPU time, and show the same in each build.
in_release = unittest.skipIf(SANITIZED, "the release build runs it")
# For long tests without more threads than their neighbours.
not_for_tsan = unittest.skipIf("thread" in os.environ.get("GANGWAY_FLAVOUR", ""),
                               "the other builds run it; its neighbours have the same threads")
TIMEOUT_S = 60  # of one command; sanitizers on two cores are slow
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan.suppressions")
MARK = "GANGWAY_TEST_MARK"
PF_KTHREAD = 0x00200000  # linux/sched.h
# Pause between two polls: without it, a test of several seconds would take a core from the process
# it waits for, and from its neighbours.
AGAIN_S = .05
# Python's descriptors are closed by the exec itself, not before: the undertaker sees the end of
# its pipe when every child of the test has executed its program.
EXEC_CLOSES = {"close_fds": False}
# Not a finding: a process that is killed during its leak check prints this, after its work is
# done.
KILLED_MEANWHILE = re.compile(r"Running thread \d+ was not suspended\. False leaks are possible\.")


def has_no_environment(pid):
    """True for dead processes, kernel threads, and processes started with an empty environment.
    During an exec, other processes also show none for a moment."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    state, flags, (start, end) = fields[0], int(fields[6]), map(int, fields[47:49])
    return state in "ZX" or flags & PF_KTHREAD or 0 < start == end


def environment_of(pid):
    """The environment that the process was started with, as a list of bytes; an exec is waited
    for."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        with open(f"/proc/{pid}/environ", "rb") as f:
            text = f.read()
        if text or has_no_environment(pid) or time.monotonic() > deadline:
            return text.split(b"\0")
        os.sched_yield()


def pids_marked(mark):
    """Processes with the mark in their environment, except zombies."""
    found, wanted = [], f"{MARK}={mark}".encode()
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):  # gone, or of another user
            if name.isdigit() and wanted in environment_of(name):
                found.append(int(name))
    return found


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "(gone)"


def wait_gone(pid, timeout_s):
    """True if the process ends (or is a zombie) within the time."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            return bool(selector.select(timeout_s))
    finally:
        os.close(fd)


def pause():
    """Waits before the next poll of a state without a descriptor."""
    select.select([], [], [], AGAIN_S)


def kill_marked(mark):
    """Kills the processes of a mark, including those born meanwhile."""
    for _ in range(10):
        pids = pids_marked(mark)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            return
        for pid in pids:
            wait_gone(pid, TIMEOUT_S)


def lasting_folder():
    """Where test folders are made: a cluster refuses to have its state in memory."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        in_memory = [line.split()[1] for line in f if line.split()[2] in ("tmpfs", "ramfs")]
    temporary = os.path.realpath(tempfile.gettempdir())
    for folder in temporary, "/var/tmp":
        if not any(folder == at or folder.startswith(at + "/") for at in in_memory if at != "/"):
            return folder
    return temporary


class Lines:
    """Lines that processes of a test write into a fifo."""

    def __init__(self, path):
        self.path, self.text = path, ""
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def next(self, timeout_s=TIMEOUT_S):
        deadline = time.monotonic() + timeout_s
        while "\n" not in self.text:
            with selectors.DefaultSelector() as selector:
                selector.register(self.fd, selectors.EVENT_READ)
                if not selector.select(max(0, deadline - time.monotonic())):
                    raise AssertionError(f"no line in {self.path} within {timeout_s} s")
            self.text += os.read(self.fd, 65536).decode(errors="replace")
        line, self.text = self.text.split("\n", 1)
        return line

    def close(self):
        os.close(self.fd)


class Process:
    """A process whose output is read as it arrives, and that cannot outlive its test."""

    def __init__(self, argv, **options):
        self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, **EXEC_CLOSES, **options)
        self.argv, self.pid, self.text = argv, self.popen.pid, ""

    def _read(self, deadline):
        """Reads new output; False at the end of the output or at the deadline."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.popen.stdout, selectors.EVENT_READ)
            if not selector.select(max(0, deadline - time.monotonic())):
                return False
        data = os.read(self.popen.stdout.fileno(), 65536)
        self.text += data.decode(errors="replace")
        return bool(data)

    def wait_output(self, pattern, timeout_s=TIMEOUT_S):
        """The match of a pattern in all output so far, as soon as there is one."""
        deadline = time.monotonic() + timeout_s
        while True:
            match = re.search(pattern, self.text, re.M)
            if match:
                return match
            if not self._read(deadline):
                raise AssertionError(f"{self.argv}: no {pattern!r} in its output:\n{self.text}")

    def wait(self, timeout_s=TIMEOUT_S):
        """The exit code (negative: a signal); reads the rest of the output."""
        deadline = time.monotonic() + timeout_s
        while self._read(deadline):
            pass
        try:
            return self.popen.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.argv}: runs after {timeout_s} s:\n{self.text}") from None

    def kill(self, number=signal.SIGKILL):
        self.popen.send_signal(number)


class Case(unittest.TestCase):
    """One test; see the top of this file."""

    # Processes that are about to end when a test ends have this much time.
    linger_s = TIMEOUT_S
    undertaker = None  # if main() runs the tests

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="gw-e2e-", dir=lasting_folder())
        self.mark = uuid.uuid4().hex
        if self.undertaker:
            self.undertaker.begins(self.mark, self.dir)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith("GANGWAY_") and k != "XDG_STATE_HOME"}
        for name, folder in (("HOME", "home"), ("XDG_RUNTIME_DIR", "run"), ("TMPDIR", "tmp"),
                             ("XDG_CACHE_HOME", "cache")):
            self.env[name] = os.path.join(self.dir, folder)
            os.mkdir(self.env[name], 0o700)
        self.env.update({MARK: self.mark, "GANGWAY_BINARY": BINARY,
                         "PATH": f"{os.path.dirname(BINARY)}:{os.environ['PATH']}"})
        # A daemon would write sanitizer findings only to its log, so they go to files here.
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            given = [self.env[name]] if name in self.env else []
            if name == "TSAN_OPTIONS":
                given.append(f"suppressions={SUPPRESSIONS}")
            self.env[name] = ":".join(given + [f"log_path={self.dir}/sanitizer"])
        self.started, self.is_up, self.asked = [], False, None

    def small_disk(self, size):
        """Mounts a file system of its own."""
        disk = tempfile.mkdtemp(prefix="gw-e2e-disk-")
        self.addCleanup(os.rmdir, disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs",
                                  disk], capture_output=True, text=True, check=False)
        if mounted.returncode:
            self.skipTest(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        return disk

    def process_of(self, words):
        """The process of this test whose command line contains these words."""
        for pid in pids_marked(self.mark):
            if words in command_of(pid):
                return pid
        raise AssertionError(f"no process runs {words}")

    def cluster(self, *names, env=None):
        """A path in the folder of the running cluster, or of a worker on another host."""
        return os.path.join((env or self.env)["HOME"], ".local", "state", "gangway",
                            socket.gethostname(), *names)

    def reports(self):
        """The sanitizer findings in the processes of this test."""
        text = ""
        for path in sorted(glob.glob(self.dir + "/sanitizer.*")):
            with open(path, encoding="utf-8", errors="replace") as f:
                text += "".join(line for line in f if not KILLED_MEANWHILE.search(line))
        return text

    def tearDown(self):
        if self.is_up:  # its end may fail: the test may have killed it
            subprocess.run([BINARY, "down", "--now"], env=self.env, capture_output=True,
                           timeout=TIMEOUT_S, check=False)
        deadline = time.monotonic() + self.linger_s
        left = [(pid, command_of(pid)) for pid in pids_marked(self.mark)
                if not wait_gone(pid, max(0, deadline - time.monotonic()))]
        kill_marked(self.mark)
        for process in self.started:
            process.popen.wait()
            process.popen.stdout.close()
        # A program that is killed while ThreadSanitizer starts leaves a file of it.
        files = [file for file in sorted(os.listdir(self.env["TMPDIR"]))
                 if not file.startswith("tsan.rodata.")]
        reports = self.reports()
        shutil.rmtree(self.dir, ignore_errors=True)
        if self.undertaker:
            self.undertaker.ends()
        self.assertFalse(reports, "a sanitizer has found something: " + reports)
        self.assertEqual(left, [], "processes were left behind")
        self.assertEqual(files, [], "files were left behind in TMPDIR")

    def start(self, *argv, env=None, cwd=None):
        """Starts a program in the environment of the test, and returns it as a Process."""
        process = Process(list(argv), env=dict(self.env, **(env or {})), cwd=cwd or self.dir)
        self.started.append(process)
        return process

    def run_program(self, *argv, rc=0, timeout_s=TIMEOUT_S, env=None, cwd=None):
        """Runs it to its end and expects this exit code (None: any); returns .stdout and .stderr
        as text. A repeated call is delayed by the pause."""
        if argv == self.asked:
            pause()
        self.asked = argv
        try:
            done = subprocess.run(argv, env=dict(self.env, **(env or {})), cwd=cwd or self.dir,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=timeout_s, check=False, **EXEC_CLOSES)
        except subprocess.TimeoutExpired as late:
            self.fail(f"{argv}: runs after {timeout_s} s: {late.stdout!r} {late.stderr!r}")
        said = f"{argv}:\n{done.stdout}\n{done.stderr}"
        self.assertEqual(done.returncode, done.returncode if rc is None else rc, said)
        self.assertNotRegex(done.stderr, r"(?m)^\S+:\d+:\d+: runtime error: ", said)  # of UBSan
        return done

    def gangway(self, *arguments, **options):
        """Runs the command line to its end."""
        return self.run_program(BINARY, *arguments, **options)

    def gangway_json(self, *arguments, **options):
        """The output of a subcommand with --json."""
        return json.loads(self.gangway(*arguments, "--json", **options).stdout)

    def up(self, *arguments):
        """Starts this test's cluster, which tearDown takes down."""
        self.gangway("up", *arguments)
        self.is_up = True

    def assert_gone(self, pids=None):
        """Expects that these processes have ended, now or soon; None: all of this test's."""
        deadline = time.monotonic() + TIMEOUT_S
        for pid in pids_marked(self.mark) if pids is None else pids:
            self.assertTrue(wait_gone(pid, max(0, deadline - time.monotonic())),
                            f"{pid} lives on: {command_of(pid)}")

    def assert_strangers_refused(self, host, port):
        """Clients without a key get nothing: other protocols, junk, TLS without a key."""
        for greeting in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", bytes(4096)):
            with socket.create_connection((host, port), timeout=30) as stranger:
                stranger.sendall(greeting)
                stranger.shutdown(socket.SHUT_WR)
                try:
                    while stranger.recv(4096):
                        pass
                except ConnectionError:
                    pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection((host, port), timeout=30) as stranger:
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                context.wrap_socket(stranger).recv(1)

    def assert_idle(self):
        """Expects that all slots of the running cluster are free, now or soon: the end of a client
        is noticed a moment later. Each query waits for its answer."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            status = self.gangway_json("status")
            if status["slots_free"] == status["slots"]:
                return
            self.assertLess(time.monotonic(), deadline, f"slots are still taken: {status}")

    def wait_said(self, pattern, *arguments, wanted=True):
        """Waits until the output of a subcommand matches the pattern (or no longer does): parallel
        events are visible a moment later. Each query waits for its answer."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            said = self.gangway(*arguments).stdout
            if bool(re.search(pattern, said)) == wanted:
                return said
            self.assertLess(time.monotonic(), deadline, f"{arguments}: {pattern!r}: {said}")

    def write(self, name, text, mode=0o755):
        """Writes a file in the test's folder; returns its path."""
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def fifo(self, name="fifo"):
        path = os.path.join(self.dir, name)
        os.mkfifo(path)
        return path

    def read_fifo(self, path, timeout_s=TIMEOUT_S):
        """The first text written to a fifo; with it a task reports that it runs."""
        # also for writing, so that there is no end of file in between
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(fd, selectors.EVENT_READ)
                if not selector.select(timeout_s):
                    self.fail(f"nobody wrote into {path} within {timeout_s} s")
            return os.read(fd, 65536).decode(errors="replace")
        finally:
            os.close(fd)


def main():
    """Runs the tests of the calling file; exits with 77 if all of them were skipped."""
    Case.undertaker = Undertaker(kill_marked)
    result = unittest.main(verbosity=2, exit=False).result
    if result.wasSuccessful() and result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
