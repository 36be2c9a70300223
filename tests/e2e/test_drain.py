#!/usr/bin/env python3
"""Drained workers: an admin or their health check drains and undrains them."""
import contextlib
import os
import signal
import subprocess
import tempfile

import e2e


# A clock that is an hour ahead while the file AHEAD exists.
CLOCK = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, id, now);
    const char *path = id == CLOCK_REALTIME ? getenv("AHEAD") : NULL;
    if (rc == 0 && path && access(path, F_OK) == 0)
        now->tv_sec += 3600;
    return rc;
}
"""


class Drain(e2e.Case):
    def states(self):
        return {row["name"]: row["state"] for row in self.gangway_json("worker", "list")}

    def test_drained_worker_ends_its_task_and_takes_no_other(self):
        self.up("--slots", "1")
        held = self.fifo("held")
        first = self.gangway("submit", "-d", "--", "sh", "-c", f"cat {held}").stdout.strip()
        self.wait_said("running", "jobs")
        said = self.gangway("worker", "drain", "worker-1", "--reason", "new kernel").stderr
        self.assertIn("worker worker-1: takes no new work", said)
        self.assertEqual(self.states(), {"worker-1": "draining"})
        second = self.gangway("submit", "-d", "--", "true").stdout.strip()
        with open(held, "w", encoding="utf-8"):
            pass
        self.gangway("wait", first)
        self.assertEqual(self.states(), {"worker-1": "drained"})
        self.assertRegex(self.gangway("explain", second).stdout,
                         r"0 of 1 slots are free\n  drained workers take no tasks: worker-1, "
                         r"drained by .*: new kernel\n")
        self.gangway("worker", "undrain", "worker-1")
        self.gangway("wait", second)
        self.assertEqual(self.states(), {"worker-1": "ready"})
        self.assertIn("worker worker-1 is not drained",
                      self.gangway("worker", "undrain", "worker-1", rc=2).stderr)
        self.assertIn("no worker is called w7", self.gangway("worker", "drain", "w7", rc=2).stderr)

    def test_deadline_ends_what_runs_and_it_runs_elsewhere(self):
        self.up("--slots", "2", "--workers", "2")
        lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(lines.close)
        silent = self.fifo("silent")
        script = f"trap 'exit 1' TERM; echo $$ > {lines.path}; while :; do read x < {silent}; done"
        job = self.gangway("submit", "-d", "--prefer", "worker-1", "--", "sh", "-c",
                           script).stdout.strip()
        lines.next()
        self.gangway("worker", "drain", "worker-1", "--deadline", "0")
        lines.next()  # its second attempt
        self.assertRegex(self.gangway("events", job).stdout,
                         r"attempt 1 ended on \S+: drained by gangway worker")
        self.assertEqual(self.states(), {"worker-1": "drained", "worker-2": "ready"})
        self.gangway("cancel", job)

    def test_drained_worker_stays_so_when_it_and_the_scheduler_restart(self):
        self.up("--slots", "1")
        self.gangway("worker", "drain", "worker-1", "--deadline", "1h")
        self.gangway("down")
        self.up("--slots", "1")
        self.assertEqual(self.states(), {"worker-1": "drained"})


class Health(e2e.Case):
    """A worker with a health check that fails while the file `bad` exists, with its text."""

    def setUp(self):
        super().setUp()
        self.bad, self.silent = os.path.join(self.dir, "bad"), self.fifo("silent")
        self.script = self.write("check", "#!/bin/sh\n"
                                 f"[ -e {self.bad} ] || {{ echo well; exit 0; }}\n"
                                 f"cat {self.bad}; [ -s {self.bad} ] || cat {self.silent}\n"
                                 "exit 3\n")
        self.token = self.gangway_json("token", "create", "--user", "w", "--role",
                                       "worker")["token"]
        scheduler = self.start(e2e.BINARY, "scheduler", "--listen", "127.0.0.1")
        self.is_up = True
        self.address = scheduler.wait_output(r"listening at (\S+), by TLS").group(1)

    def worker(self, *options):
        return self.start(e2e.BINARY, "worker", "--connect", self.address, "--trust-users",
                          "--slots", "1", "--name", "ada", "--health-check", self.script, *options,
                          env={"GANGWAY_TOKEN": self.token})

    def states(self, state):
        self.wait_said(f'"state": "{state}"', "worker", "list", "--json")

    def test_failing_check_drains_and_a_passing_one_undrains(self):
        self.write("bad", "noise\nthe fan stands still\n\n")
        worker = self.worker("--health-interval", "1s")
        self.states("drained")
        job = self.gangway("submit", "-d", "--", "true").stdout.strip()
        why = (f"drained by its health check: the fan stands still; {self.script}: exit code 3")
        self.assertEqual(self.gangway_json("worker", "list")[0]["drained"], why)
        self.assertIn(why, self.gangway("explain", job).stdout)
        os.unlink(self.bad)
        self.gangway("wait", job)
        self.states("ready")
        worker.wait_output("a health check that failed passes: --health-check")
        self.gangway("worker", "drain", "ada", "--reason", "new kernel")
        self.write("bad", "smoke\n")
        worker.wait_output("a health check fails: smoke")
        os.unlink(self.bad)
        worker.wait_output(r"passes: --health-check(.*\n)+.*passes: --health-check")
        self.assertIn("new kernel", self.gangway_json("worker", "list")[0]["drained"])

    def test_check_that_hangs_is_killed_with_its_group_and_drains(self):
        self.write("bad", "")
        self.worker("--health-interval", "1s", "--health-timeout", "1s")
        self.states("drained")
        self.assertEqual(self.gangway_json("worker", "list")[0]["drained"],
                         f"drained by its health check: {self.script}: did not end within 1 s")
        os.unlink(self.bad)
        self.states("ready")
        with self.assertRaises(OSError):  # nobody reads from it any more
            os.open(self.silent, os.O_WRONLY | os.O_NONBLOCK)

    def test_worker_reads_its_file_again_after_sighup(self):
        def config(text):
            return self.write("gangway.conf", f"worker = {{ {text} }};\n", mode=0o644)
        path = config("slots = 1;")
        script = self.script
        worker = self.start(e2e.BINARY, "worker", "--connect", self.address, "--config", path,
                            "--name", "ada", env={"GANGWAY_TOKEN": self.token})
        self.states("ready")
        self.write("bad", "smoke\n")
        config(f'health-check = "{self.script}"; health-interval = "1s"; slots = 2;')
        worker.kill(signal.SIGHUP)
        self.states("drained")
        worker.wait_output("need a restart of the worker: slots")
        config("health-interval = 0;")
        worker.kill(signal.SIGHUP)
        worker.wait_output("is refused, and nothing changes: .*health-interval")
        self.assertEqual([row["state"] for row in self.gangway_json("worker", "list")],
                         ["drained"])
        for text in ('health-interval = "none";', f'health-check = "{self.script}";', "slots = 1;"):
            config(text)
            worker.kill(signal.SIGHUP)
            self.states("drained" if "check" in text else "ready")

    def test_wrong_clock_drains(self):
        source = self.write("clock.c", CLOCK)
        library = os.path.join(self.dir, "clock.so")
        self.run_program("cc", "-shared", "-fPIC", "-o", library, source)
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        self.start(e2e.BINARY, "worker", "--connect", self.address, "--name", "ada",
                   "--health-interval", "1s", env={
                       "GANGWAY_TOKEN": self.token, "LD_PRELOAD": library, "ASAN_OPTIONS": asan,
                       "AHEAD": os.path.join(self.dir, "ahead")})
        self.states("ready")
        self.write("ahead", "")
        self.states("drained")
        self.assertRegex(self.gangway_json("worker", "list")[0]["drained"],
                         r"its clock is (3599\.\d|36\d\d\.\d) s ahead of the scheduler's")
        os.unlink(os.path.join(self.dir, "ahead"))
        self.states("ready")

    def as_root(self, *command):
        """Runs a command that needs root, mounts or loop devices: without them, skips the test."""
        if os.geteuid():
            self.skipTest(f"{command[0]} needs root")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self.skipTest(f"{' '.join(command)}: {done.stderr.strip()}")

    def own_disk(self):
        """Mounts a disk that can be frozen."""
        image, disk = self.write("image", ""), tempfile.mkdtemp(prefix="gw-e2e-disk-")
        self.addCleanup(os.rmdir, disk)
        os.truncate(image, 32 << 20)
        self.as_root("mkfs.ext4", "-q", image)
        self.as_root("mount", "-o", "loop", image, disk)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        return disk

    @contextlib.contextmanager
    def frozen(self, disk):
        """Writes to the disk wait until the end of the block."""
        self.as_root("fsfreeze", "-f", disk)
        try:
            yield
        finally:
            subprocess.run(["fsfreeze", "-u", disk], check=True)

    def test_program_that_sigkill_cannot_end_does_not_hold_the_worker(self):
        disk = self.own_disk()
        self.write("check", f"#!/bin/sh\necho x > {disk}/x\n")
        with self.frozen(disk):
            worker = self.worker("--health-interval", "1s", "--health-timeout", "1s")
            self.states("drained")
            self.gangway("worker", "undrain", "ada")
            self.states("drained")  # the next run cannot start, and this is told again
            worker.kill(signal.SIGTERM)
            self.assertEqual(worker.wait(), 0)

    def test_disk_that_does_not_answer_drains(self):
        disk = self.own_disk()
        folder = os.path.join(disk, "ada")
        worker = self.worker("--health-interval", "1s", "--health-timeout", "1s", "--dir", folder)
        self.states("ready")
        with self.frozen(disk):
            self.states("drained")
            self.assertEqual(self.gangway_json("worker", "list")[0]["drained"],
                             f"drained by its health check: a write to {folder} has not ended "
                             "after 1 s")
        self.states("ready")
        worker.wait_output("a health check that failed passes: disk")

    def test_read_only_disk_drains(self):
        folder = os.path.join(self.dir, "ada")
        os.mkdir(folder, 0o700)
        self.worker("--health-interval", "1s", "--dir", folder)
        self.states("ready")
        self.as_root("mount", "--bind", "-o", "ro", folder, folder)
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=False, capture_output=True)
        self.states("drained")
        self.assertEqual(self.gangway_json("worker", "list")[0]["drained"],
                         f"drained by its health check: cannot write to {folder}: Read-only file "
                         "system")
        subprocess.run(["umount", folder], check=True)
        self.states("ready")

    def test_program_that_others_can_change_is_refused(self):
        os.chmod(self.script, 0o777)
        said = self.worker()
        self.assertEqual(said.wait(), 2)
        self.assertIn(f"--health-check: {self.script} must belong to root or to the user of the "
                      "worker, and nobody else may write it", said.text)


if __name__ == "__main__":
    e2e.main()
