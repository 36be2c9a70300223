#!/usr/bin/env python3
"""Files shipped with tasks: by content, once, into a private folder per task."""
import os
import resource
import shutil
import signal

import e2e

PROGRAM = os.path.join(e2e.BUILD, "bin", "files")
KIB, MIB = 1 << 10, 1 << 20


class Files(e2e.Case):
    def large(self, name, content, bytes_):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write((content * (bytes_ // len(content) + 1))[:bytes_])
        return path

    def worker(self):
        """The pid of the only worker of the cluster."""
        found = [pid for pid in e2e.pids_marked(self.mark)
                 if e2e.command_of(pid).startswith("gangway worker --dir")]
        self.assertEqual(len(found), 1)
        return found[0]

    def no_folders(self):
        """The folders of tasks are removed a moment after the tasks."""
        self.assert_idle()
        work = self.cluster("work")
        for pid in os.listdir(work):
            for name in os.listdir(os.path.join(work, pid)):
                folder = os.path.join(work, pid, name)
                for _ in range(1000):
                    if not os.path.exists(folder):
                        break
                    self.gangway("status")
                self.assertFalse(os.path.exists(folder))

    def test_shipped_files_reach_a_private_folder_per_task(self):
        os.makedirs(os.path.join(self.dir, "tree", "deep"))
        self.write("tree/deep/.leaf", "leaf", 0o640)
        self.write("in.txt", "one")
        self.write("run.sh", "#!/bin/sh\ncat in.txt tree/deep/.leaf named; stat -c %a "
                             "tree/deep/.leaf run.sh; pwd >&2; echo spoilt > in.txt\n", 0o755)
        shipped = ["--ship", "run.sh", "--ship", "tree/", "--ship", "in.txt",
                   "--ship", "in.txt:named"]
        self.up("--slots", "2")
        folders = set()
        for _ in range(2):
            done = self.gangway("submit", *shipped, "--", "./run.sh")
            self.assertEqual(done.stdout, "oneleafone640\n755\n")
            folders.add(done.stderr)
        self.assertEqual(len(folders), 2)
        done = self.gangway("submit", *shipped, "--array", "0-4", "--", "./run.sh")
        self.assertEqual(done.stdout.count("oneleafone640"), 5)
        done = self.gangway("dispatch", "-n", "2", "--ship", "in.txt", "--", "sh", "-c",
                            "cat in.txt; echo; echo $RANK > in.txt")
        self.assertEqual(done.stdout.count("one"), 2)
        done = self.gangway("submit", "--ship", "tree:.", "--", "cat", "deep/.leaf")
        self.assertEqual(done.stdout, "leaf")
        self.no_folders()

    def test_files_ignored_by_git_are_not_shipped(self):
        for folder in ("tree/.git/refs", "tree/.git/objects", "tree/deep", "tree/data"):
            os.makedirs(os.path.join(self.dir, folder))
        self.write("tree/.git/HEAD", "ref: refs/heads/main\n", 0o644)
        self.write("tree/.gitignore", "*.o\n/data/\n!kept.o\n", 0o644)
        for name in ("a.c", "a.o", "kept.o", "deep/b.o", "deep/b.c", "data/large", "data/c.o"):
            self.write("tree/" + name, "", 0o644)
        listing = ["--", "find", ".", "-type", "f"]
        done = self.gangway("submit", "--ship", "tree:.", *listing, env={"GIT_DIR": "/nowhere"})
        self.assertEqual(sorted(done.stdout.split()),
                         ["./.gitignore", "./a.c", "./deep/b.c", "./kept.o"])
        # An ignored file that is named explicitly is shipped.
        done = self.gangway("submit", "--ship", "tree/data", *listing)
        self.assertEqual(sorted(done.stdout.split()), ["./data/c.o", "./data/large"])
        self.write("tree/.git/HEAD", "nonsense\n", 0o644)
        os.rmdir(os.path.join(self.dir, "tree/.git/refs"))
        said = self.gangway("submit", "--ship", "tree", *listing, rc=1).stderr
        self.assertIn("cannot find out which files git ignores", said)
        self.assertEqual(said.count("fatal:"), 1, said)
        # Not from a repository, as after unpacking an archive.
        shutil.rmtree(os.path.join(self.dir, "tree/.git"))
        done = self.gangway("submit", "--ship", "tree:.", *listing, env={"GIT_DIR": "/nowhere"})
        self.assertEqual(sorted(done.stdout.split()),
                         ["./.gitignore", "./a.c", "./deep/b.c", "./kept.o"])

    def test_missing_git_ships_every_file_with_a_warning(self):
        os.makedirs(os.path.join(self.dir, "tree"))
        self.write("tree/.gitignore", "*.o\n", 0o644)
        self.write("tree/a.o", "", 0o644)
        listing = ["--", "/usr/bin/find", ".", "-name", "a.o"]
        done = self.gangway("submit", "--ship", "tree:.", *listing, env={"PATH": "/nowhere"})
        self.assertEqual(done.stdout, "./a.o\n")
        self.assertIn("git is not installed: files of tree", done.stderr)
        done = self.gangway("submit", "--ship", "tree:.", *listing)
        self.assertEqual(done.stdout + done.stderr, "")
        os.unlink(os.path.join(self.dir, "tree/.gitignore"))
        done = self.gangway("submit", "--ship", "tree:.", *listing, env={"PATH": "/nowhere"})
        # there is nothing to leave out
        self.assertEqual((done.stdout, done.stderr), ("./a.o\n", ""))

    def links(self, folder="."):
        """The files the task finds, by name: the targets of links, and the content of files."""
        return ["--", "sh", "-c", f"cd {folder}; find . -mindepth 1 | sort | while read f; do if [ "
                "-h $f ]; then echo $f to $(readlink $f); elif [ -f $f ]; then echo $f is "
                "$(cat $f); fi; done"]

    def test_links_inside_a_shipped_folder_stay_links(self):
        """Links to shipped files and links to nothing stay links; other links are followed."""
        os.makedirs(os.path.join(self.dir, "tree", "deep"))
        os.makedirs(os.path.join(self.dir, "out"))
        self.write("tree/here", "h")
        self.write("out/there", "t")
        for name, target in {"down": "deep/../here", "deep/up": "../here", "deep/round": "..",
                             "gone": "no/such", "gone2": "/no/such", "me": "me",
                             "out": "../out", "far": os.path.join(self.dir, "out", "there"),
                             "home": os.path.join(self.dir, "tree", "here"),
                             "through": "out/there"}.items():
            os.symlink(target, os.path.join(self.dir, "tree", name))
        os.symlink("there", os.path.join(self.dir, "out", "other"))
        wanted = ["./deep/round to ..", "./deep/up to ../here", "./down to deep/../here",
                  "./far is t", "./gone to no/such", "./gone2 to /no/such", "./here is h",
                  "./home is h", "./me to me", "./out/other to there", "./out/there is t",
                  "./through to out/there"]
        for shipped, below in (("tree", "tree"), ("tree:.", "."), ("tree:a/b", "a/b")):
            done = self.gangway("submit", "--ship", shipped, *self.links(below))
            self.assertEqual(done.stdout.splitlines(), wanted)
        self.write("tree/.gitignore", "here\nout\nthrough\nhome\nfar\n.gitignore\n")
        done = self.gangway("submit", "--ship", "tree", *self.links("tree"))
        # a link to a file that is not shipped has no target
        self.assertEqual(done.stdout.splitlines(),
                         ["./deep/round to ..", "./deep/up is h", "./down is h",
                          "./gone to no/such", "./gone2 to /no/such", "./me to me"])
        done = self.gangway("submit", "--ship", "tree/gone2:x", "--", "true", rc=2)
        self.assertIn("cannot ship tree/gone2: No such file", done.stderr)  # that link was named

    def test_existing_file_with_a_colon_is_shipped_by_that_name(self):
        """If a file with the whole name exists, that file is meant."""
        self.write("a:b", "colon")
        self.write("a", "none")
        for shipped, name, holds in (("a:b", "a:b", "colon"), ("a:b:c", "c", "colon"),
                                     ("a:c", "c", "none")):
            done = self.gangway("submit", "--ship", shipped, "--", "cat", name)
            self.assertEqual(done.stdout, holds)

    def test_cache_folder_of_the_client_can_be_shipped(self):
        """If a home folder is shipped, the client writes its own file of hashes in that folder
        meanwhile."""
        # Only files unchanged for a while are cached; the tested binary may be new, because it was
        # just built or given to another user.
        os.symlink("/bin/bash", os.path.join(self.dir, "cache", "large"))
        for _ in range(2):
            done = self.gangway("submit", "--ship", "cache:.", "--", "find", ".", "-type", "f")
            self.assertEqual(done.stdout, "./large\n")
            hashes = os.path.join(self.dir, "cache/gangway/hashes")
            self.assertGreater(os.stat(hashes).st_size, 64)
        done = self.gangway("submit", "--ship", hashes, "--", "cat", "hashes")  # the file was named
        with open(hashes, encoding="utf-8") as f:
            self.assertEqual(done.stdout, f.read())

    def inputs(self):
        os.makedirs(os.path.join(self.dir, "tree", "deep"))
        self.write("tree/real", "leaf")
        os.symlink("../real", os.path.join(self.dir, "tree", "deep", "leaf"))
        self.write("in.txt", "one")

    def test_functions_get_their_shipped_files(self):
        self.inputs()
        self.assertIn("ok", self.run_program(PROGRAM, self.dir).stdout)
        inside = os.path.join(self.dir, "inside")
        os.mkdir(inside)
        done = self.run_program(PROGRAM, self.dir, env={"GANGWAY_INLINE": "1", "TMPDIR": inside})
        self.assertIn("ok", done.stdout)
        self.assertEqual(os.listdir(inside), [])

    def test_equal_content_is_stored_once(self):
        self.up("--slots", "1")
        self.large("first", b"same", 300 * KIB)
        self.gangway("submit", "--ship", "first", "--", "true")
        stores = [self.cluster("state", "blobs"), self.cluster("files")]
        before = [{name: os.stat(os.path.join(store, name)).st_ino for name in os.listdir(store)}
                  for store in stores]
        self.assertEqual([len(names) for names in before], [1, 1])
        self.large("second", b"same", 300 * KIB)
        self.gangway("submit", "--ship", "second:third", "--ship", "first", "--", "cmp", "first",
                     "third")
        after = [{name: os.stat(os.path.join(store, name)).st_ino for name in os.listdir(store)}
                 for store in stores]
        self.assertEqual(before, after)

    def test_removed_program_folder_is_rebuilt(self):
        """A cleanup during the run removes the whole folder, or old files and no folder."""
        programs = self.cluster("programs")
        self.inputs()
        self.up("--slots", "2")
        for clean in (shutil.rmtree, self.empty):
            self.assertIn("ok", self.run_program(PROGRAM, self.dir).stdout)
            for pid in e2e.pids_marked(self.mark):
                # a runner does not wait for more tasks either
                if e2e.command_of(pid).startswith(programs):
                    os.kill(pid, signal.SIGKILL)
                    e2e.wait_gone(pid, 10)
            clean(programs)
        self.assertIn("ok", self.run_program(PROGRAM, self.dir).stdout)
        with open(self.cluster("worker-0.log"), encoding="utf-8") as f:
            self.assertEqual(f.read().count("make sure that nothing cleans this folder"), 2)

    def empty(self, folder):
        for above, _, names in os.walk(folder):
            for name in names:
                os.unlink(os.path.join(above, name))

    def test_content_missing_in_the_store_is_uploaded_again(self):
        """A person or a cleanup has removed files from the store of the scheduler."""
        self.up("--slots", "1")
        self.write("in.txt", "one")
        shipped = ["submit", "--ship", "in.txt", "--", "cat", "in.txt"]
        self.gangway(*shipped)
        store = self.cluster("state", "blobs")
        for name in os.listdir(store):
            os.unlink(os.path.join(store, name))
        self.assertEqual(self.gangway(*shipped).stdout, "one")
        self.assertEqual(len(os.listdir(store)), 1)
        copy, = os.listdir(self.cluster("files"))
        for content in ("two", ""):  # a changed copy at a worker is not used
            os.chmod(self.cluster("files", copy), 0o600)  # only root can write to read-only files
            with open(self.cluster("files", copy), "w", encoding="utf-8") as f:
                f.write(content)
            self.assertEqual(self.gangway(*shipped).stdout, "one")
        for folder in ("files", "work"):  # and from the worker
            shutil.rmtree(self.cluster(folder))
        self.assertEqual(self.gangway(*shipped).stdout, "one")

    def test_removed_log_folder_does_not_stop_tasks(self):
        """/tmp is cleaned under a running cluster: commands and functions start
        nevertheless."""
        self.up("--slots", "1")
        nested = [os.path.join(e2e.BUILD, "bin", "nested"), "fib", self.fifo()]
        for word in ("one", "two"):
            self.assertEqual(self.gangway("submit", "--", "echo", word).stdout, word + "\n")
            shutil.rmtree(self.cluster("logs"))
            self.run_program(*nested)
            shutil.rmtree(self.cluster("logs"))

    def test_checkpoint_folder_is_created_for_each_task(self):
        self.up("--slots", "1")
        once = 'test -d "$GANGWAY_CHECKPOINT_DIR" && rmdir "$GANGWAY_CHECKPOINT_DIR"'
        self.gangway("submit", "--array", "0-9", "--", "sh", "-c", once)

    @e2e.not_for_tsan
    def test_file_stores_stay_below_their_limit(self):
        self.up("--slots", "1", "--file-cache", "1M")
        for letter in b"abcdef":
            name = chr(letter)
            self.large(name, bytes([letter]), 400 * KIB)
            done = self.gangway("submit", "--ship", name, "--", "head", "-c", "3", name)
            self.assertEqual(done.stdout, 3 * name)
        for store in (self.cluster("state", "blobs"), self.cluster("files")):
            sizes = [os.stat(os.path.join(store, name)).st_size for name in os.listdir(store)]
            self.assertLessEqual(sum(sizes), MIB)
            # and no more files were removed than necessary
            self.assertGreaterEqual(sum(sizes), 800 * KIB)
        self.large("large", b"l", 2 * MIB)
        said = self.gangway("submit", "--ship", "large", "--", "true", rc=1).stderr
        self.assertIn("ships 2 MiB of files, and the file cache of this cluster holds", said)
        held = self.fifo("held")
        jobs = [self.gangway("submit", "-d", "--ship", name, "--", "cat", held).stdout.strip()
                for name in "ab"]
        said = self.gangway("submit", "--ship", "c", "--", "true", rc=1).stderr
        self.assertIn("the files of other jobs fill the file cache", said)
        for job in jobs:
            with open(held, "w", encoding="utf-8"):
                pass
            self.gangway("wait", job)
        self.gangway("submit", "--ship", "c", "--", "true")

    def test_full_disk_fails_only_the_task_with_files(self):
        self.up("--slots", "2")
        self.large("large", b"l", MIB)
        held = self.fifo("held")
        other = self.gangway("submit", "-d", "--", "cat", held).stdout.strip()
        worker = self.worker()
        before = resource.prlimit(worker, resource.RLIMIT_FSIZE)
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (512 * KIB, before[1]))
        said = self.gangway("submit", "--ship", "large", "--", "true", rc=1).stderr
        self.assertIn("into its working folder: cannot write large: File too large", said)
        self.assertEqual(self.gangway("submit", "--", "echo", "well").stdout, "well\n")
        resource.prlimit(worker, resource.RLIMIT_FSIZE, before)
        self.gangway("submit", "--ship", "large", "--", "cat", "large")
        with open(held, "w", encoding="utf-8"):
            pass
        self.gangway("wait", other)
        self.no_folders()

    def test_task_reruns_with_fresh_files_after_a_worker_death(self):
        """Running tasks run again with their files, and the folders of the dead worker are
        removed."""
        self.up("--slots", "1", "--keep-files", "0")
        self.write("in.txt", "one")
        here, held = self.fifo("here"), self.fifo("held")
        job = self.gangway("submit", "-d", "--ship", "in.txt", "--", "sh", "-c",
                           f"cat in.txt > {here}; echo spoilt > in.txt; cat {held}").stdout.strip()
        self.assertEqual(self.read_fifo(here), "one")
        worker = self.worker()
        os.kill(worker, signal.SIGKILL)
        self.assertEqual(self.read_fifo(here), "one")
        self.assertNotIn(str(worker), os.listdir(self.cluster("work")))
        with open(held, "w", encoding="utf-8"):
            pass
        self.gangway("wait", job)
        self.no_folders()
        self.assertIn("retains no folders (`gangway worker --keep-files`)",
                      self.gangway("get", job, "in.txt", rc=2).stderr)

    @e2e.not_for_tsan
    def test_unshippable_files_are_refused(self):
        self.write("in.txt", "one")
        os.makedirs(os.path.join(self.dir, "empty"))
        os.makedirs(os.path.join(self.dir, "loop", "a"))
        os.symlink(os.path.join(self.dir, "loop"), os.path.join(self.dir, "loop", "a", "up"))
        self.fifo("pipe")
        for folder in ("holds", "zero"):
            os.makedirs(os.path.join(self.dir, folder))
        self.fifo("holds/pipe")
        os.symlink("/dev/zero", os.path.join(self.dir, "zero", "z"))
        wrong = {
            ("no",): "cannot ship no: No such file",
            ("in.txt:../x",): "the name must be a path below the task's folder",
            ("in.txt:/x",): "the name must be a path below the task's folder",
            ("in.txt", "empty", "in.txt"): "both have the name in.txt",
            ("in.txt:a", "in.txt:a/b"): "needs a folder",
            ("loop",): "loop/a/up: it is a link to a folder that contains the link",
            ("pipe",): "it is a fifo, neither a file nor a folder",
            ("holds",): "cannot ship holds/pipe: it is a fifo, neither a file nor a folder of "
                        "files: remove it, or exclude it by a .gitignore in holds",
            ("zero",): "cannot ship zero/z: it is a device, neither",
            ("empty",): "there is no file in empty",
            ("in.txt:.",): "only a folder can be called",
            ("..",): "give a name by PATH:NAME",
        }
        for names, text in wrong.items():
            shipped = [word for name in names for word in ("--ship", name)]
            said = self.gangway("submit", *shipped, "--", "true", rc=2).stderr
            self.assertIn(text, said)
        said = self.gangway("submit", "--ship", "in.txt", "-C", "/", "--", "true", rc=2).stderr
        self.assertIn("runs in its own folder, not in /", said)


if __name__ == "__main__":
    e2e.main()
