#!/usr/bin/env python3
"""Checkpoints of commands that a user downloads: --checkpoint-dir, and `gangway get`."""
import os
import shutil
import signal
import time

import e2e
from machines import Machines

# Ranks on two hosts write files, each into the folder of its own host.
LEAVE = """
mkdir "$GANGWAY_CHECKPOINT_DIR/deep"
echo $RANK > "$GANGWAY_CHECKPOINT_DIR/deep/shard-$RANK"
"""

SAVE = 'echo weights of ${1:-it} > "$GANGWAY_CHECKPOINT_DIR/weights"'


class Brought(e2e.Case):
    """Checkpoints of commands are downloaded for the user, who is told where they are or that they
    will be removed."""

    def content(self, *path):
        with open(os.path.join(self.dir, *path), encoding="utf-8") as f:
            return f.read()

    def test_checkpoint_dir_is_filled_from_a_private_cluster(self):
        done = self.gangway("submit", "--checkpoint-dir", "out", "--", "sh", "-c", SAVE)
        self.assertEqual(self.content("out", "weights"), "weights of it\n")
        self.assertIn("the checkpoint is in out", done.stderr)

    def test_checkpoint_dir_creates_missing_parent_folders(self):
        self.gangway("submit", "--checkpoint-dir", "runs/1/out", "--", "sh", "-c", SAVE)
        self.assertEqual(self.content("runs", "1", "out", "weights"), "weights of it\n")
        self.gangway("submit", "--array", "0-1", "--checkpoint-dir", "sweeps/1", "--", "sh", "-c",
                     SAVE, "sh", "{index}")
        self.assertEqual(self.content("sweeps", "1", "1", "weights"), "weights of 1\n")

    def test_unusable_checkpoint_dir_is_refused_before_the_job(self):
        self.write("file", "")
        os.mkdir(os.path.join(self.dir, "closed"), 0o500)
        folders = [("file", "file is not a folder"), ("file/out", "a part of the path is a file")]
        if os.getuid():  # root may write to it
            folders += [(name, f"{name}: cannot write to the folder closed")
                        for name in ("closed", "closed/1/out")]
        for folder, why in folders:
            refused = self.gangway("submit", "--checkpoint-dir", folder, "--", "touch", "ran", rc=2)
            self.assertIn(why, refused.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "ran")))

    def test_failed_checkpoint_download_is_reported(self):
        """The folder became a file while the job ran."""
        failed = self.gangway("submit", "--checkpoint-dir", "out", "--", "sh", "-c",
                              SAVE + "; echo > out", rc=1)
        self.assertIn("the checkpoint of task 0 is not in out: cannot make the folder out",
                      failed.stderr)
        self.assertNotIn("saved no checkpoint", failed.stderr)

    def test_submit_warns_that_a_checkpoint_will_be_removed(self):
        done = self.gangway("submit", "--", "sh", "-c", SAVE)
        self.assertIn("job 1 saved a checkpoint, which is deleted with the job: "
                      "--checkpoint-dir", done.stderr)
        done = self.gangway("dispatch", "-n", "2", "--", "sh", "-c", "echo nothing")
        self.assertNotIn("checkpoint", done.stderr)

    def test_checkpoint_of_a_failed_job_is_downloaded(self):
        """The job's exit code is returned, and its checkpoint is downloaded nevertheless."""
        self.gangway("dispatch", "--checkpoint-dir", "out", "--", "sh", "-c", SAVE + "; exit 7",
                     rc=7)
        self.assertEqual(self.content("out", "weights"), "weights of it\n")

    def test_array_checkpoints_go_into_a_folder_per_task(self):
        """Each task's checkpoint goes into a folder of its own; a task without a checkpoint has
        no folder."""
        script = f"[ $1 = 1 ] || {SAVE}"
        self.gangway("submit", "--array", "0-2", "--checkpoint-dir", "out", "--", "sh", "-c",
                     script, "sh", "{index}")
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "out"))), ["0", "2"])
        self.assertEqual(self.content("out", "2", "weights"), "weights of 2\n")

    def test_get_downloads_the_checkpoint_of_a_detached_job(self):
        """This works while the detached job runs and after it has ended."""
        self.up("--slots", "2")
        fifo = self.fifo()
        self.gangway("submit", "-d", "--", "sh", "-c", f"{SAVE}; cat {fifo}")
        self.gangway("submit", "-d", "--", "true")
        weights = os.path.join(self.dir, "now", "weights")
        while not os.path.exists(weights) or not self.content("now", "weights"):
            self.gangway("get", "1", "--checkpoint", "-o", "now", rc=None)
        with open(fifo, "w", encoding="utf-8"):
            pass
        self.gangway("wait", "1", "2")
        self.gangway("get", "--checkpoint", "1", "-o", "then")
        self.assertEqual(self.content("then", "weights"), "weights of it\n")
        self.gangway("get", "--checkpoint", "1", "weights", "-o", "one")
        self.assertEqual(self.content("one", "weights"), "weights of it\n")
        none = self.gangway("get", "--checkpoint", "2", "-o", "none", rc=2)
        self.assertIn("task 0 of job 2 has no checkpoint", none.stderr)
        for other, why in ("3", "there is no job 3"), ("1/1", "job 1 has no task with this index"):
            none = self.gangway("get", "--checkpoint", other, "-o", "none", rc=2)
            self.assertIn(why, none.stderr)  # and none of its ranks is asked for it

    def test_unreadable_checkpoint_folder_is_an_error(self):
        """An unreadable folder is not reported as a missing checkpoint."""
        self.up("--slots", "1")
        self.gangway("submit", "-d", "--", "sh", "-c", "echo \"$GANGWAY_CHECKPOINT_DIR\" > path")
        self.gangway("wait", "1")
        folder = self.content("path").strip()
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        self.write(folder, "a file")
        failed = self.gangway("get", "1", "--checkpoint", "-o", "none", rc=1)
        self.assertIn("Not a directory", failed.stderr)
        self.assertNotIn("has no checkpoint", failed.stderr)

    def test_attached_jobs_leave_only_their_output(self):
        """The checkpoints of an attached job are removed with its client; its output stays as
        long as the job is listed."""
        self.up("--slots", "4")
        self.write("in.txt", "in")
        jobs = [self.start(e2e.BINARY, "submit", "--ship", "in.txt", "--", "sh", "-c",
                           f"{SAVE}; echo job $GANGWAY_JOB") for _ in range(48)]
        for job in jobs:
            self.assertEqual(job.wait(), 0, job.text)
        self.gangway("submit", "--array", "0-2", "--checkpoint-dir", "out", "--", "sh", "-c", SAVE)
        self.gangway("dispatch", "-n", "2", "--", "sh", "-c", SAVE + "; exit 7", rc=7)
        kept = self.gangway("submit", "-d", "--", "sh", "-c", SAVE).stdout.strip()
        self.gangway("wait", kept)
        work, = os.listdir(self.cluster("work"))
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while os.listdir(self.cluster("checkpoints")) != [kept] or os.listdir(
                self.cluster("work", work)):
            self.assertLess(time.monotonic(), deadline, os.listdir(self.cluster("checkpoints")))
        self.assertEqual(self.gangway("logs", "7").stdout, "job 7\n")
        said = self.gangway("get", "--checkpoint", "7", rc=2).stderr
        self.assertIn("job 7 has ended, and its checkpoints were removed with it", said)
        self.assertIn("it was not detached (-d)", self.gangway("retry", "50",
                                                                          rc=2).stderr)

    def test_misused_checkpoint_options_are_refused(self):
        said = self.gangway("submit", "-d", "--checkpoint-dir", "out", "--", "true", rc=2).stderr
        self.assertIn("gangway get JOB --checkpoint -o out", said)
        self.assertIn("the name of a folder", self.gangway("submit", "--checkpoint-dir", "", "--",
                                                       "true", rc=2).stderr)
        self.up("--slots", "1")
        self.assertIn("type the PATH of a file of job 1, or --checkpoint",
                      self.gangway("get", "1", rc=2).stderr)


