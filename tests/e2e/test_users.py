#!/usr/bin/env python3
"""Separate users: each task runs as the Unix user of who submitted it, and reaches nothing of
another user. Real Unix users, in a namespace of the test's own; without root all tests are
skipped, which is not a pass."""
import contextlib
import fcntl
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import e2e
import unix_users

BIN = os.path.join(os.path.abspath(e2e.BUILD), "bin")
FOLDER = "/var/lib/gangway/users"
ALICE, BOB = unix_users.USERS["alice"][0], unix_users.USERS["bob"][0]


class Cluster(e2e.Case):
    launcher_options = ()

    def setUp(self):
        super().setUp()
        shutil.rmtree(FOLDER, ignore_errors=True)
        unix_users.allow("alice\nbob\n")
        os.chmod(self.dir, 0o755)
        self.launcher = self.start(os.path.join(BIN, "gangway-launcher"), *self.launcher_options)
        self.launcher.wait_output("ready at")
        tokens = {}
        for name, role in (("alice", "user"), ("bob", "user"), ("eve", "user"), ("host", "worker"),
                           ("root", "admin")):
            tokens[name] = self.gangway_json("token", "create", "--user", name, "--role",
                                             role)["token"]
        scheduler = self.start(e2e.BINARY, "scheduler", "--listen", "127.0.0.1")
        address = scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        self.client = {name: {"GANGWAY_ADDRESS": address, "GANGWAY_TOKEN": token}
                       for name, token in tokens.items()}
        self.token = tokens["host"]
        self.worker_dir = os.path.join(self.dir, "one", "files")
        self.worker = self.start_worker()

    def start_worker(self, name="one", prefix=(), count=1):
        home = os.path.join(self.dir, name)
        os.makedirs(home, 0o700, exist_ok=True)
        os.chown(home, 901, 901)
        worker = self.start(
            *prefix, "setpriv", "--reuid=gangway", "--regid=gangway", "--clear-groups", e2e.BINARY,
            "worker", "--connect", self.client["root"]["GANGWAY_ADDRESS"], "--slots", "4",
            "--name", name, "--separate-users", "--dir", os.path.join(home, "files"), cwd="/",
            env={"GANGWAY_TOKEN": self.token, "HOME": home, "XDG_RUNTIME_DIR": home,
                 "TMPDIR": "/tmp", "ASAN_OPTIONS": "detect_leaks=0"})
        worker.wait_output("other workers reach this one")
        while self.gangway_json("status", env=self.client["root"])["workers"] < count:
            pass
        return worker

    def tearDown(self):
        self.gangway("down", "--now", env=self.client["root"], rc=None)
        self.launcher.kill()
        super().tearDown()

    def run_as(self, user, script, *options, rc=0):
        """The output of a command of a user."""
        return self.gangway("submit", *options, "--", "sh", "-c", script, env=self.client[user],
                            cwd="/", rc=rc)

    def victim(self):
        """A running task of alice with secrets of all kinds. Returns where they are."""
        home = pwd.getpwnam("alice").pw_dir
        fifo = "/var/lib/victim.fifo"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fifo)
        os.mkfifo(fifo)
        os.chown(fifo, ALICE, ALICE)
        unix_users.write(f"{home}/secret", "swordfish\n", 0o600)
        os.chown(f"{home}/secret", ALICE, ALICE)
        shipped = self.write("shipped", "swordfish\n", 0o644)
        script = f"""import os, socket
os.umask(0o77)
open(os.environ["GANGWAY_CHECKPOINT_DIR"] + "/saved", "w").write("swordfish\\n")
open("/dev/shm/alice", "w").write("swordfish\\n")
memory = os.memfd_create("secret"); os.write(memory, b"swordfish\\n")
listener = socket.socket(socket.AF_UNIX); listener.bind("socket"); listener.listen()
print("swordfish", flush=True)
open("{fifo}", "w").write(f"{{os.getpid()}} {{memory}} {{os.getcwd()}} "
                          f"{{os.environ['GANGWAY_CHECKPOINT_DIR']}} {{os.getppid()}}\\n")
while True:
    listener.accept()
"""
        self.write("victim.py", script, 0o644)
        self.job = self.gangway("submit", "-d", "--ship", shipped, "--env", "SECRET=swordfish",
                                "--name", "victim", "--", "python3", "-c", script, cwd=self.dir,
                                env=self.client["alice"]).stdout.strip()
        pid, memory, cwd, saved, reaper = self.read_fifo(fifo).split()
        worker = self.worker.pid
        return {"pid": pid, "memory": memory, "cwd": cwd, "saved": saved, "reaper": reaper,
                "job": self.job, "worker": worker, "folder": f"{FOLDER}/alice",
                "worker_dir": self.worker_dir, "home": home}

    def probe(self, name, control=True):
        """A probe of bob must not succeed; the same probe of alice does, if `control` is set."""
        script = PROBES[name].format(**self.victim())
        if control:
            done = self.run_as("alice", script, rc=None)
            self.assertIn("reached", done.stdout, f"{script}: {done}")
        done = self.run_as("bob", script, rc=None)
        self.assertNotIn("reached", done.stdout, f"{script}: {done}")
        self.assertNotIn("swordfish", done.stdout + done.stderr)
        self.assertEqual(self.gangway_json("jobs", self.job, env=self.client["alice"])[0]["state"],
                         "running")


