#!/usr/bin/env python3
"""Semaphores, locks, events, variables and queues, between clients and tasks that wait for each
other on fewer slots than there are waiters; see graphs/coordination.c."""
import os
import select
import signal
import sys

import e2e

COORDINATION = os.path.join(e2e.BUILD, "bin", "coordination")


class Coordination(e2e.Case):
    def subject(self, name):
        self.up("--slots", "1")
        done = self.run_program(COORDINATION, name, self.fifo())
        self.assertEqual(done.stdout, f"{name}: well\n")
        self.assertEqual(self.gangway_json("sync", "list"), [])

    def test_concurrent_increments_are_not_lost(self):
        self.subject("counter")

    def test_queue_connects_producer_and_consumers_on_one_slot(self):
        self.subject("queue")

    def test_set_event_wakes_the_clients_that_wait_for_it(self):
        self.subject("events")

    def test_variable_readers_get_the_latest_value_and_lease_numbers_grow(self):
        self.subject("news")

    def test_names_of_a_job_are_its_own_and_end_with_it(self):
        self.subject("scope")

    def test_misuse_of_sync_objects_is_refused(self):
        self.subject("wrong")

    def test_killed_task_releases_its_lease(self):
        self.up("--slots", "1")
        lines = e2e.Lines(self.fifo())
        self.addCleanup(lines.close)
        process = self.start(COORDINATION, "holders", lines.path)
        process.wait_output("^holder$")
        for _ in range(3):  # a task may crash three times
            who, pid = lines.next().split()
            self.assertEqual(who, "holds")
            gate = self.gangway_json("sync", "list")
            self.assertEqual([(row["name"], row["state"]) for row in gate],
                             [("gate", "1 of 1 held")])
            self.assertIn("task 0 of job", gate[0]["holder"])
            os.kill(int(pid), signal.SIGKILL)
        self.assertEqual(process.wait(), 0, process.text)

    def test_explain_names_the_awaited_sync_object(self):
        self.up("--slots", "1")
        process = self.start(COORDINATION, "waits", self.fifo())
        process.wait_output("^held$")
        wanted = [
            r"it runs and waits for semaphore gate \(1 of 1 held by .*coordination.*\)",
            r"lock own \(1 of 1 held by .*coordination.*\)",
            r"event go, which nobody has set",
            r"variable news, which nobody has set",
            r"queue work \(it has 0 of 3 values\)",
            r"room in queue full \(it has 1 of 1 values\)",
        ]
        for i, text in enumerate(wanted, 1):
            # Its request bypasses its worker, which yields the slots: either may arrive first.
            self.wait_said(f"(?s){text}.*its slots are yielded meanwhile", "explain", f"{i}/0")
        process.kill()
        process.wait()

    def test_sync_objects_can_be_used_from_a_shell(self):
        self.up("--slots", "1")
        sync = lambda *words, **options: self.gangway("sync", *words, **options)
        for value, shown in (("0.5", "0.5\n"), ("well done", "well done\n"), ("[1,", None),
                             ('{"a": [1, true, null]}', None)):
            if value == "[1,":
                self.assertIn("--text takes it as a text", sync("set", "variable", "v", value,
                                                              rc=2).stderr)
                continue
            sync("set", "variable", "v", value)
            if shown:
                self.assertEqual(sync("get", "variable", "v").stdout, shown)
        self.assertEqual(self.gangway_json("sync", "get", "variable", "v"), {"a": [1, True, None]})
        sync("set", "variable", "v", "7", "--text")
        self.assertEqual(self.gangway_json("sync", "get", "variable", "v"), "7")
        self.assertIn("is not JSON", sync("set", "variable", "v", "word", "--json", rc=2).stderr)
        sync("get", "variable", "none", "--timeout", "1ms", rc=124)

        sync("wait", "event", "go", "--timeout", "1ms", rc=124)
        sync("set", "event", "go")
        sync("wait", "event", "go")
        sync("clear", "event", "go")
        sync("wait", "event", "go", "--timeout", "1ms", rc=124)

        sync("open", "queue", "q", "2")
        for value in ("1", "two"):
            sync("put", "queue", "q", value)
        self.assertIn("2 of 2", sync("list").stdout)
        sync("put", "queue", "q", "3", "--timeout", "1ms", rc=124)
        self.assertEqual(sync("get", "queue", "q").stdout, "1\n")
        sync("close", "queue", "q")
        self.assertEqual(sync("get", "queue", "q").stdout, "two\n")
        self.assertIn("queue q is closed", sync("get", "queue", "q", rc=1).stderr)

        sync("open", "semaphore", "s", "3")
        self.assertRegex(sync("list").stdout, r"semaphore +s +0 of 3 held")
        self.assertIn("must be a number of 1 or more",
                      sync("open", "semaphore", "s", "many", rc=2).stderr)
        for name in ("\udcff", "a\nb", "x" * 256):  # the first is a byte that is not valid UTF-8
            self.assertIn("bytes of UTF-8 without control",
                          sync("set", "variable", name, "1", rc=2).stderr)
        sync("set", "variable", "gr\u00fc\u00df", "1")
        self.assertIn("the kind must be variable or event, not lock",
                      sync("set", "lock", "l", rc=2).stderr)
        self.assertIn("a name and one more word", sync("set", "variable", "v", rc=2).stderr)
        self.assertIn("give a name, and nothing else", sync("set", "event", "e", "x", rc=2).stderr)

    def test_lock_is_held_while_a_command_runs(self):
        self.up("--slots", "1")
        sync = lambda *words, **options: self.gangway("sync", *words, **options)
        fence = int(sync("lock", "l", "--", "sh", "-c", "echo $GANGWAY_FENCE").stdout)
        self.assertGreater(int(sync("lock", "l", "--", "sh", "-c", "echo $GANGWAY_FENCE").stdout),
                           fence)
        sync("lock", "l", "--", "sh", "-c", "exit 7", rc=7)
        sync("lock", "l", "--", "sh", "-c", "kill -9 $$", rc=137)
        self.assertIn("/no/such: No such file", sync("lock", "l", "--", "/no/such", rc=127).stderr)
        self.assertIn("/etc: Permission", sync("lock", "l", "--", "/etc", rc=126).stderr)
        self.assertIn("is missing", sync("lock", "l", rc=2).stderr)
        self.assertIn("there is no semaphore s", sync("lease", "s", "--", "true", rc=2).stderr)
        sync("open", "semaphore", "s", "1")
        for verb, name in (("lock", "l"), ("lease", "s")):
            with self.subTest(verb=verb):
                sync(verb, name, "--", e2e.BINARY, "sync", verb, name, "--timeout", "1ms", "--",
                     "true", rc=124)
                sync(verb, name, "--timeout", "0", "--", "true")
        sync("rm", "semaphore", "s")

    def test_sync_lock_forwards_signals_to_its_command(self):
        self.up("--slots", "1")
        program = ("import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); "
                   "print('held', flush=True); [signal.pause() for _ in iter(int, 1)]")
        holder = self.start(e2e.BINARY, "sync", "lock", "l", "--", sys.executable, "-c", program)
        holder.wait_output("^held$")
        holder.kill(signal.SIGTERM)
        self.assertEqual(holder.wait(), 5, holder.text)
        self.gangway("sync", "lock", "l", "--timeout", "0", "--", "true")

    def test_killed_sync_lock_ends_its_command_and_releases(self):
        self.up("--slots", "1")
        ended = self.fifo("ended")
        holder = self.start(e2e.BINARY, "sync", "lock", "l", "--", "sh", "-c",
                            f"exec 3>{ended}; echo held; exec cat {self.fifo('never')}")
        fifo = os.open(ended, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, fifo)
        holder.wait_output("^held$")
        holder.kill()
        holder.wait()
        poll = select.poll()
        poll.register(fifo, select.POLLHUP)
        self.assertTrue(poll.poll(20000), "the command goes on")
        self.gangway("sync", "lock", "l", "--", "true")

    def test_lost_lock_fails_a_successful_command(self):
        self.up("--slots", "1")
        done = self.gangway("sync", "lock", "l", "--", e2e.BINARY, "sync", "rm", "lock", "l",
                            rc=1)
        self.assertIn("lock l was lost while", done.stderr)

    def test_killed_client_releases_its_lease(self):
        self.up("--slots", "1")
        process = self.start(COORDINATION, "deleted", self.fifo())
        process.wait_output("^stuck$")
        process.kill()
        process.wait()
        # The next client opens the same semaphore and gets its only lease.
        again = self.start(COORDINATION, "deleted", self.fifo("again"))
        again.wait_output("^stuck$")
        row, = self.gangway_json("sync", "list")
        self.assertEqual((row["kind"], row["name"], len(row["holders"])), ("semaphore", "stuck", 1))
        listed = self.gangway("sync", "list").stdout
        self.assertRegex(listed, r"semaphore +stuck +1 of 1 held")
        self.gangway("sync", "rm", "semaphore", "stuck")
        self.assertEqual(again.wait(), 0, again.text)
        self.gangway("sync", "rm", "semaphore", "stuck", rc=2)
        self.gangway("sync", rc=2)


if __name__ == "__main__":
    e2e.main()