class BroughtFromHosts(Machines):
    def content(self, *path):
        with open(os.path.join(self.dir, *path), encoding="utf-8") as f:
            return f.read()

    def test_restarted_scheduler_finds_checkpoints_for_get(self):
        """The worker has another number at the restarted scheduler."""
        for name in "one", "two":
            self.worker(name, 1)
        self.wait_workers(2)
        self.gangway("submit", "-d", "--on", "two", "--", "sh", "-c", SAVE)
        self.gangway("dispatch", "-d", "-n", "2", "--", "sh", "-c", LEAVE)
        self.gangway("wait", "1", "2")
        self.scheduler.kill(signal.SIGKILL)
        self.scheduler.wait()
        self.start_scheduler(self.address)
        self.wait_workers(2)
        self.gangway("get", "1", "--checkpoint", "-o", "one")
        self.assertEqual(self.content("one", "weights"), "weights of it\n")
        self.gangway("get", "2", "--checkpoint", "-o", "out")
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "out", "deep"))),
                         ["shard-0", "shard-1"])

    def test_checkpoint_dir_collects_the_shards_of_two_hosts(self):
        for name in "one", "two":
            self.worker(name, 1)
        self.wait_workers(2)
        self.gangway("dispatch", "-n", "2", "--checkpoint-dir", "out", "--", "sh", "-c", LEAVE)
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "out", "deep"))),
                         ["shard-0", "shard-1"])


if __name__ == "__main__":
    e2e.main()