class Users(Cluster):
    def test_tasks_run_as_their_users(self):
        for user, uid in (("alice", ALICE), ("bob", BOB)):
            done = self.run_as(user, "id -u; id -G; umask; echo $HOME; "
                                     "grep NoNewPrivs /proc/self/status")
            said = done.stdout.split("\n")
            self.assertEqual(said[0], str(uid), done)
            self.assertNotIn("0", said[1].split())
            self.assertEqual(said[2:4], ["0027", pwd.getpwnam(user).pw_dir])
            self.assertIn("1", said[4])
        for user in ("eve", "root"):
            done = self.run_as(user, "id", rc=None)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"user {user} is not in the list of users of this host", done.stderr)
        unix_users.allow("alice\nbob\neve:alice\n")
        self.assertEqual(self.run_as("eve", "id -u").stdout, f"{ALICE}\n")

    def test_functions_run_as_their_users(self):
        for user in ("alice", "bob"):
            done = self.run_program(os.path.join(BIN, "hello"), env=self.client[user], cwd="/")
            self.assertIn("2 ranks learned", done.stdout)
            self.assertEqual(len(glob.glob(f"{FOLDER}/{user}/*/programs/*")), 1)
            for path, folders, files in os.walk(f"{FOLDER}/{user}"):
                for entry in (*folders, *files):
                    self.assertEqual(os.lstat(os.path.join(path, entry)).st_uid,
                                     unix_users.USERS[user][0], os.path.join(path, entry))

    def test_output_and_shipped_files_belong_to_the_user(self):
        shipped = self.write("input", "x" * 1000, 0o644)
        done = self.gangway("submit", "--ship", shipped, "--name", "his", "--", "sh", "-c",
                            "stat -c '%u %a' input; wc -c <input; echo more >>input; echo bad >&2; "
                            "exit 3", env=self.client["alice"], cwd=self.dir, rc=3)
        self.assertEqual(done.stdout, f"{ALICE} 644\n1000\n")
        self.assertIn("bad", done.stderr)
        logs = self.gangway("logs", "his", env=self.client["alice"]).stdout
        self.assertIn("1000", logs)

    def test_result_in_memory_is_not_found_by_another_user(self):
        program = self.start(os.path.join(BIN, "memfiles"), "faults", "1000000",
                             env=self.client["alice"], cwd="/")
        program.wait_output(r"^\d+$")  # a result was made and read, and the next ones are
        find = ("for f in /proc/[0-9]*/fd/*; do case $(readlink $f) in /memfd:gangway-value*) "
                "head -c 1 $f >/dev/null && echo reached;; esac; done")
        stop = os.path.join(self.dir, "stop")
        bob = self.start(e2e.BINARY, "submit", "--", "sh", "-c",
                         f"echo looks; until [ -e {stop} ]; do {find}; done; echo looked",
                         env=self.client["bob"], cwd="/")
        bob.wait_output("looks")
        while "reached" not in self.run_program("sh", "-c", find, rc=None).stdout:
            pass  # results come and go
        self.write("stop", "")
        bob.wait_output("looked")
        self.assertNotIn("reached", bob.text)
        program.kill()

    def test_killed_supervisor_ends_only_its_users_tasks(self):
        script = "echo $PPID; exec tail -f /dev/null"
        jobs = {user: self.gangway("submit", "-d", "--retries", "0", "--", "sh", "-c", script,
                                   env=self.client[user], cwd="/").stdout.strip()
                for user in ("alice", "bob")}
        for user in jobs:
            while self.gangway_json("jobs", jobs[user], env=self.client[user])[0]["state"] != \
                    "running":
                e2e.pause()
        self.run_as("alice", "pkill -9 -u $(id -u) gangway-guard", rc=None)
        done = self.gangway("wait", jobs["alice"], env=self.client["alice"], rc=None)
        self.assertNotEqual(done.returncode, 0, done)
        self.assertEqual(self.run_as("alice", "id -u").stdout, f"{ALICE}\n")
        self.assertEqual(self.gangway_json("jobs", jobs["bob"], env=self.client["bob"])[0]["state"],
                         "running")

    def test_stopped_supervisor_is_killed_and_its_tasks_end_with_a_cause(self):
        job = self.victim()["job"]
        done = self.run_as("alice", "pkill -STOP -u $(id -u) gangway-guard; exec tail -f /dev/null",
                           rc=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("gangway-guard of its user", done.stderr)
        self.gangway("wait", job, env=self.client["alice"], rc=137)
        self.assertEqual(self.run_as("alice", "id -u").stdout, f"{ALICE}\n")

    def test_user_who_stops_the_agent_again_is_refused_and_delays_nobody(self):
        stop = "pkill -STOP -u $(id -u) gangway-files"
        job = self.victim()["job"]
        for _ in range(2):
            self.run_as("alice", stop, rc=None)
            self.assertEqual(self.run_as("bob", "id -u").stdout, f"{BOB}\n")
            self.gangway("submit", "-d", "--", "true", env=self.client["alice"], cwd="/")
        done = self.run_as("alice", "id -u", rc=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("gangway-files was stopped or killed 2 times", done.stderr)
        began = time.monotonic()
        for _ in range(5):
            self.gangway("submit", "-d", "--", "true", env=self.client["alice"], cwd="/")
            self.assertEqual(self.run_as("bob", "id -u").stdout, f"{BOB}\n")
        self.assertLess(time.monotonic() - began, 10)  # 5 waits for an agent are 10 s
        self.worker.wait_output("new ones are refused for 10 s")
        self.gangway("wait", job, env=self.client["alice"], rc=137)  # not forgotten

    def test_stopped_agent_delays_no_task_of_another_user(self):
        self.run_as("bob", "true")
        longest = []
        for _ in range(2):
            alice = self.start(e2e.BINARY, "submit", "--", "sh", "-c",
                               "pkill -STOP -u $(id -u) gangway-files", env=self.client["alice"],
                               cwd="/")
            longest.append(0)
            while alice.popen.poll() is None:
                began = time.monotonic()
                self.assertEqual(self.run_as("bob", "id -u").stdout, f"{BOB}\n")
                longest[-1] = max(longest[-1], time.monotonic() - began)
        self.assertLess(min(longest), 1.5, longest)  # the host may be busy once

    def test_launcher_that_ended_or_hangs_delays_only_new_users(self):
        self.run_as("alice", "true")
        self.launcher.kill()
        self.assertEqual(self.run_as("alice", "id -u").stdout, f"{ALICE}\n")
        self.assertIn("start gangway-launcher as root", self.run_as("bob", "id", rc=None).stderr)
        self.launcher = self.start(os.path.join(BIN, "gangway-launcher"))
        self.launcher.wait_output("ready at")
        while self.run_as("bob", "id -u", rc=None).returncode != 0:  # within a second
            pass
        os.kill(self.launcher.pid, signal.SIGSTOP)
        self.assertIn("the launcher does not answer", self.run_as("eve", "id", rc=None).stderr)
        began = time.monotonic()
        for _ in range(5):
            self.run_as("eve", "id", rc=126)
            self.assertEqual(self.run_as("alice", "id -u").stdout, f"{ALICE}\n")
        self.assertLess(time.monotonic() - began, 10)
        os.kill(self.launcher.pid, signal.SIGCONT)

    def test_commands_beside_tasks_run_as_the_tasks_user(self):
        alice, to = self.client["alice"], os.path.join(self.dir, "got")
        shipped = self.write("shipped", "swordfish\n", 0o644)
        script = "echo x >made; echo s >$GANGWAY_CHECKPOINT_DIR/saved; exec tail -f /dev/null"
        job = self.gangway("submit", "-d", "--ship", shipped, "--env", "WHO=alice", "--", "sh",
                           "-c", script, env=alice, cwd=self.dir).stdout.strip()
        while self.gangway("get", job, "made", "-o", to, env=alice, rc=None).returncode:
            e2e.pause()
        done = self.gangway("exec", job, "--", "sh", "-c", "id -u; echo $WHO; cat shipped; exit 3",
                            env=alice, rc=3)
        self.assertEqual(done.stdout, f"{ALICE}\nalice\nswordfish\n")
        for words in (("exec", job, "--", "id"), ("get", job, "made"),
                      ("get", job, "--checkpoint")):
            done = self.gangway(*words, env=self.client["bob"], rc=None)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("belongs to another user", done.stderr)
        self.gangway("get", job, "--checkpoint", "-o", to, env=alice)
        self.gangway("exec", job, "--", "pkill", "tail", env=alice, rc=None)
        self.gangway("wait", job, env=alice, rc=None)
        os.unlink(os.path.join(to, "made"))
        self.gangway("get", job, "made", "-o", to, env=alice)
        self.assertEqual(sorted(os.listdir(to)), ["made", "saved"])

    def test_killed_supervisor_ends_commands_beside_tasks(self):
        script = "echo on; exec tail -f /dev/null"
        beside = self.start(e2e.BINARY, "exec", self.victim()["job"], "--", "sh", "-c", script,
                            env=self.client["alice"])
        beside.wait_output("on")
        self.run_as("alice", "pkill -9 -u $(id -u) gangway-guard", rc=None)
        self.assertNotEqual(beside.wait(), 0)

    def test_commands_use_the_cluster_as_their_user(self):
        fifo = "/var/lib/uses.fifo"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fifo)
        os.mkfifo(fifo)
        os.chown(fifo, ALICE, ALICE)
        script = (f"{e2e.BINARY} submit -- id -u; {e2e.BINARY} report loss=0.5; "
                  f"echo \"$GANGWAY_REPORT $GANGWAY_IDENTITY\" >{fifo}; exec tail -f /dev/null")
        job = self.gangway("submit", "-d", "--", "sh", "-c", script, env=self.client["alice"],
                           cwd="/").stdout.strip()
        report, identity = self.read_fifo(fifo).strip().split(" ", 1)
        tasks = self.gangway_json("tasks", job, env=self.client["alice"])
        self.assertEqual(tasks[0]["metrics"], {"loss": 0.5})
        self.assertEqual(self.gangway("logs", job, env=self.client["alice"]).stdout.split("\n")[0],
                         str(ALICE))
        done = self.run_as("bob", f"GANGWAY_IDENTITY='{identity}' {e2e.BINARY} jobs", rc=None)
        self.assertIn("another user's task", done.stderr)
        done = self.run_as("bob", f"GANGWAY_REPORT={report} {e2e.BINARY} report loss=9", rc=None)
        self.assertNotEqual(done.returncode, 0)
        tasks = self.gangway_json("tasks", job, env=self.client["alice"])
        self.assertEqual(tasks[0]["metrics"], {"loss": 0.5})

    def test_command_at_the_end_of_a_detached_job_knows_the_outcome(self):
        fifo = self.fifo()
        os.chmod(fifo, 0o666)
        for command, outcome in (("true", "done"), ("false", "failed")):
            self.gangway("submit", "-d", "--notify", f'echo "$(id -u) $GANGWAY_OUTCOME" >{fifo}',
                         "--", command, env=self.client["alice"], cwd="/")
            self.assertEqual(self.read_fifo(fifo), f"{ALICE} {outcome}\n")

    def test_processes_of_one_user_do_not_take_all_connections(self):
        clients = os.path.join(BIN, "clients")
        self.assertIn("128 clients: 128 processes of this user's tasks",
                      self.run_as("alice", f"exec {clients} 200").stdout)

    def test_folders_of_old_jobs_and_clusters_are_removed(self):
        self.run_as("alice", "true")
        mine, = glob.glob(f"{FOLDER}/alice/*")
        lost, former = f"{mine}/logs/999999", f"{FOLDER}/alice/0123abcd"
        copies = f"{mine}/checkpoints/.copies"
        for path in (lost, f"{copies}/0123456789abcdef/999999.0",
                     f"{former}/logs/1", f"{former}-new/logs/1"):
            os.makedirs(path)
        for path in (former, f"{former}/logs"):
            os.utime(path, (0, 0))
        for path, folders, _ in os.walk(f"{FOLDER}/alice"):
            for entry in folders:
                os.chown(os.path.join(path, entry), ALICE, ALICE)
        os.utime(former, (0, 0))
        self.run_as("alice", "pkill -9 -u $(id -u)", rc=None)
        self.worker.kill()
        self.worker = self.start_worker()
        self.run_as("alice", "true")
        while os.path.exists(lost) or os.path.exists(former) or glob.glob(f"{copies}/*/*"):
            e2e.pause()
        self.assertFalse(os.path.exists(f"{copies}/0123456789abcdef"))
        self.assertEqual(sorted(os.listdir(f"{FOLDER}/alice")),
                         sorted([os.path.basename(mine), "0123abcd-new"]))

    def test_new_worker_leaves_what_another_worker_uses(self):
        self.victim()
        mine, = glob.glob(f"{FOLDER}/alice/*")
        life, = glob.glob(f"{mine}/checkpoints/.copies/*")
        copy, former = f"{life}/{self.job}.0", f"{FOLDER}/alice/0123abcd"
        for path in (copy, former):
            os.makedirs(path)
            os.chown(path, ALICE, ALICE)
            os.utime(path, (0, 0))
        used = os.open(former, os.O_RDONLY)
        self.addCleanup(os.close, used)
        fcntl.flock(used, fcntl.LOCK_SH)  # as a worker of another cluster
        self.start_worker("two", count=2)
        self.run_as("alice", "true", "--on", "two")
        self.assertEqual(len(glob.glob(f"{mine}/checkpoints/.copies/*")), 2)
        self.assertTrue(os.path.exists(copy) and os.path.exists(former))

    def test_killed_worker_ends_its_users_tasks(self):
        at = self.victim()
        self.worker.kill()
        self.assertTrue(e2e.wait_gone(int(at["pid"]), e2e.TIMEOUT_S))
        self.assertTrue(e2e.wait_gone(int(at["reaper"]), e2e.TIMEOUT_S))


class Cgroups(Cluster):
    """With cgroups of version 2. Skipped, which is not a pass, where they cannot be mounted."""

    def setUp(self):
        self.mount = tempfile.mkdtemp(prefix="gw-cgroup-")
        if subprocess.run(["mount", "-t", "cgroup2", "none", self.mount], check=False,
                          capture_output=True).returncode:
            self.skipTest("cgroups of version 2 cannot be mounted")
        self.cgroup = os.path.join(self.mount, f"gangway-{os.getpid()}")
        os.mkdir(self.cgroup)
        self.launcher_options = ("--cgroup", self.cgroup)
        super().setUp()

    def tearDown(self):
        super().tearDown()
        with open(os.path.join(self.cgroup, "cgroup.kill"), "w", encoding="ascii") as f:
            f.write("1")
        for path, folders, _ in os.walk(self.cgroup, topdown=False):
            for folder in folders:
                self.remove(os.path.join(path, folder))
        self.remove(self.cgroup)
        subprocess.run(["umount", self.mount], check=True)
        os.rmdir(self.mount)

    @staticmethod
    def remove(path):
        while True:
            try:
                return os.rmdir(path)
            except OSError:
                e2e.pause()

    def test_each_task_has_a_cgroup_that_goes_with_it(self):
        said = [self.run_as(user, "cat /proc/self/cgroup").stdout for user in ("alice", "bob")]
        for user, text in zip(("alice", "bob"), said):
            self.assertRegex(text, rf"(?m)^0::.*/user-{user}/task-\d+-\d+$")
            folder = os.path.join(self.cgroup, f"user-{user}")
            while glob.glob(f"{folder}/task-*"):
                e2e.pause()
            self.assertEqual(os.stat(folder).st_uid, unix_users.USERS[user][0])
        limits = os.path.join(self.cgroup, "user-alice", "cgroup.max.descendants")
        done = self.run_as("alice", f"echo 1 >{self.cgroup}/user-bob/own/cgroup.kill || "
                                    f"echo 1 >{limits} || echo no", rc=None)
        self.assertIn("no", done.stdout)

    def test_worker_without_separate_users_makes_cgroups(self):
        words = ("worker", "--connect", self.client["root"]["GANGWAY_ADDRESS"], "--cgroup")
        for more, text in (((self.dir,), "not the absolute path of a cgroup of version 2"),
                           ((self.cgroup, "--separate-users"), "give it to gangway-launcher")):
            self.assertIn(text, self.gangway(*words, *more, rc=2).stderr)
        done = self.run_program("setpriv", "--reuid=4001", "--clear-groups", e2e.BINARY, *words,
                                self.cgroup, rc=2)
        self.assertIn("give one that this user owns", done.stderr)
        worker = self.start(e2e.BINARY, *words, self.cgroup, "--name", "rooted", "--trust-users",
                            "--dir", os.path.join(self.dir, "rooted"),
                            env={"GANGWAY_TOKEN": self.token})
        while "rooted" not in self.gangway("worker", "list", env=self.client["root"]).stdout:
            e2e.pause()
        done = self.run_as("alice", "cat /proc/self/cgroup", "--on", "rooted")
        self.assertRegex(done.stdout, r"(?m)^0::.*/task-\d+-\d+$")
        worker.kill()

    def test_process_that_survives_its_supervisor_is_killed_by_the_next(self):
        fifo = "/var/lib/survivor.fifo"
        os.mkfifo(fifo)
        os.chown(fifo, ALICE, ALICE)
        self.run_as("alice", f"setsid sh -c 'echo $$ >{fifo}; exec tail -f /dev/null' & "
                             "while ! pgrep -u $(id -u) tail; do :; done; "
                             "kill -9 $(ps -o ppid= -p $PPID) $PPID", "-d")
        pid = int(self.read_fifo(fifo))
        while self.run_as("alice", "id -u", rc=None).stdout != f"{ALICE}\n":
            pass
        self.assertTrue(e2e.wait_gone(pid, e2e.TIMEOUT_S))


class Moves(Cluster):
    """Two hosts: the second one is a pair of mount namespaces with a /run and a /var/lib of its
    own."""

    SAVES = """
        saved=$GANGWAY_CHECKPOINT_DIR/deep/state
        if [ $GANGWAY_RESTART_COUNT != 0 ]; then
            [ $RANK != 0 ] || { cat $saved | head -c 20; stat -c ' %u %a' $saved; }
            exit 0
        fi
        if [ $RANK = 0 ]; then
            mkdir $GANGWAY_CHECKPOINT_DIR/deep
            echo step 7 >$saved.new; truncate -s $BYTES $saved.new; mv $saved.new $saved
            echo $$ >FIFO
        fi
        exec tail -f /dev/null
    """

    def setUp(self):
        super().setUp()
        self.hosts = []  # processes of the second one

    def tearDown(self):
        for process in self.hosts:
            process.kill()
        super().tearDown()

    def second_host(self, lib_size=None):
        """Starts the second host. Returns the folder of its users."""
        host = os.path.join(self.dir, "second")
        lib = os.path.join(host, "lib")
        for name in ("run", "lib"):
            os.makedirs(os.path.join(host, name), 0o755)
        if lib_size:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={lib_size}", "none", lib],
                           check=True)
            self.addCleanup(subprocess.run, ["umount", "-l", lib], check=True)
        script = (f"mount --bind {host}/run /run && mount --bind {lib} /var/lib && "
                  'exec "$@"')
        prefix = ("unshare", "-m", "sh", "-c", script, "sh")
        self.hosts.append(self.start(*prefix, os.path.join(BIN, "gangway-launcher")))
        self.hosts[0].wait_output("ready at")
        self.hosts.append(self.start_worker("two", prefix, 2))
        return os.path.join(lib, "gangway", "users")

    def save(self, byte_count, *options):
        """Starts a gang of alice, which saves once. Returns its program and the pid of rank 0."""
        fifo = self.fifo()
        os.chmod(fifo, 0o666)
        program = self.start(e2e.BINARY, "dispatch", "-n", "2", "--max-restarts", "1",
                             "--env", f"BYTES={byte_count}", *options, "--", "sh", "-c",
                             self.SAVES.replace("FIFO", fifo), env=self.client["alice"], cwd="/")
        return program, int(self.read_fifo(fifo))

    def move(self, byte_count, lib_size=None):
        """A gang saves on the first host, and is to restart on the second one."""
        program, pid = self.save(byte_count)
        users = self.second_host(lib_size)
        self.gangway("worker", "drain", "one", env=self.client["root"])
        os.kill(pid, signal.SIGKILL)
        return program, f"{users}/alice/*/checkpoints"

    def test_gang_resumes_on_another_host_from_its_checkpoint(self):
        program, checkpoints = self.move(1000)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("step 7", program.text)
        self.assertIn(f" {ALICE} 640", program.text)
        folder, = glob.glob(f"{checkpoints}/*/0")
        for path, folders, files in os.walk(folder):
            for name in [".", *folders, *files]:
                self.assertEqual(os.stat(os.path.join(path, name)).st_uid, ALICE)
        self.assertEqual(os.stat(os.path.dirname(folder)).st_mode & 0o77, 0)
        self.assertEqual(glob.glob(f"{checkpoints}/.transfers/*"), [])

    def test_full_disk_fails_the_attempt(self):
        program, _ = self.move(16 << 20, "24m")
        self.assertNotEqual(program.wait(), 0)
        self.assertIn("not enough disk space", program.text)

    def test_killed_process_of_a_transfer_fails_the_attempt(self):
        program, checkpoints = self.move(256 << 20)
        while not (pids := self.writers()):
            self.assertIsNone(program.popen.poll(), program.text)
        os.kill(pids[0], signal.SIGKILL)
        self.assertNotEqual(program.wait(), 0)
        self.assertIn("gangway-files of its user was killed", program.text)
        while glob.glob(f"{checkpoints}/.transfers/*"):
            e2e.pause()

    @staticmethod
    def writers():
        """Processes that write a checkpoint that arrives."""
        pids = []
        for fd in glob.glob("/proc/[0-9]*/fd/*"):
            with contextlib.suppress(OSError):
                if "/.transfers/" in os.readlink(fd):
                    pids.append(int(fd.split("/")[2]))
        return pids

    def test_gang_resumes_from_the_copy_after_the_loss_of_a_host(self):
        self.second_host()
        program, pid = self.save(1000, "--spread", "--max-worker-losses", "2")
        while "has a copy" not in self.gangway("explain", "1/0", env=self.client["alice"]).stdout:
            e2e.pause()
        first = os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
        (self.worker if first else self.hosts[1]).kill()
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("step 7", program.text)


    def test_function_gang_resumes_from_its_checkpoint(self):
        self.second_host()
        folder = os.path.join(self.dir, "counts")
        os.mkdir(folder)
        lines = e2e.Lines(self.fifo("counts/pids"))
        self.addCleanup(lines.close)
        for path in folder, lines.path:
            os.chmod(path, 0o777)
        program = self.start(os.path.join(BIN, "restarts"), folder, "1", cwd="/",
                             env=self.client["alice"])
        pids = dict(map(int, lines.next().split()) for _ in range(2))
        while "of step 4" not in self.gangway("explain", "1/0", env=self.client["alice"]).stdout:
            e2e.pause()
        os.kill(pids[0], signal.SIGKILL)
        self.assertEqual(program.wait(), 0, program.text)
        self.assertIn("sum 24 from step 4", program.text)


