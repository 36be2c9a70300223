#!/usr/bin/env python3
"""Commands inside a task act as the user of its job: over TCP, with tokens, on the scheduler's
host and on another."""
import os
import signal

import e2e

PROGRAM = os.path.join(os.path.abspath(e2e.BUILD), "bin", "hello")


class Identity(e2e.Case):
    def token(self, user, role="user"):
        return self.gangway_json("token", "create", "--user", user, "--role", role)["token"]

    def host(self, token, **more):
        """The environment of another machine."""
        env = {"GANGWAY_ADDRESS": self.address, "GANGWAY_TOKEN": token}
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            env[name] = os.path.join(self.dir, f"host-{len(os.listdir(self.dir))}")
            os.mkdir(env[name], 0o700)
        return dict(env, **more)

    def setUp(self):
        super().setUp()
        alice, bob, far = self.token("alice"), self.token("bob"), self.token("w", "worker")
        self.up("--listen", "127.0.0.1", "--slots", "2", "--trust-users")
        with open(self.cluster("address"), encoding="utf-8") as f:
            self.address = f.read().strip()
        self.alice, self.bob = self.host(alice), self.host(bob, GW=e2e.BINARY)
        self.far = self.start(e2e.BINARY, "worker", "--connect", self.address, "--name", "worker-2",
                              "--slots", "2", "--trust-users", env=self.host(far))
        while self.gangway_json("status")["workers"] < 2:
            pass

    def inside(self, script, *options, rc=0, command="submit", env=None):
        """The output of a command of bob."""
        return self.gangway(command, *options, "--", "sh", "-c", script, env=env or self.bob,
                            rc=rc)

    def job_of_alice(self):
        """A job that keeps running."""
        done = self.gangway("submit", "-d", "--on", "worker-2", "--", "tail", "-f", "/dev/null",
                            env=self.alice)
        return done.stdout.strip()

    def state(self, job):
        return self.gangway_json("jobs", job, "--all-users")[0]["state"]

    def test_commands_inside_a_task_act_as_its_user(self):
        hers = self.job_of_alice()
        with open(os.path.join(self.dir, "shipped"), "w", encoding="utf-8") as f:
            f.write("x" * 1000000)
        for worker in ("worker-1", "worker-2"):
            done = self.inside(
                f'''echo 'from bob' | "$GW" data put value-{worker} - && (
                "$GW" data get value-{worker}; "$GW" submit --quiet -- true ) &&
                "$GW" submit --ship {self.dir}/shipped -- sh -c 'wc -c <shipped' &&
                child=$("$GW" submit -d -- sh -c 'echo child') && "$GW" wait $child &&
                "$GW" jobs --json $child; "$GW" cancel {hers}; echo $?; "$GW" down; echo $?''',
                "--on", worker)
            self.assertIn("from bob", done.stdout)
            self.assertIn("1000000", done.stdout)
            self.assertIn('"user":"bob"', done.stdout.replace(" ", ""))
            self.assertIn('"depth":0', done.stdout.replace(" ", ""))  # queued like any other
            self.assertEqual(done.stdout.split()[-2:], ["1", "1"])
            self.assertIn("only an admin", done.stderr)
        self.assertEqual(self.state(hers), "running")
        done = self.inside(f"exec {PROGRAM}", "--on", "worker-2")  # a C program, which ships itself
        self.assertIn("2 ranks learned", done.stdout)

    def test_all_ranks_and_their_children_act_as_the_user(self):
        done = self.inside('''for i in 1 2 3 4 5 6 7 8; do
            (echo $RANK.$i | "$GW" data put value-$RANK.$i -; "$GW" data get value-$RANK.$i) &
            done; wait''', "-n", "4", "--spread", command="dispatch")
        self.assertEqual(sorted(line.split()[-1] for line in done.stdout.splitlines()),
                         sorted(f"{rank}.{i}" for rank in range(4) for i in range(1, 9)))
        listed = self.gangway_json("data", "list", env=self.bob)
        self.assertEqual(len(listed), 32)

    def test_exec_beside_a_task_acts_as_its_user(self):
        hers = self.job_of_alice()
        self.gangway("submit", "-d", "--name", "his", "--on", "worker-2", "--", "tail", "-f",
                     "/dev/null", env=self.bob)
        script = f'"$GW" cancel {hers}; echo $?; "$GW" cancel his'
        done = self.gangway("exec", "--wait", "his", "--", "sh", "-c", script, env=self.bob,
                            rc=None)
        self.assertIn("belongs to another user", done.stderr)
        self.gangway("wait", "his", "--user", "bob", rc=None)
        self.assertEqual(self.gangway_json("jobs", "his", "--user", "bob")[0]["state"],
                         "cancelled")

    def test_down_inside_a_task_spares_local_workers(self):
        """The cluster of the task does not answer; that is not the local cluster of this
        user."""
        worker = self.process_of("worker --dir")
        lost = f"1.0.{'0' * 64} - {self.dir}/no-such.sock"
        said = self.gangway("down", env={"GANGWAY_IDENTITY": lost}, rc=3).stderr
        self.assertIn("the worker of this task does not answer", said)
        self.assertFalse(e2e.wait_gone(worker, 0))
        self.assertEqual(self.gangway_json("status")["workers"], 2)

    def test_token_or_address_set_in_a_task_takes_precedence(self):
        hers = self.job_of_alice()
        token = f"GANGWAY_TOKEN={self.alice['GANGWAY_TOKEN']}"
        self.inside(f'"$GW" cancel {hers}', "--env", token, "--on", "worker-2")
        hers = self.job_of_alice()
        self.inside(f'{token} "$GW" cancel {hers}', "--on", "worker-1")
        for worker in ("worker-1", "worker-2"):
            for set_by in ("", "--env"):
                address = "GANGWAY_ADDRESS=127.0.0.1:1"
                done = self.inside(
                    f'{"" if set_by else address} "$GW" jobs', "--on", worker,
                    *([set_by, address] if set_by else []), rc=2)
                self.assertIn("a token", done.stderr)

    def test_identity_ends_with_its_task(self):
        """The identity of a task is also invalid for any other task."""
        identity = self.inside('echo "$GANGWAY_IDENTITY"', "--on", "worker-2").stdout.strip()
        env = {"GANGWAY_ADDRESS": self.address, "GANGWAY_IDENTITY": identity}
        done = self.gangway("jobs", env=env, rc=1)
        self.assertIn("the task that started this process has ended", done.stderr)
        attempt, rest = identity.split(".", 1)
        env["GANGWAY_IDENTITY"] = f"{int(attempt) + 1}.{rest}"
        done = self.gangway("jobs", env=env, rc=1)
        self.assertIn("is not that of a task on this worker", done.stderr)

    def test_identity_survives_a_scheduler_restart(self):
        """A command of the task waits for the next scheduler."""
        says, asks = self.fifo("says"), self.fifo("asks")
        self.gangway("submit", "-d", "--name", "asker", "--on", "worker-2", "--", "sh", "-c",
                     f'echo runs >{says}; read line <{asks}; "$GW" data put after - </dev/null; '
                     f'"$GW" jobs asker --json >{says}', env=self.bob)
        self.read_fifo(says)
        scheduler = next(pid for pid in e2e.pids_marked(self.mark)
                         if "scheduler --dir" in e2e.command_of(pid))
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])
        with open(asks, "w", encoding="ascii") as f:
            f.write("now\n")
        self.gangway("up", "--listen", self.address, "--slots", "2", "--trust-users")
        self.assertIn('"user":"bob"', self.read_fifo(says).replace(" ", ""))
        self.gangway("wait", "asker", "--user", "bob")

    def test_cluster_owner_is_no_admin_inside_remote_tasks(self):
        """The owner submitted through the local socket, which gives no address to the task."""
        hers = self.job_of_alice()
        own = {"GW": e2e.BINARY}
        done = self.inside(f'"$GW" data put mine - </dev/null; "$GW" cancel {hers}; echo $?',
                           "--on", "worker-2", env=own)
        self.assertEqual(done.stdout.split()[-1], "1")
        self.inside(f'test -z "$GANGWAY_IDENTITY" && "$GW" cancel {hers}', "--on", "worker-1",
                    env=own)  # through that socket, as before


if __name__ == "__main__":
    e2e.main()
