#!/usr/bin/env python3
"""Results larger than memory, full disks, damaged files, tasks that need too much memory. The
sizes leave room for a sanitizer's own memory."""
import contextlib
import glob
import os
import re
import signal
import subprocess
import sys
import time

import e2e

MEMORY = os.path.join(e2e.BUILD, "bin", "memory")
MIB = 1 << 20


class Memory(e2e.Case):
    limit, result, count = 128 * MIB, 2 * MIB, 320  # five times the limit
    untold = limit // 32  # smaller changes are not reported by a worker

    def setUp(self):
        super().setUp()
        # Freed memory counts for its process as long as the sanitizer holds it.
        self.env["ASAN_OPTIONS"] += ":quarantine_size_mb=1"
        self.disk = os.path.join(self.dir, "disk")
        os.mkdir(self.disk)

    def worker(self):
        return self.gangway_json("worker", "list")[0]

    def files(self):
        return glob.glob(os.path.join(self.disk, "gangway-spill-*", "*"))

    def up_limited(self, slots, *words):
        self.up("--slots", slots, "--memory-limit", str(self.limit), "--spill-dir", self.disk,
                *words)

    def log(self):
        with open(self.cluster("worker-0.log"),
                  encoding="utf-8") as log:
            return log.read()

    def pid_of(self, words):
        return next(pid for pid in e2e.pids_marked(self.mark) if words in e2e.command_of(pid))

    def wait(self, what, until):
        """Polls until the condition holds; each query waits for its answer."""
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while not until():
            self.assertLess(time.monotonic(), deadline, f"{what}: {self.worker()}")

    def program(self, *words):
        """The program, with its standard input controlled by the test."""
        popen = subprocess.Popen([MEMORY, *words], env=self.env, cwd=self.dir, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        self.addCleanup(popen.stdout.close)
        self.addCleanup(popen.kill)
        return popen

    def test_stream_within_the_memory_limit_is_not_spilled(self):
        """New roots are held back, so that results which wait for their consumers need not go
        to disk."""
        self.up_limited("2")
        out = self.run_program(MEMORY, "stream", str(self.count), str(self.result), timeout_s=120)
        self.assertEqual(out.stdout, f"{self.count}\n")
        self.assertLess(self.worker()["written_bytes"], self.limit)

    @e2e.not_for_tsan
    def test_results_above_the_memory_limit_are_spilled_and_read(self):
        """Five times the memory is held at once: the results are on disk and read from there,
        and damaged ones are recomputed."""
        self.up_limited("2")
        holder = self.program("hold", str(self.count), str(self.result))
        self.assertEqual(holder.stdout.readline(), "made\n")
        self.wait("results go to disk",
                  lambda: self.worker()["resident_bytes"] <= self.limit * 6 // 10 + self.untold)
        worker = self.worker()
        self.assertGreaterEqual(worker["spilled_bytes"], 4 * self.limit)
        self.assertLess(worker["memory_used"], self.limit)
        files = sorted(self.files())
        self.assertGreaterEqual(len(files) * self.result, 4 * self.limit)
        os.truncate(files[0], 5)
        with open(files[1], "r+b") as file:
            file.seek(self.result // 2)
            file.write(b"damage")
        os.unlink(files[2])
        out, _ = holder.communicate("\n", timeout=120)
        self.assertEqual(out, f"{2 * self.count}\n")
        self.wait("results are let go", lambda: not self.files())
        self.assertEqual(self.worker()["held_bytes"], 0)
        self.assertEqual(self.log().count("a result on disk is lost"), 3)

    @e2e.not_for_tsan  # because its processes use the memory beside these results
    def test_full_spill_disk_leaves_results_in_memory(self):
        """The results stay in memory, a single warning says so, and the cluster continues."""
        self.limit, self.result = 256 * MIB, 4 * MIB  # 44 of them come to 0.69 of it
        self.disk = self.small_disk(self.result // 2)  # too small for a result
        self.up_limited("2")
        holder = self.program("hold", "44", str(self.result))
        self.assertEqual(holder.stdout.readline(), "made\n")
        self.wait("the trouble is told", lambda: self.worker()["memory_trouble"])
        self.assertIn("No space left on device", self.worker()["memory_trouble"])
        self.assertIn("No space left on device", self.gangway("status").stdout)
        out, _ = holder.communicate("\n", timeout=120)
        self.assertEqual(out, "88\n")
        self.assertEqual(self.log().count("cannot be written to disk"), 1)
        left = e2e.pids_marked(self.mark)
        self.gangway("down")
        self.is_up = False
        self.assert_gone(left)
        with open(self.cluster("worker-0.log"),
                  encoding="utf-8") as log:
            self.assertEqual(os.listdir(self.disk), [], log.read())

    @e2e.not_for_tsan  # because its processes alone use half of this limit
    def test_results_without_disk_stop_at_the_memory_limit(self):
        """If results cannot go to disk, tasks that would add results fail with the reason and
        tasks that consume results run. When results are released, there is room again."""
        self.limit, self.result, count = 256 * MIB, 16 * MIB, 40
        self.disk = self.small_disk(self.result // 2)  # too small for a result
        self.up_limited("2")
        out = self.run_program(MEMORY, "fill", str(count), str(self.result), timeout_s=60).stdout
        first, why, again = out.splitlines()
        made, right, refused = [int(word) for word in re.findall(r"\d+", first)]
        self.assertEqual((made + refused, right), (count, made), out)
        self.assertGreater(made, 4)
        self.assertLess(made * self.result, self.limit + 2 * self.result)
        self.assertRegex(why, r"no memory for its result: the worker's \d+ results take "
                              r"\d+\.\d MiB, "
                              r"the worker uses \d+\.\d MiB of its limit of 256\.0 MiB, and "
                              r"the results cannot be spilled to disk: .*No space left on device; "
                              r"release results, free space on that disk")
        self.assertEqual(again, "again: made")

    def test_task_above_the_worker_memory_is_killed_and_explained(self):
        """A task that uses more memory than the worker has is killed, retried and reported as
        too large; the cluster continues."""
        self.up_limited("2")
        out = self.run_program(MEMORY, "hog", str(2 * self.limit), str(MIB), timeout_s=60).stdout
        self.assertRegex(out, r"GW_ECRASHED: .*out of memory: the task used \d+\.\d MiB when its "
                              r"worker used \d+\.\d MiB of its limit of 128\.0 MiB; "
                              r"declare how much")
        self.assertEqual(self.gangway("submit", "--", "echo", "here").stdout, "here\n")

    @e2e.not_for_tsan
    def test_task_above_its_memory_request_is_killed(self):
        hog = "import signal; x = bytearray(300 << 20); signal.pause()"
        for verb in (["submit"], ["dispatch", "-n", "2"]):
            done = self.gangway(*verb, "--memory", "100M", "--", sys.executable, "-c", hog, rc=1)
            self.assertRegex(done.stderr, r"out of memory: the task used \d+\.\d MiB, but asked "
                                          r"for 100\.0 MiB; ask for more .*--memory")
        self.gangway("submit", "--", sys.executable, "-c", hog.replace("signal.pause()", "0"))

    def test_memory_of_orphaned_processes_counts(self):
        hog = "import signal; x = bytearray(300 << 20); signal.pause()"
        done = self.gangway("submit", "--memory", "100M", "--", "sh", "-c",
                            f"({sys.executable} -c '{hog}' &); exec tail -f /dev/null", rc=1)
        self.assertIn("MiB, but asked for 100.0 MiB", done.stderr)

    def test_memory_shared_by_forked_processes_counts_once(self):
        """PyTorch's data loading workers are an example; the memory is measured while they
        run."""
        fork = ("import os, time; x = bytearray(60 << 20); c = [os.fork() for i in range(2)]\n"
                "while time.process_time() < 0.4: pass\n"
                "[os.wait() for i in range(2) if all(c)]")
        self.gangway("submit", "--memory", "150M", "--", sys.executable, "-c", fork)

    def test_memory_thresholds_can_be_changed(self):
        """With the default thresholds, nothing would be spilled at a tenth of this memory."""
        self.limit = 1024 * MIB
        self.up_limited("2", "--memory-target", "0.05", "--memory-spill", "0.1")
        holder = self.program("hold", "60", str(self.result))
        self.assertEqual(holder.stdout.readline(), "made\n")
        self.wait("results go to disk", self.files)
        self.assertEqual(holder.communicate("\n", timeout=120)[0], "120\n")

    @e2e.not_for_tsan
    def test_inputs_larger_than_worker_memory_are_processed(self):
        """The inputs exceed the worker's memory: the worker reads them from its disk and is
        asked once or twice, not without end."""
        self.limit = 256 * MIB  # of the two workers together
        self.up_limited("2", "--workers", "2")
        out = self.run_program(MEMORY, "apart", "9", str(16 * MIB), timeout_s=60)
        self.assertEqual(out.stdout, "9\n")
        self.assertLess(self.gangway("events", "last").stdout.count("placed"), 20)

    def test_spill_folder_of_a_killed_worker_is_removed(self):
        self.up_limited("1", "--memory-target", "0.01")
        holder = self.program("hold", "8", str(self.result))
        self.assertEqual(holder.stdout.readline(), "made\n")
        self.wait("results go to disk", lambda: len(self.files()) > 4)
        folder = os.path.dirname(self.files()[0])
        worker = self.pid_of("worker --dir")
        os.kill(worker, 9)
        out, _ = holder.communicate("\n", timeout=60)
        self.assertEqual(out, "16\n")
        self.assertFalse(os.path.exists(folder))

    def test_repeated_sigterm_still_removes_the_spill_folder(self):
        """A worker that ends receives the signal again, as from a scheduler that saw its
        connection close: it removes all its files on disk. No scheduler starts another worker
        here."""
        self.up_limited("1")
        folder = os.path.join(self.disk, os.listdir(self.disk)[0])
        for name in range(5000):  # removing them takes a while
            os.close(os.open(os.path.join(folder, f"more-{name}"), os.O_WRONLY | os.O_CREAT))
        left = e2e.pids_marked(self.mark)
        scheduler, worker = self.pid_of("scheduler --dir"), self.pid_of("worker --dir")
        self.is_up = False
        os.kill(scheduler, signal.SIGKILL)
        os.kill(worker, signal.SIGTERM)
        while not e2e.wait_gone(worker, 0.001):
            os.kill(worker, signal.SIGTERM)
        self.assert_gone(left)
        self.assertEqual(os.listdir(self.disk), [])

    def test_supervisor_removes_the_spill_folder_of_a_killed_worker(self):
        """No scheduler starts another worker, so the supervisor removes the files of the killed
        one."""
        self.up_limited("1")
        self.assertEqual(len(os.listdir(self.disk)), 1)
        left = e2e.pids_marked(self.mark)
        pids = [self.pid_of(words) for words in ("scheduler --dir", "worker --dir")]
        self.is_up = False
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.assert_gone(left)
        self.assertEqual(os.listdir(self.disk), [])

    def test_wrong_memory_options_are_refused(self):
        for words, text in (
                (["--memory-target", "0.9"], "target (0.9) is above memory spill (0.7)"),
                (["--memory-pause", "2"], "--memory-pause 2 must be a fraction"),
                (["--memory-pause", "most"], "--memory-pause most must be a fraction"),
                (["--memory-limit", "much"], "is not a size like 8G, auto or none"),
                (["--memory-limit", "4K"], "less than 1 MiB"),
                (["--spill-dir", "/nowhere"], "--spill-dir /nowhere: No such file"),
                (["--spill-dir", self.write("file", "")], "is a file: give a folder"),
                (["--spill-dir", "/proc"], "cannot make a file there")):
            failed = self.run_program(e2e.BINARY, "up", *words, rc=2)
            self.assertIn(text, failed.stderr)


if __name__ == "__main__":
    e2e.main()