PROBES = {
    "home": "cat {home}/secret && echo reached",
    "work_folder": "cat {cwd}/shipped && echo reached",
    "output": "cat {folder}/*/logs/{job}/*.out && echo reached",
    "checkpoint": "cat {saved}/saved && echo reached",
    "folder": "ls {folder}/*/work && echo reached",
    "socket": "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{cwd}/socket\")' "
              "&& echo reached",
    "signal": "kill -0 {pid} && echo reached",
    "supervisor": "kill -0 {reaper} && echo reached",
    "environment": "grep -z SECRET=swordfish /proc/{pid}/environ && echo reached",
    "memory_file": "cat /proc/{pid}/fd/{memory} && echo reached",
    "memory": "python3 -c 'open(\"/proc/{pid}/mem\", \"rb\")' && echo reached",
    "current_folder": "ls /proc/{pid}/cwd/ && echo reached",
    "trace": "python3 -c 'import ctypes; c = ctypes.CDLL(None); "
             "print(\"reached\" * (c.ptrace(0x4206, {pid}, 0, 0) == 0))'",
    "shared_memory": "cat /dev/shm/alice && echo reached",
}
# Things that nobody's task may reach
NOBODYS = {
    "token": "grep -z TOKEN /proc/{worker}/environ && echo reached",
    "descriptors": "ls /proc/{worker}/fd && echo reached",
    "worker_folder": "ls {worker_dir} && echo reached",
    "worker_signal": "kill -0 {worker} && echo reached",
    "launcher": "python3 -c 'import socket, struct; s = socket.socket(socket.AF_UNIX, "
                "socket.SOCK_SEQPACKET); s.connect(\"/run/gangway/launcher.sock\"); "
                "print(\"reached\" * (struct.unpack_from(\"=i\", s.recv(4096))[0] == 0))'",
    "root_program": "/var/lib/set-uid-id -u | grep -x 0 && echo reached",
}
PROBES.update(NOBODYS)


def add_cells():
    for name in PROBES:
        def cell(self, name=name):
            if name == "root_program":
                with open("/usr/bin/id", "rb") as f, open("/var/lib/set-uid-id", "wb") as to:
                    to.write(f.read())
                os.chmod(to.name, 0o4755)
            self.probe(name, control=name not in NOBODYS)
        setattr(Users, f"test_task_of_another_user_does_not_reach_{name}", cell)


add_cells()

if __name__ == "__main__":
    unix_users.enter()
    e2e.main()
