#!/usr/bin/env python3
"""Disasters: daemons killed or stopped, a missing binary, folders of earlier clusters, full
disks."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import e2e


class BadDays(e2e.Case):
    def runtime(self, *names):
        return self.cluster(*names)

    def kill_scheduler(self):
        """Kills the scheduler, and waits until all its processes are gone."""
        left = e2e.pids_marked(self.mark)
        os.kill(self.process_of("scheduler --dir"), signal.SIGKILL)
        self.assert_gone(left)

    def test_orphan_timeout_of_0_ends_the_worker(self):
        """The worker ends with its scheduler only if it is told to; otherwise it lives on and
        is adopted (test_durable.py)."""
        self.up("--slots", "2", "--orphan-timeout", "0")
        fifo = self.fifo()
        self.gangway("dispatch", "-n", "2", "-d", "--grace", "100ms", "--", "sh", "-c",
                     f"trap '' TERM; echo here > {fifo}; tail -f /dev/null")
        self.read_fifo(fifo)
        self.kill_scheduler()
        self.up("--slots", "2", "--orphan-timeout", "0")
        self.gangway("cancel", "last")  # it survived both daemons
        self.gangway("wait", "last", rc=130)
        status = self.gangway_json("status")
        self.assertEqual((status["workers"], status["slots"], status["slots_free"]), (1, 2, 2))

    def test_new_cluster_has_no_old_checkpoints(self):
        """Job numbers begin again, and a job must not resume from the checkpoint of another."""
        write = ('mkdir -p "$GANGWAY_CHECKPOINTS/1" && '
                 'echo old > "$GANGWAY_CHECKPOINTS/1/0.checkpoint"')
        for end in (lambda: self.gangway("down"), self.kill_scheduler):
            self.up("--slots", "1", "--orphan-timeout", "0")
            found = self.gangway("submit", "--", "sh", "-c", 'find "$GANGWAY_CHECKPOINTS" -type f')
            self.assertEqual(found.stdout, "")
            self.gangway("submit", "--", "sh", "-c", write)
            end()
        self.up("--slots", "1")
        self.assertEqual(os.listdir(self.runtime("checkpoints")), [])

    def test_down_names_a_scheduler_that_does_not_answer(self):
        self.up("--slots", "1", "--checkpoint-max", "5M")
        self.assertIn(f" --checkpoint-max {5 << 20}",
                      e2e.command_of(self.process_of("worker --dir")))
        scheduler = self.process_of("scheduler --dir")
        os.kill(scheduler, signal.SIGSTOP)
        try:
            down = self.gangway("down", rc=3)
        finally:
            os.kill(scheduler, signal.SIGCONT)
        self.assertIn(f"process {scheduler}", down.stderr)
        self.gangway("down")

    def test_killed_worker_restarts_without_its_binary(self):
        binary = os.path.join(self.dir, "gangway")
        shutil.copy(e2e.BINARY, binary)
        self.run_program(binary, "up", "--slots", "1", env={"GANGWAY_BINARY": binary})
        self.is_up = True
        os.unlink(binary)
        worker = self.process_of("worker --dir")
        os.kill(worker, signal.SIGKILL)
        self.assert_gone([worker])
        self.assertEqual(self.gangway("submit", "--", "echo", "here").stdout, "here\n")
        folder = self.cluster()
        self.assertEqual([name for name in os.listdir(folder)
                          if re.fullmatch(r"worker-\d+\.sock", name)],
                         [f"worker-{self.process_of('worker --dir')}.sock"])

    def test_relative_working_folder_is_resolved_by_the_client(self):
        """A relative --cwd is relative to the client's folder; the worker's folder does not
        replace a missing one."""
        os.mkdir(os.path.join(self.dir, "sub"))
        self.gangway("up", "--slots", "1", cwd="/")
        self.is_up = True
        self.assertEqual(self.gangway("submit", "-C", "sub", "--", "pwd").stdout,
                         os.path.join(self.dir, "sub") + "\n")
        gone = os.path.join(self.dir, "gone")
        os.mkdir(gone)
        failed = self.run_program("sh", "-c", "rmdir ../gone; gangway submit -- pwd", cwd=gone,
                                  rc=2)
        self.assertIn("working directory", failed.stderr)
        self.assertEqual(failed.stdout, "")

    def test_removed_cluster_folder_ends_the_cluster(self):
        """No command finds the cluster any more, so it ends and reports the reason to connected
        clients."""
        self.up("--slots", "2")
        fifos = [self.fifo("one"), self.fifo("two")]
        script = "echo here > {}; tail -f /dev/null"
        self.gangway("submit", "-d", "--", "sh", "-c", script.format(fifos[0]))
        attached = self.start(e2e.BINARY, "submit", "--", "sh", "-c", script.format(fifos[1]))
        for fifo in fifos:
            self.read_fifo(fifo)
        left = e2e.pids_marked(self.mark)
        shutil.rmtree(self.runtime())
        self.assertEqual(attached.wait(), 3)
        self.assertIn(f"the cluster's folder {self.runtime()} was removed", attached.text)
        self.assert_gone(left)
        self.assertFalse(os.path.exists(self.runtime()))
        self.up("--slots", "1")
        self.assertEqual(self.gangway_json("jobs"), [])

    def test_foreign_scheduler_socket_ends_the_cluster(self):
        """The cluster ends and does not remove the socket of the other process."""
        self.up("--slots", "1")
        left = e2e.pids_marked(self.mark)
        os.unlink(self.runtime("scheduler.sock"))
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(self.runtime("scheduler.sock"))
            self.assert_gone(left)
            with open(self.runtime("scheduler.log"), encoding="utf-8") as f:
                self.assertIn(f"folder {self.runtime()} was taken by another cluster", f.read())
            self.assertTrue(os.path.exists(self.runtime("scheduler.sock")))

    def bare(self, *words, rc=0):
        """The command line as cron starts it: without the variables of a login."""
        env = {name: self.env[name] for name in ("HOME", "PATH", "ASAN_OPTIONS", e2e.MARK)}
        done = subprocess.run([e2e.BINARY, *words], env=env, cwd=self.dir, capture_output=True,
                              text=True, timeout=e2e.TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, rc, done.stderr)
        return done

    def test_login_session_and_cron_use_the_same_cluster(self):
        self.up("--slots", "1")
        job = self.bare("submit", "-d", "--", "echo", "from cron").stdout.strip()
        self.gangway("wait", job)
        self.assertIn("running already", self.bare("up", rc=2).stderr)
        self.bare("down")
        self.assertIn("no cluster is running", self.gangway("jobs", rc=3).stderr)
        self.bare("up", "--slots", "1")
        self.assertEqual(self.gangway("logs", job).stdout, "from cron\n")
        self.assertIn("running already", self.gangway("up", rc=2).stderr)

    def test_removed_runtime_folder_does_not_lose_the_cluster(self):
        """systemd removes the folder at the last logout: nothing is lost, and commands find the
        cluster."""
        go = self.fifo()
        self.up("--slots", "2", "--workers", "2")
        job = self.gangway("submit", "-d", "--", "sh", "-c", f"read x < {go}; echo on").stdout
        shutil.rmtree(os.path.join(self.env["XDG_RUNTIME_DIR"], "gangway"))
        self.env["XDG_RUNTIME_DIR"] = os.path.join(self.dir, "run2")
        os.mkdir(self.env["XDG_RUNTIME_DIR"], 0o700)
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while subprocess.run([e2e.BINARY, "jobs"], env=self.env, capture_output=True,
                             check=False).returncode:
            self.assertLess(time.monotonic(), deadline, "nobody finds the cluster")
        with open(go, "w", encoding="utf-8") as f:
            f.write("go\n")
        self.gangway("wait", job.strip())
        self.assertEqual(self.gangway("logs", job.strip()).stdout, "on\n")
        self.assertEqual(self.gangway_json("status")["workers"], 2)

    def test_cluster_works_with_very_long_home_paths(self):
        self.env["HOME"] = os.path.join(self.dir, "h" * 60, "o" * 60)
        os.makedirs(self.env["HOME"])
        self.up("--slots", "2", "--workers", "2")
        self.assertEqual(self.gangway("submit", "--", "echo", "here").stdout, "here\n")
        self.gangway("dispatch", "-n", "2", "--", "true")

    def test_state_on_a_memory_disk_is_refused(self):
        """The state may be in memory if the user asks for that folder by name."""
        disk = self.small_disk("64m")
        self.env["XDG_STATE_HOME"] = disk
        refused = self.gangway("up", "--slots", "1", rc=3)
        self.assertRegex(refused.stderr, f"{disk}/gangway/.*/state, is in memory.*--state DIR")
        self.assert_gone()
        self.up("--slots", "1", "--state", os.path.join(disk, "state"))
        with open(os.path.join(disk, "gangway", socket.gethostname(), "scheduler.log"),
                  encoding="utf-8") as f:
            self.assertIn("is in memory: a reboot loses all jobs", f.read())
        self.gangway("down")
        self.is_up = False

    def test_up_on_a_full_disk_fails_and_leaves_no_process(self):
        """`up` reports that the disk is full, and no process stays."""
        disk = self.small_disk("64k")
        with open(os.path.join(disk, "ballast"), "wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, 64 << 10)
        state = os.path.join(disk, "state")
        up = self.gangway("up", "--slots", "1", "--state", state, rc=3)
        self.assertRegex(up.stderr, f"did not start: .*{state}.*disk is full")
        self.assert_gone()

    def test_killed_scheduler_restarts_on_a_full_disk(self):
        """The next scheduler starts from the reserve and has the job."""
        disk = self.small_disk("16m")
        there = ["--slots", "1", "--orphan-timeout", "0", "--state", os.path.join(disk, "state")]
        self.up(*there)
        fifo = self.fifo()
        job = self.gangway("submit", "-d", "--", "cat", fifo).stdout.strip()
        with open(os.path.join(disk, "ballast"), "wb", buffering=0) as ballast:
            with self.assertRaises(OSError):
                while True:
                    ballast.write(bytes(4096))
        self.kill_scheduler()
        self.up(*there)
        with open(fifo, "w", encoding="utf-8") as f:
            f.write("all is well")
        self.gangway("wait", job)
        self.assertEqual(self.gangway("logs", job).stdout, "all is well")
        self.gangway("down")
        self.is_up = False

    def assert_says_full(self, done, disk):
        """Expects the message once, as a line of its own."""
        line = f"(?m)^gangway: the disk of {disk}/.* is full: what it printed may be missing$"
        self.assertEqual(len(re.findall(line, done.stderr)), 1, done.stderr)

    def test_full_output_disk_is_reported_to_the_command(self):
        """If a command cannot write its output, the full disk is reported, however the command
        ends."""
        disk = self.small_disk("8m")
        self.env["XDG_STATE_HOME"] = disk
        self.up("--slots", "1", "--state", os.path.join(self.dir, "state"))
        self.gangway("submit", "--", "true")  # the files that a first job writes exist now
        with open(os.path.join(disk, "ballast"), "wb", buffering=0) as ballast:
            with self.assertRaises(OSError):
                while True:
                    ballast.write(bytes(4096))
        # A page may become free meanwhile. The first command has a broken pipe.
        for command, rc in (("seq 200000", 141), ("seq 100000; exit 1", 1)):
            failed = self.gangway("submit", "--", "sh", "-c", command, rc=rc)
            self.assert_says_full(failed, disk)
        for words in [], ["--array", "0-1"], ["--json"]:
            ended = self.gangway("submit", *words, "--", "sh", "-c", "seq 100000; exit 0")
            self.assert_says_full(ended, disk)
        for words in [], ["-f"], ["-o", os.path.join(self.dir, "kept")]:
            self.assert_says_full(self.gangway("logs", *words, "last"), disk)
        os.unlink(os.path.join(disk, "ballast"))
        for words, rc in (["submit", "--", "false"], 1), (["submit", "--", "echo"], 0):
            self.assertNotIn("full", self.gangway(*words, rc=rc).stderr)
        self.gangway("down")
        self.is_up = False

    def test_disk_too_small_for_facts_refuses_detached_jobs(self):
        """Detached jobs, which outlive the scheduler, are refused; other jobs run."""
        disk = self.small_disk("4m")
        self.up("--slots", "1", "--state", os.path.join(disk, "state"))
        refused = self.gangway("submit", "-d", "--", "true", rc=1)
        self.assertRegex(refused.stderr, f"no disk space for another job in {disk}/state .No space "
                         r"left on device.: 8.0 MiB must be free on that disk, and "
                         r"[34]\.\d MiB are free; free some")
        self.assertEqual(self.gangway("submit", "--", "echo", "here").stdout, "here\n")
        self.gangway("down")
        self.is_up = False

    def test_submit_works_with_closed_standard_streams(self):
        self.up("--slots", "1")
        done = os.path.join(self.dir, "done")
        self.run_program("sh", "-c", f"exec gangway submit -- touch {done} <&- >&- 2>&-")
        self.assertTrue(os.path.exists(done))

    def test_full_output_device_fails_the_command(self):
        self.up("--slots", "1")
        for command in "status", "submit -- echo hi", "--help":
            failed = self.run_program("sh", "-c", f"gangway {command} >/dev/full", rc=1)
            self.assertIn("cannot write the output", failed.stderr)

    def test_output_of_a_job_that_waited_is_live(self):
        self.up("--slots", "1")
        block, hang = self.fifo("block"), self.fifo("hang")
        for command in ["submit"], ["dispatch", "-n", "1"], ["logs", "-f", "last"]:
            self.gangway("submit", "-d", "--", "cat", block)
            if command[0] == "logs":
                self.gangway("submit", "-d", "--", "sh", "-c", f"echo here; cat {hang}")
                job = self.start(e2e.BINARY, *command)
            else:
                job = self.start(e2e.BINARY, *command, "--", "sh", "-c", f"echo here; cat {hang}")
            for fifo in block, hang:
                with open(fifo, "w", encoding="utf-8"):
                    if fifo == hang:
                        job.wait_output("here")
            self.assertEqual(job.wait(), 0)

    def resident(self, *words):
        """The resident memory of these daemons, in bytes."""
        pages = 0
        for each in words:
            with open(f"/proc/{self.process_of(each)}/statm", encoding="utf-8") as f:
                pages += int(f.read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def test_paused_log_reader_does_not_grow_daemon_memory(self):
        """Output is requested in pieces, so nothing accumulates for a reader that pauses."""
        self.up("--slots", "1")
        size, daemons = 48 << 20, ("scheduler --dir", "worker --dir")
        before = self.resident(*daemons)
        self.gangway("submit", "-d", "--", "sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x")
        with subprocess.Popen([e2e.BINARY, "logs", "-f", "1"], stdout=subprocess.PIPE,
                              env=self.env) as reader:
            read = len(reader.stdout.read(1 << 16))
            self.gangway("wait", "1")
            self.assertLess(self.resident(*daemons) - before, size // 2)
            while more := len(reader.stdout.read(1 << 20)):
                read += more
        self.assertEqual((read, reader.returncode), (size, 0))

    def test_output_of_every_attempt_is_shown(self):
        self.up("--slots", "1")
        count = self.write("count", "")
        failed = self.gangway("submit", "--retries", "3", "--", "sh", "-c",
                              f"echo >> {count}; echo try $(wc -l < {count}); exit 5", rc=5)
        self.assertEqual(failed.stdout, "try 1\ntry 2\ntry 3\ntry 4\n")


if __name__ == "__main__":
    e2e.main()
