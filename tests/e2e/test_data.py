#!/usr/bin/env python3
"""Results held by several clients, and how `gangway data` shows them; see results/data.c."""
import os
import pty
import signal
import stat
import subprocess

import e2e

DATA = os.path.join(e2e.BUILD, "bin", "data")


class Data(e2e.Case):
    def subject(self, name, path):
        self.up("--slots", "2")
        done = self.run_program(DATA, name, path)
        self.assertEqual(done.stdout, f"{name}: well\n")
        self.assert_idle()

    def on_terminal(self, *arguments):
        """The output of a command at a terminal; the command must succeed."""
        primary, terminal = pty.openpty()
        self.addCleanup(os.close, primary)
        subprocess.run([e2e.BINARY, *arguments], env=self.env, stdin=subprocess.DEVNULL,
                       stdout=terminal, timeout=e2e.TIMEOUT_S, check=True)
        os.write(terminal, b"$")  # the next output of a shell, to mark the end
        os.close(terminal)
        text = b""
        while not text.endswith(b"$"):
            text += os.read(primary, 65536)
        return text[:-1]

    def test_named_result_stays_until_its_last_holder_releases(self):
        self.subject("names", self.write("ran", ""))

    def test_task_survives_its_client_if_another_holds_the_result(self):
        self.subject("outlives", self.fifo())

    def test_shared_task_continues_if_one_of_two_clients_cancels(self):
        self.subject("shared", self.fifo())

    def test_equal_pure_calls_of_two_clients_run_once(self):
        self.subject("pure", self.write("ran", ""))

    def test_gather_returns_many_large_values_or_an_error(self):
        self.subject("gather", self.write("ran", ""))

    def test_retry_reruns_failed_tasks_across_jobs(self):
        self.subject("retry", self.write("retried", ""))

    def test_published_result_can_be_listed_read_and_removed(self):
        self.subject("publish", self.write("ran", ""))
        listed = self.gangway_json("data", "list")
        self.assertEqual([(line["name"], line["state"]) for line in listed], [("kept", "done")])
        self.assertIn("kept", self.gangway("data", "list").stdout)
        self.assertEqual(self.gangway("data", "get", "kept").stdout, "scattered")
        path = os.path.join(self.dir, "out")
        self.gangway("data", "get", "kept", "-o", path)
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read(), "scattered")
        self.assertEqual(self.on_terminal("data", "get", "kept"), b"scattered\r\n")
        where = self.gangway_json("data", "where", "kept")
        self.assertEqual([(line["worker"], line["host"]) for line in where], [(0, "scheduler")])
        self.gangway("data", "rm", "kept")
        self.assertIn("no published results", self.gangway("data", "list").stderr)
        self.assertIn("nothing is published as", self.gangway("data", "rm", "kept", rc=2).stderr)

    def test_data_command_publishes_and_reads_task_results(self):
        self.up("--slots", "2")
        self.gangway("submit", "--name", "one", "-d", "--", "true")
        self.gangway("data", "publish", "ended", "last")
        self.gangway("wait", "last")
        tasks = self.gangway_json("tasks", "last", "--state", "done")
        self.assertEqual([task["index"] for task in tasks], [0])
        self.assertIn("no tasks", self.gangway("tasks", "1", "--state", "failed").stderr)
        self.assertIn("there is no state", self.gangway("tasks", "1", "-s", "bad", rc=2).stderr)
        self.assertIn("attempt 2", self.gangway("logs", "1", "--attempt", "2", rc=2).stderr)
        self.assertIn("rank 99", self.gangway("logs", "1", "--rank", "99", rc=2).stderr)
        self.assertEqual(self.gangway("data", "get", "ended").stdout, "0\n")
        for task in ("last", "last/0", "1/0"):
            self.assertEqual(self.gangway("data", "get", task).stdout, "0\n")
        self.assertIn("no task named", self.gangway("data", "get", "last/nobody", rc=2).stderr)
        done = self.gangway("data", "publish", "ended", "last/0", rc=2)
        self.assertIn("is published already", done.stderr)
        done = self.gangway("data", "publish", "x", "1/nobody", rc=2)
        self.assertIn("no task named", done.stderr)
        self.assertIn("is not a task", self.gangway("data", "publish", "x", "1/", rc=2).stderr)
        self.assertIn("list", self.gangway("data", rc=2).stderr)
        self.assertIn("no file", self.gangway("data", "get", "ended", "-o", "/no/such/file",
                                              rc=2).stderr.lower().replace("such ", ""))

    def check_no_file(self):
        """An existing target that is no file is not replaced, and gets the data if it can."""
        path, full = self.fifo("pipe"), os.path.join(self.dir, "full")
        os.symlink("/dev/full", full)
        self.run_program("sh", "-c", f"printf 'a b' | '{e2e.BINARY}' data put piped -")
        fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fifo)
        self.gangway("data", "get", "piped", "-o", path)
        self.assertTrue(stat.S_ISFIFO(os.stat(path).st_mode))
        self.assertEqual(os.read(fifo, 100), b"a b")
        self.assertIn("full: No space left on device",
                      self.gangway("data", "get", "piped", "-o", full, rc=1).stderr)
        self.assertTrue(os.path.islink(full))

    def check_whole_or_not_at_all(self, content):
        """Checks the published value "weights": written completely or not at all, without extra
        files."""
        name = os.path.join(self.dir, "folder", "out")
        os.mkdir(os.path.dirname(name))
        for neighbour in ("out.part", "out.new"):
            with open(os.path.join(self.dir, "folder", neighbour), "w", encoding="utf-8") as f:
                f.write("mine")
        with open(name, "wb") as f:
            f.write(b"old")
        os.chmod(name, 0o640)
        get = f"ulimit -c 0; ulimit -f 16; exec '{e2e.BINARY}' data get weights -o '{name}'"
        full = self.run_program("sh", "-c", f"trap '' XFSZ; {get}", rc=1)
        self.assertIn("out: File too large", full.stderr)
        self.run_program("sh", "-c", get, rc=-signal.SIGXFSZ)
        self.assertEqual(sorted(os.listdir(os.path.dirname(name))), ["out", "out.new", "out.part"])
        with open(name, "rb") as f:
            self.assertEqual(f.read(), b"old")
        self.gangway("data", "get", "weights", "-o", name)
        self.assertEqual(sorted(os.listdir(os.path.dirname(name))), ["out", "out.new", "out.part"])
        with open(name, "rb") as f:
            self.assertEqual(f.read(), content)
        with open(name + ".part", encoding="utf-8") as f:
            self.assertEqual(f.read(), "mine")
        self.assertEqual(stat.S_IMODE(os.stat(name).st_mode), 0o640)

    def test_data_put_stores_a_file_exactly(self):
        self.up("--slots", "1")
        content = bytes(range(256)) * 3000
        path = os.path.join(self.dir, "in")
        for name, text in (("in", content), ("in.json", b'{"lr": 0.1, "layers": [1, 2]}'),
                           ("bad.json", b"{lr}"), ("empty", b"")):
            with open(os.path.join(self.dir, name), "wb") as f:
                f.write(text)
        self.gangway("data", "put", "weights", path)
        self.gangway("data", "get", "weights", "-o", path + ".out")
        with open(path + ".out", "rb") as f:
            self.assertEqual(f.read(), content)
        self.assertEqual(stat.S_IMODE(os.stat(path + ".out").st_mode),
                         stat.S_IMODE(os.stat(path).st_mode))
        self.check_whole_or_not_at_all(content)
        self.gangway("data", "put", "nothing", os.path.join(self.dir, "empty"))
        self.assertEqual(self.gangway("data", "get", "nothing").stdout, "")
        self.gangway("data", "put", "config", path + ".json", "--json")
        self.assertEqual(self.gangway_json("data", "get", "config"), {"lr": 0.1, "layers": [1, 2]})
        done = self.gangway("data", "put", "bad", os.path.join(self.dir, "bad.json"), "--json",
                            rc=2)
        self.assertIn("bad.json is not JSON: line 1", done.stderr)
        self.assertIn("is published already", self.gangway("data", "put", "config", path,
                                                           rc=2).stderr)
        self.assertIn("/no/such", self.gangway("data", "put", "x", "/no/such", rc=2).stderr)
        self.gangway("data", "put", "x", self.dir, rc=2)
        self.assertEqual({line["name"] for line in self.gangway_json("data", "list")},
                         {"config", "nothing", "weights"})
        self.check_no_file()
        self.assertEqual(self.gangway("data", "get", "piped").stdout, "a b")


if __name__ == "__main__":
    e2e.main()
