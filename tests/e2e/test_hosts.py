#!/usr/bin/env python3
"""Clusters over TCP: a scheduler, a worker and clients that share no folder, with tokens. Each
"host" here has folders of its own; in test_networks.py it also has a network of its own."""
import contextlib
import fcntl
import os
import re
import resource
import shutil
import signal
import socket
import time

import e2e

PROGRAMS = os.path.join(e2e.BUILD, "bin")


class Hosts(e2e.Case):
    """`self.env` is the scheduler's host; the others know an address and a token."""

    def setUp(self):
        super().setUp()
        self.address, self.tokens, self.hosts = None, {}, 0

    def token(self, user, role):
        made = self.gangway_json("token", "create", "--user", user, "--role", role)
        self.tokens[made["id"]] = made["token"]
        return made

    def host(self, token=None):
        """The environment of another machine."""
        self.hosts += 1
        env = {"GANGWAY_ADDRESS": self.address, "GANGWAY_TOKEN": token or ""}
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            env[name] = os.path.join(self.dir, f"host-{self.hosts}-{name.lower()}")
            os.mkdir(env[name], 0o700)
        return env

    def up_listening(self, *arguments):
        self.admin = self.token("root", "admin")
        self.up("--listen", "127.0.0.1", "--trust-users", *arguments)
        path = self.cluster("address")
        with open(path, encoding="utf-8") as f:
            self.address = f.read().strip()
        self.assertEqual(self.gangway_json("status")["address"], self.address)

    def worker(self, name, slots, token):
        worker = self.start(e2e.BINARY, "worker", "--connect", self.address, "--trust-users",
                            "--name", name,
                            "--slots", str(slots), env=self.host(token))
        worker.wait_output("other workers reach this one")
        return worker

    def old_folder(self, env, name, days, *files):
        """A folder that a worker left this long ago."""
        folder = self.cluster(name, env=env)
        os.makedirs(folder)
        os.chmod(os.path.dirname(folder), 0o700)
        then = time.time() - days * 24 * 3600
        for path in ("lock",) + files:
            path = os.path.join(folder, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8"):
                pass
        for top, folders, names in os.walk(folder):
            for entry in folders + names:
                os.utime(os.path.join(top, entry), (then, then))
        return folder

    def left(self, folder):
        return sorted(os.path.relpath(os.path.join(top, name), folder)
                      for top, _, names in os.walk(folder) for name in names)

    def log(self):
        path = self.cluster("scheduler.log")
        with open(path, encoding="utf-8") as f:
            return f.read()

    def wait_workers(self, count):
        """Polls until they have registered; each query waits for its answer."""
        while self.gangway_json("status")["workers"] < count:
            pass

    def test_two_hosts_run_commands_gangs_and_nested_tasks(self):
        """Commands, gangs on two hosts, programs with their values, and tasks that submit tasks
        all work."""
        self.up_listening("--slots", "1")
        worker = self.worker("worker-2", 3, self.token("w", "worker")["token"])
        self.wait_workers(2)
        alice = self.host(self.token("alice", "user")["token"])
        with open(os.path.join(self.dir, "shipped"), "w", encoding="utf-8") as f:
            f.write("carried\n")
        done = self.gangway("submit", "--ship", "shipped", "--on", "worker-2", "--", "cat",
                            "shipped", env=alice)
        self.assertEqual(done.stdout, "carried\n")
        done = self.gangway("dispatch", "-n", "4", "--", "sh", "-c",
                            "echo $RANK $GROUP_RANK $MASTER_ADDR $MASTER_PORT", env=alice)
        rows = sorted(line.split()[1:] for line in done.stdout.splitlines())
        self.assertEqual([row[0] for row in rows], ["0", "1", "2", "3"])
        self.assertEqual(len({row[1] for row in rows}), 2)
        self.assertEqual(len({tuple(row[2:]) for row in rows}), 1)
        self.assertEqual(rows[0][2], "127.0.0.1")
        done = self.gangway("dispatch", "-np", "3", "-H", "worker-2:2,worker-1:1", "--", "sh", "-c",
                            "echo $RANK $GROUP_RANK $LOCAL_RANK $LOCAL_WORLD_SIZE", env=alice)
        self.assertEqual(sorted(line.split()[1:] for line in done.stdout.splitlines()),
                         [["0", "0", "0", "2"], ["1", "0", "1", "2"], ["2", "1", "0", "1"]])
        done = self.gangway("dispatch", "-H", "127.0.0.1:1", "--", "echo", "here", env=alice)
        self.assertIn("here", done.stdout) # by its address
        refused = self.gangway("dispatch", "-H", "worker-1:2,worker-2", "--", "true", env=alice,
                               rc=2)
        self.assertIn("2 of the gang's 3 ranks are to go to worker-1 (each rank 1 slot, 2 on "
                      "worker-1 and 1 on worker-2), which has room for 1", refused.stderr)
        self.assertEqual(self.run_program(os.path.join(PROGRAMS, "peers"), env=alice).stdout,
                         "ok\n")
        self.gangway("down", env=self.host(self.admin["token"]))
        self.assertEqual(worker.wait(), 0)

    def stayer(self):
        """The process that has written its pid, and stays."""
        while True:
            with contextlib.suppress(OSError):
                with open(os.path.join(self.dir, "pid"), encoding="ascii") as f:
                    pid = int(f.read())
                if e2e.command_of(pid).startswith("tail"):
                    return pid

    def test_worker_list_warns_of_equal_worker_names(self):
        """Two workers have the same name; placement by name warns of that."""
        self.up_listening("--slots", "1")
        token = self.token("workers", "worker")["token"]
        self.worker("twin", 1, token)
        self.assertNotIn("have the name", self.gangway("worker", "list").stderr)
        self.worker("twin", 1, token)
        self.wait_workers(3)
        self.assertIn("2 workers have the name twin: `--on twin` selects all of them, "
                      "`-H twin:N` one",
                      self.gangway("worker", "list").stderr)

    def test_terminated_worker_does_not_count_against_its_tasks(self):
        """A worker that is told to end is not treated as a broken connection: its tasks do not
        count the loss."""
        self.up_listening("--slots", "1")
        token = self.token("workers", "worker")["token"]
        worker = self.worker("ends", 1, token)
        self.wait_workers(2)
        job = self.gangway("submit", "-d", "--on", "ends", "--", "sleep", "60").stdout.strip()
        while "attempt 1" not in self.gangway("events", job).stdout:
            pass
        worker.kill(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0)
        while "was lost" not in self.gangway("events", job).stdout:
            pass
        self.assertIn("was lost: it was ended (SIGTERM)", self.gangway("events", job).stdout)
        self.gangway("cancel", job)
        again = self.worker("ends", 1, token)
        job = self.gangway("submit", "-d", "--on", "ends", "--max-worker-losses", "1", "--",
                           "sh", "-c",
                           "echo $$ >pid.new; mv pid.new pid; exec tail -f pid").stdout.strip()
        for attempt in (1, 2, 3):
            while "attempt %d started" % attempt not in self.gangway("events", job).stdout:
                pass
            # all processes below the worker receive the signal, too, and end before the worker
            # handles its own
            if attempt == 2:
                again.kill(signal.SIGSTOP)
                pid = self.stayer()
                os.kill(pid, signal.SIGTERM)
                e2e.wait_gone(pid, 10)
            again.kill(signal.SIGTERM)
            again.kill(signal.SIGCONT)
            self.assertEqual(again.wait(), 0)
            again = self.worker("ends", 1, token)
        while "attempt 4 started" not in self.gangway("events", job).stdout:
            pass

    def test_worker_start_removes_only_old_unused_folders(self):
        self.up_listening("--slots", "1")
        env = self.host(self.token("workers", "worker")["token"])
        shipped = ("programs/a", "files/b", "blobs/c")
        young = self.old_folder(env, "at-10.0.0.1_1", 6, "logs/3/o", "checkpoints/3/w", *shipped)
        old = self.old_folder(env, "at-10.0.0.1_2", 8, "checkpoints/3/w", *shipped)
        empty = self.old_folder(env, "at-10.0.0.1_3", 1, *shipped)
        in_use = self.old_folder(env, "at-10.0.0.1_4", 8, *shipped)
        other = self.old_folder(env, "default", 8, *shipped)
        with open(os.path.join(in_use, "lock"), encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            worker = self.start(e2e.BINARY, "worker", "--connect", self.address, "--slots", "1",
                                "--trust-users", env=env)
            worker.wait_output("other workers reach this one")
        self.assertEqual(self.left(young), ["checkpoints/3/w", "lock", "logs/3/o"])
        self.assertFalse(os.path.exists(old))
        self.assertIn("at-10.0.0.1_2, with output and checkpoints", worker.text)
        self.assertFalse(os.path.exists(empty))
        self.assertEqual(len(self.left(in_use)), 4)
        self.assertEqual(len(self.left(other)), 4)
        self.assertEqual(sorted(os.listdir(os.path.dirname(other)))[0], "at-10.0.0.1_1")
        self.assertEqual(len(os.listdir(os.path.dirname(other))), 4)  # and its own folder
        self.wait_workers(2)
        self.gangway("down")
        self.assertEqual(worker.wait(), 0)

    def test_task_on_another_host_submits_through_its_worker(self):
        """A task on another host reaches the scheduler through its worker."""
        admin, alice = self.token("root", "admin"), self.token("alice", "user")
        scheduler = self.start(e2e.BINARY, "scheduler", "--listen", "127.0.0.1")
        self.address = scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        worker = self.worker("far", 2, self.token("w", "worker")["token"])
        self.wait_workers(1)
        done = self.run_program(os.path.join(PROGRAMS, "nested"), "fib", self.fifo(),
                                env=self.host(alice["token"]))
        self.assertEqual(done.stdout, "fib: well\n")
        self.gangway("down", env=self.host(admin["token"]))
        self.assertEqual((worker.wait(), scheduler.wait()), (0, 0))

    def test_tcp_clients_survive_a_removed_cluster_folder(self):
        """Clients that connect by TCP still find the scheduler: it continues and warns once
        about the other clients."""
        admin = self.token("root", "admin")
        folder = os.path.join(self.dir, "its")
        scheduler = self.start(e2e.BINARY, "scheduler", "--listen", "127.0.0.1", "--dir", folder)
        self.address = scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        worker = self.worker("far", 1, self.token("w", "worker")["token"])
        here = self.host(admin["token"])
        self.gangway("submit", "-d", "--", "true", env=here)
        os.unlink(os.path.join(folder, "scheduler.sock"))
        scheduler.wait_output("scheduler.sock was removed: commands on this machine do not find")
        self.assertEqual(self.gangway("submit", "--", "echo", "on", env=here).stdout, "on\n")
        self.gangway("down", env=here)
        self.assertEqual((worker.wait(), scheduler.wait()), (0, 0))
        self.assertEqual(scheduler.text.count("do not find this cluster"), 1)

    def test_removed_state_folder_ends_the_scheduler(self):
        """No scheduler could read later acknowledgements, so it ends and reports the reason to
        all clients."""
        alice = self.token("alice", "user")
        state = os.path.join(self.dir, "state")
        scheduler = self.start(e2e.BINARY, "scheduler", "--listen", "127.0.0.1", "--state", state)
        self.address = scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        self.worker("far", 2, self.token("w", "worker")["token"])
        here = self.host(alice["token"])
        fifos = [self.fifo("one"), self.fifo("two")]
        script = "echo here > {}; tail -f /dev/null"
        self.gangway("submit", "-d", "--", "sh", "-c", script.format(fifos[0]), env=here)
        attached = self.start(e2e.BINARY, "submit", "--", "sh", "-c", script.format(fifos[1]),
                              env=here)
        for fifo in fifos:
            self.read_fifo(fifo)
        shutil.rmtree(state)
        gone = f"the cluster's state in {state} was removed"
        self.assertEqual(attached.wait(), 3)
        self.assertIn(gone, attached.text)
        self.assertEqual(scheduler.wait(), 1)
        self.assertEqual(scheduler.text.count(gone + ": no job can be saved any more"), 1)
        self.assertFalse(os.path.exists(state))

    def counts(self, name, job, env):
        """A gang of 2 that saves each step, in step 4, which the scheduler knows; returns its
        pids."""
        folder = os.path.join(self.dir, name)
        os.mkdir(folder)
        lines = e2e.Lines(self.fifo(f"{name}/pids"))
        self.addCleanup(lines.close)
        program = self.start(os.path.join(PROGRAMS, "restarts"), folder, "1", env=env)
        told = [lines.next().split() for _ in range(2)]
        while self.gangway_json("tasks", job, env=env)[0].get("checkpoint_step") != 4:
            self.assertIsNone(program.popen.poll(), program.text)
        return program, {int(rank): int(pid) for rank, pid in told}

    def test_gang_resumes_at_the_host_with_its_checkpoint(self):
        """The hosts share no folder: a gang resumes at the host of its checkpoint, although
        another host fits better, and restarts from step 0 if that host is lost."""
        self.up_listening("--slots", "1")
        token = self.token("w", "worker")["token"]
        alice = self.host(self.token("alice", "user")["token"])
        self.worker("wide", 3, token)
        self.wait_workers(2)
        program, pids = self.counts("killed", "1", alice)
        narrow = self.worker("narrow", 2, token)  # it is a better fit
        self.wait_workers(3)
        os.kill(pids[1], signal.SIGKILL)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 4", program.text)
        program, _ = self.counts("lost", "2", alice)
        narrow.kill(signal.SIGKILL)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 0", program.text)
        self.assertIn("THE CHECKPOINT IS LOST", self.gangway("logs", "2", env=alice).stderr)
        self.assertRegex(self.gangway("events", "2", env=alice).stdout,
                         r"\S+, which saved its checkpoint of step 4, is lost: .* RESTARTS")
        self.gangway("down", env=self.host(self.admin["token"]))

    def test_users_act_only_on_their_own_jobs(self):
        """A user acts on the user's own jobs, an admin on all jobs, and a worker's token on
        none."""
        self.up_listening("--slots", "1")
        alice = self.host(self.token("alice", "user")["token"])
        bob = self.host(self.token("bob", "user")["token"])
        admin = self.host(self.admin["token"])
        fifo = self.fifo()
        job = self.gangway("submit", "-d", "--", "sh", "-c",
                           f"echo $$ > {fifo}; exec tail -f /dev/null", env=alice).stdout.strip()
        self.read_fifo(fifo)
        self.assertIn("another user", self.gangway("cancel", job, env=bob, rc=1).stderr)
        self.assertIn("another user", self.gangway("logs", job, env=bob, rc=1).stderr)
        self.assertIn("only an admin", self.gangway("down", env=bob, rc=1).stderr)
        self.gangway("cancel", job, env=admin)
        self.gangway("wait", job, env=alice, rc=130)
        worker = self.token("w", "worker")["token"]
        done = self.gangway("submit", "--", "true", env=self.host(worker), rc=1)
        self.assertIn("the role worker", done.stderr)
        stranger = self.start(e2e.BINARY, "worker", "--connect", self.address, env=alice)
        self.assertEqual(stranger.wait(), 1)
        self.assertIn("the role user", stranger.text)

    def test_worker_runs_only_tasks_of_its_own_user(self):
        """The user of a worker is that of its token, and nobody else sees why a job failed."""
        self.admin = self.token("root", "admin")
        self.up("--listen", "127.0.0.1", "--slots", "1")
        with open(self.cluster("address"), encoding="utf-8") as f:
            self.address = f.read().strip()
        bob = self.host(self.token("bob", "user")["token"])
        carol = self.host(self.token("carol", "user")["token"])
        self.gangway("submit", "--", "true")
        said = self.gangway("submit", "--", "true", env=bob, rc=2).stderr
        self.assertIn("no worker runs tasks of user bob", said)
        self.assertIn("--trust-users", said)
        his = self.start(e2e.BINARY, "worker", "--connect", self.address, "--name", "far",
                         env=self.host(self.token("bob", "worker")["token"]))
        his.wait_output("other workers reach this one")
        while self.gangway_json("status")["workers"] < 2:
            pass
        done = self.gangway("submit", "--name", "his", "--", "sh", "-c",
                            "echo swordfish >&2; exit 3", env=bob, rc=3)
        self.assertIn("swordfish", done.stderr)
        self.assertIn("far", self.gangway("tasks", "his", env=bob).stdout)
        job = str(self.gangway_json("jobs", "his", env=bob)[0]["id"])
        for command in ("explain", "events", "logs"):
            said = self.gangway(command, job, env=carol, rc=1).stderr
            self.assertIn("belongs to another user", said)

    def test_worker_retries_if_the_scheduler_does_not_answer(self):
        """A server that accepts connections and sends nothing is left and tried again."""
        with socket.create_server(("127.0.0.1", 0)) as mute:
            mute.settimeout(e2e.TIMEOUT_S)
            worker = self.start(e2e.BINARY, "worker", "--connect",
                                "127.0.0.1:%d" % mute.getsockname()[1], env={
                                    "GANGWAY_TOKEN": self.token("w", "worker")["token"]})
            with mute.accept()[0], mute.accept()[0]:
                worker.wait_output("connected, but no answer came")
                worker.kill(signal.SIGTERM)
                self.assertEqual(worker.wait(), 0)

    def test_up_trust_users_warns_that_tasks_share_the_unix_user(self):
        """The warning says how far a token of role user protects, because all tasks run as one
        Unix user."""
        self.token("root", "admin")
        self.is_up = True
        said = self.gangway("up", "--listen", "127.0.0.1", "--slots", "1", "--trust-users").stderr
        self.assertRegex(said, f"Unix user {os.geteuid()}, .* can act as the cluster's admin")
        self.assertIn("can read the token of its worker", said)

    def test_wrong_missing_and_revoked_tokens_are_refused(self):
        """Revoking a token also closes its open connections."""
        self.up_listening("--slots", "1")
        self.assertIn("needs a token", self.gangway("status", env=self.host(), rc=2).stderr)
        alice = self.token("alice", "user")
        env = self.host(alice["token"])
        wrong = alice["token"][:-1] + ("1" if alice["token"][-1] == "0" else "0")
        done = self.gangway("status", env=dict(env, GANGWAY_TOKEN=wrong), rc=1)
        self.assertIn("does not know this token", done.stderr)
        unread = dict(env, GANGWAY_TOKEN="", GANGWAY_TOKEN_FILE="/dev/null/token")
        done = self.gangway("status", env=unread, rc=1)
        self.assertIn("/dev/null/token: Not a directory", done.stderr)
        self.assertNotIn("no scheduler", done.stderr)
        store = dict(env, GANGWAY_TOKEN="")
        path = self.write("pasted", f"  {alice['token']}\n", 0o600)
        self.run_program("sh", "-c", f"{e2e.BINARY} token store < {path}", env=store)
        self.gangway("status", env=store)
        self.assertEqual([row["role"] for row in self.gangway_json("token", "list")],
                         ["admin", "user"])

        fifo = self.fifo()
        command = self.start(e2e.BINARY, "submit", "--", "sh", "-c",
                             f"echo there > {fifo}; exec tail -f /dev/null", env=env)
        self.read_fifo(fifo)
        self.gangway("token", "revoke", alice["id"])
        self.assertEqual(command.wait(), 1)
        self.assertIn("revoked", command.text)
        self.assertIn("does not know this token", self.gangway("status", env=env, rc=1).stderr)
        self.assert_idle()  # its attached job ended with it
        self.assertIn("list", self.gangway("token", "revoke", alice["id"], rc=2).stderr)

    def test_revoked_worker_token_ends_the_worker(self):
        self.up_listening("--slots", "1")
        token = self.token("w", "worker")
        worker = self.worker("far", 1, token["token"])
        self.wait_workers(2)
        job = self.gangway("submit", "-d", "--on", "far", "--", "sleep", "60").stdout.strip()
        while "attempt 1" not in self.gangway("events", job).stdout:
            pass
        self.gangway("token", "revoke", token["id"])
        self.assertEqual(worker.wait(), 1)
        while "was lost" not in self.gangway("events", job).stdout:
            pass
        self.assertIn("was lost: its token was revoked", self.gangway("events", job).stdout)
        self.assertIn("revoked", worker.text)

    def test_foreign_connections_do_not_disturb_the_cluster(self):
        """Junk, other protocols, replayed bytes and silent connections at the port have no
        effect."""
        self.up_listening("--slots", "1")
        env = self.host(self.token("alice", "user")["token"])
        host, port = self.address.rsplit(":", 1)
        self.assert_strangers_refused(host, int(port))

        # A client's bytes are recorded, and replayed by a process without its token.
        with socket.create_server(("127.0.0.1", 0)) as tap:
            client = self.start(e2e.BINARY, "status",
                                env=dict(env, GANGWAY_ADDRESS=f"127.0.0.1:{tap.getsockname()[1]}"))
            tap.settimeout(30)
            taken = tap.accept()[0]
            with taken, socket.create_connection((host, int(port)), timeout=30) as onward:
                said = taken.recv(65536)
                onward.sendall(said)
                taken.sendall(onward.recv(65536))
                said += taken.recv(65536)
            self.assertNotEqual(client.wait(), 0)
        with socket.create_connection((host, int(port)), timeout=30) as replay:
            replay.sendall(said)
            replay.shutdown(socket.SHUT_WR)
            try:
                while replay.recv(4096):
                    pass
            except ConnectionError:
                pass
        self.gangway("status", env=env)
        self.assertIn("showed no key", self.log())

    def test_hundreds_of_silent_connections_delay_no_client(self):
        """Hundreds of connections that are silent, or stop in the handshake, delay no
        client."""
        self.up_listening("--slots", "1")
        worker = self.worker("worker-2", 3, self.token("w", "worker")["token"])
        self.wait_workers(2)
        alice = self.host(self.token("alice", "user")["token"])
        peers = re.search(r"reach this one at (\S+), by TLS", worker.text).group(1)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most[1]), most[1]))
        for address in (self.address, peers):
            host, port = address.rsplit(":", 1)
            crowd = []
            for i in range(400):
                crowd.append(socket.create_connection((host, int(port)), timeout=30))
                self.addCleanup(crowd[-1].close)
                crowd[-1].sendall(b"\x16\x03\x01\x02\x00\x01" if i % 2 else b"")
            try:
                self.assertEqual(crowd[0].recv(1), b"")  # the oldest was closed
            except ConnectionResetError:
                pass
        self.assertEqual(self.run_program(os.path.join(PROGRAMS, "peers"), env=alice).stdout,
                         "ok\n")
        self.assertIn("have not sent a hello", self.log())
        worker.wait_output("have not sent a hello")

    def test_unusable_addresses_and_token_files_are_refused(self):
        self.assertIn("gangway token create",
                      self.gangway("up", "--listen", "127.0.0.1", rc=2).stderr)
        self.token("alice", "user")
        for address, words in (("0.0.0.0:1", "all addresses"), ("192.0.2.1:1", "cannot listen"),
                               ("/tmp", "HOST:PORT")):
            with self.subTest(address=address):
                self.assertIn(words, self.gangway("up", "--listen", address, rc=2).stderr)
        path = os.path.join(self.env["HOME"], ".config/gangway/tokens")
        os.chmod(path, 0o644)
        self.assertIn("chmod 600", self.gangway("up", "--listen", "127.0.0.1", rc=2).stderr)
        os.chmod(path, 0o600)
        with open(path, "a", encoding="utf-8") as f:
            f.write("more\n")
        self.assertIn("new tokens", self.gangway("token", "list", rc=1).stderr)
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        self.address = f"127.0.0.1:{port}"  # free again: no process listens there
        self.assertIn("--slots 5000: must be 1 to 4096\n",
                      self.gangway("worker", "--connect", self.address, "--slots", "5000",
                                   rc=2).stderr)
        self.assertIn("--state /dev/null is not a folder\n",
                      self.gangway("up", "--state", "/dev/null", rc=2).stderr)
        env = self.host("gangway-0123456789ab-" + "0" * 64)
        self.assertIn("no scheduler answers", self.gangway("status", env=env, rc=3).stderr)


class Folder(e2e.Case):
    def test_worker_creates_its_private_folder(self):
        """The folder of --dir is created with its parents, and is closed to other users."""
        folder = os.path.join(self.dir, "new", "deep")
        env = {"GANGWAY_TOKEN": "gangway-0123456789ab-" + "0" * 64}
        worker = self.start(e2e.BINARY, "worker", "--connect", "127.0.0.1:1", "--dir", folder,
                            env=env)
        worker.wait_output("127.0.0.1:1")
        self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
        worker.kill(signal.SIGTERM)
        worker.wait()
        self.write("file", "")
        done = self.gangway("worker", "--connect", "127.0.0.1:1", "--dir",
                            os.path.join(self.dir, "file", "new"), env=env, rc=1)
        self.assertIn("Not a directory", done.stderr)


if __name__ == "__main__":
    e2e.main()
