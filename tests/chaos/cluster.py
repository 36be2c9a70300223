"""A cluster for trials: a scheduler, and workers that reach it by TLS over links that can be
broken, with GPUs simulated by a fake NVML; and the resources counted while nothing runs."""
import collections
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "e2e"))
import e2e  # noqa: E402
from links import Link, Network, hold  # noqa: E402

SLOTS = 3  # of a worker
GPUS, GPU_BYTES = 4, 16 << 30  # of the machine: one worker has them
DISK_BYTES = 48 << 20  # for the scheduler's state, if a disk can be mounted
WAL_HEADER, FRAME_HEADER = 32, 24  # of SQLite's log
QUIET_S = 30  # from the end of a trial until everything is free again
FDS_MORE = 8  # than in the first quiet moments, for temporary connections
RSS_BYTES_MORE, RSS_BYTES_TRIAL = 24 << 20, 100 << 10


class Failed(Exception):
    """A property that must hold does not."""


def ppid_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def descends(pid, top):
    while pid > 1 and pid != top:
        pid = ppid_of(pid)
    return pid == top


def is_stopped(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "T"
    except OSError:
        return False


def fds_of(pid):
    try:
        return os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []


def rss_of(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="utf-8") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def listening_inodes():
    found = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{name}", encoding="utf-8") as f:
            for line in f.readlines()[1:]:
                words = line.split()
                if words[3] == "0A":
                    found.add(words[9])
    return found


class Daemon(e2e.Process):
    """A process of the cluster; its output is its log."""

    def drain(self):
        while self._read(time.monotonic()):
            pass

    def end(self, timeout_s=60):
        try:
            return self.wait(timeout_s)
        except AssertionError as late:
            raise Failed(str(late)[:2000]) from None


class Worker:
    def __init__(self, cluster, name):
        self.cluster, self.name, self.lives = cluster, name, 0
        self.link = Link(cluster.network, cluster.address)
        self.machine = os.path.join(cluster.dir, f"machine-{name}")
        self.folder = cluster.folder
        if cluster.apart:
            self.folder += f"-{name}"
            os.mkdir(self.folder, 0o700)
        self.gpus_used(0)
        self.start()

    def gpus_used(self, used):
        """The used memory of its GPUs according to its NVML."""
        with open(self.machine + ".new", "w", encoding="utf-8") as f:
            for i in range(GPUS):
                f.write(f"gpu GPU-{self.name}-{i} memory={GPU_BYTES} used={used} nvlink=1\n")
        os.rename(self.machine + ".new", self.machine)

    def start(self):
        self.lives += 1
        self.process = Daemon(
            [e2e.BINARY, "worker", "--dir", self.folder, "--connect", self.link.address,
             "--name", self.name, "--slots", str(SLOTS), "--trust-users"], cwd=self.cluster.dir,
            env=dict(self.cluster.env, GANGWAY_TOKEN=self.cluster.worker_token,
                     FAKE_NVML=self.machine))
        self.process.wait_output("other workers reach this one")

    def supervisor(self):
        """Its supervisor process; None: there is none now."""
        for pid in self.cluster.pids():
            if ppid_of(pid) == self.process.pid and " supervisor" in e2e.command_of(pid):
                return pid
        return None

    def restart(self):
        """Restarts it after its process was killed or ended by itself."""
        code = self.process.end()
        self.process.popen.stdout.close()
        self.start()
        return code


class Cluster:
    def __init__(self, apart=False, config=None):
        """`apart`: as if the workers were on several hosts, whose folders are not shared.
        `config`: the text of the scheduler's configuration file."""
        self.apart, self.config = apart, config
        self.dir = tempfile.mkdtemp(prefix="gw-chaos-", dir=e2e.lasting_folder())
        self.mark = uuid.uuid4().hex
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith("GANGWAY_") and k != "XDG_STATE_HOME"}
        for name, folder in (("HOME", "home"), ("XDG_RUNTIME_DIR", "run"), ("TMPDIR", "tmp"),
                             ("XDG_CACHE_HOME", "cache")):
            self.env[name] = os.path.join(self.dir, folder)
            os.mkdir(self.env[name], 0o700)
        self.folder = os.path.join(self.dir, "workers")
        os.mkdir(self.folder, 0o700)
        self.env.update({e2e.MARK: self.mark, "GANGWAY_BINARY": e2e.BINARY,
                         "GANGWAY_NVML": os.path.join(e2e.BUILD, "lib", "libfake_nvml.so"),
                         "PATH": f"{os.path.dirname(e2e.BINARY)}:{os.environ['PATH']}"})
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            given = [self.env[name]] if name in self.env else []
            self.env[name] = ":".join(given + [f"log_path={self.dir}/sanitizer"])
        self.disk = os.path.join(self.dir, "disk")
        os.mkdir(self.disk, 0o700)
        self.has_disk = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "tmpfs", self.disk],
            capture_output=True, check=False).returncode == 0
        self.network, self.scheduler, self.workers = Network(), None, []
        self.trials, self.base, self.rss, self.files = 0, {}, {}, None
        self.holder = None  # reserves the port of a scheduler that is gone
        self.client_env = dict(self.env)

    def open(self, workers):
        """Opens it; the caller calls close() in any case."""
        admin = self.token("root", "admin")
        self.worker_token = self.token("w", "worker")
        self.start_scheduler("127.0.0.1")
        self.client_env.update(GANGWAY_ADDRESS=self.address, GANGWAY_TOKEN=admin)
        for i in range(workers):
            self.workers.append(Worker(self, f"w{i}"))
        self.wait_quiet()

    def start_scheduler(self, listen):
        words = []
        if self.config:
            words = ["--config", os.path.join(self.dir, "gangway.conf")]
            with open(words[1], "w", encoding="utf-8") as file:
                file.write(self.config)
        self.scheduler = Daemon([e2e.BINARY, "scheduler", "--listen", listen, "--state",
                                 os.path.join(self.disk, "state"), *words], env=self.env,
                                cwd=self.dir)
        self.address = self.scheduler.wait_output(r"listening at (\S+), by TLS").group(1)

    def kill_scheduler(self):
        """Kills the scheduler; its port refuses connections until revive_scheduler()."""
        self.scheduler.kill()
        self.scheduler.end()
        self.scheduler.popen.stdout.close()
        self.holder = hold(self.address)
        for worker in self.workers:
            worker.link.refuse()

    def revive_scheduler(self):
        """Starts the next scheduler at the same port with the state on disk."""
        self.start_scheduler(self.address)
        self.holder.close()
        self.holder = None
        for worker in self.workers:
            worker.link.accept_again()

    def tear_log(self, pick):
        """Simulates a power failure during a write: an uncommitted part follows the committed
        bytes; at most one commit is under way. Returns the number of bytes."""
        path = os.path.join(self.disk, "state", "facts.db-wal")
        try:
            with open(path, "r+b") as log:
                page_bytes = int.from_bytes(log.read(WAL_HEADER)[8:12], "big")
                frame_bytes = FRAME_HEADER + page_bytes
                end = log.seek(0, os.SEEK_END)
                if end < WAL_HEADER + frame_bytes:
                    return 0
                log.seek(end - frame_bytes)
                frame = log.read()
                torn = frame * pick.randint(0, 1) + frame[:pick.randint(1, frame_bytes - 1)]
                return log.write(torn)
        except FileNotFoundError:
            return 0

    def fill_disk(self):
        """Fills the disk of the scheduler's state; returns whether that worked."""
        if not self.has_disk:
            return False
        with open(os.path.join(self.disk, "ballast"), "wb", buffering=0) as ballast:
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(4096))
        return True

    def submit_one(self):
        """Submits a task that ends at once: its job; None: there is no room for it."""
        done = self.gangway("submit", "-d", "--", "true", well=False)
        if done.returncode and "no disk space for another job" not in done.stderr:
            raise Failed(f"the disk is full, and submit says {done.returncode}: {done.stderr}")
        return None if done.returncode else done.stdout.split()[-1]

    def free_disk(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.disk, "ballast"))

    def is_headless(self):
        """Whether no scheduler can be asked now."""
        return self.holder is not None or is_stopped(self.scheduler.pid)

    def token(self, user, role):
        return json.loads(self.gangway("token", "create", "--user", user, "--role", role, "--json",
                                       env=self.env).stdout)["token"]

    def gangway(self, *words, env=None, timeout_s=60, well=True):
        try:
            done = subprocess.run([e2e.BINARY, *words], env=env or self.client_env, cwd=self.dir,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"gangway {' '.join(words)}: no answer in {timeout_s} s") from None
        if well and done.returncode != 0:
            raise Failed(f"gangway {' '.join(words)}: {done.returncode}: {done.stderr}")
        return done

    def ask(self, *words):
        return json.loads(self.gangway(*words, "--json").stdout)

    def pids(self):
        return e2e.pids_marked(self.mark)

    # -- What is counted when nothing runs ---------------------------------------------------------

    def restart_gone(self):
        """Restarts workers that were killed or ended, if there is a scheduler for them."""
        return [] if self.holder else [(worker, worker.restart()) for worker in self.workers
                if worker.process.popen.poll() is not None]

    def not_quiet(self):
        """The resources still in use; None: there are none."""
        status = self.ask("status")
        count = len(self.workers)
        gpus = GPUS * (count if self.apart else 1)
        wanted = {"workers": count, "slots": count * SLOTS, "slots_free": count * SLOTS,
                  "gpus": gpus, "gpus_free": gpus}
        differs = {k: (status[k], v) for k, v in wanted.items() if status[k] != v}
        running = {k: status["tasks"][k] for k in ("waiting", "running") if status["tasks"][k]}
        if differs or running:
            return f"status (is, should be): {differs} {running}"
        taken = [gpu for gpu in self.ask("gpu", "list") if gpu["used_by"]]
        if taken:
            return f"GPUs are used: {taken}"
        ports = self.listening()
        if ports != 1 + count:
            return f"{ports} sockets listen, not {1 + count}"
        return None

    def listening(self):
        inodes = listening_inodes()
        found = set()
        for pid in self.pids():
            for fd in fds_of(pid):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{fd}")
                    if target.startswith("socket:[") and target[8:-1] in inodes:
                        found.add(target)
        return len(found)

    def wait_quiet(self, also=lambda: None):
        """Waits until everything is free, and `also` reports nothing either."""
        deadline = time.monotonic() + QUIET_S
        while True:
            self.restart_gone()
            busy = self.not_quiet() or also() or self.grown()
            if not busy:
                return
            if time.monotonic() > deadline:
                raise Failed(f"{QUIET_S} s after it ended: {busy}")
            self.drain()

    def drain(self):
        """Reads the output of its daemons, which would wait for that."""
        for process in [self.scheduler] + [worker.process for worker in self.workers]:
            process.drain()

    def daemons(self):
        found = {"scheduler": self.scheduler.pid}
        for worker in self.workers:
            found[worker.name] = worker.process.pid
            supervisor = worker.supervisor()
            if supervisor:
                found[worker.name + "'s supervisor"] = supervisor
        return found

    def grown(self):
        """Descriptors and files beyond those of the first quiet moments."""
        for name, pid in self.daemons().items():
            fds, seen = len(fds_of(pid)), self.base.setdefault(pid, collections.Counter())
            if seen["trials"] < 4:
                seen["fds"] = max(seen["fds"], fds)
                seen["trials"] += 1
                self.rss[pid] = rss_of(pid)
            elif fds > seen["fds"] + FDS_MORE:
                return f"{name} has {fds} descriptors, and had {seen['fds']}"
            more = rss_of(pid) - self.rss[pid]
            if not e2e.SANITIZED and more > RSS_BYTES_MORE + RSS_BYTES_TRIAL * self.trials:
                return f"{name} has {more >> 20} MiB more than in the beginning"
        left = os.listdir(self.env["TMPDIR"])
        if left:
            return f"files in TMPDIR: {left}"
        return None

    # -- Its end -----------------------------------------------------------------------------------

    def reports(self):
        text = ""
        for name in sorted(os.listdir(self.dir)):
            if name.startswith("sanitizer."):
                with open(os.path.join(self.dir, name), encoding="utf-8", errors="replace") as f:
                    text += f.read()
        return text

    def down(self):
        """Ends the cluster as a user would; nothing may be left."""
        self.gangway("down")
        self.leave([("scheduler", self.scheduler)] + [(w.name, w.process) for w in self.workers])
        left = [os.path.join(at, name) for at, _, names in os.walk(self.env["XDG_RUNTIME_DIR"])
                for name in names if name.endswith(".sock")]
        if left:
            raise Failed(f"sockets are left: {left}")

    def lose_scheduler(self):
        """kill -9 of the scheduler: its tasks end, and its workers end as they are told."""
        self.scheduler.kill()
        self.scheduler.end()
        for worker in self.workers:
            worker.process.kill(signal.SIGTERM)
        self.leave([(worker.name, worker.process) for worker in self.workers])

    def leave(self, processes):
        codes = {name: process.end() for name, process in processes}
        if any(codes.values()):
            raise Failed(f"exit codes at the end: {codes}")
        deadline = time.monotonic() + 10
        for pid in self.pids():
            if not e2e.wait_gone(pid, max(0, deadline - time.monotonic())):
                raise Failed(f"left at the end: {pid} {e2e.command_of(pid)}")

    def logs(self):
        """The output of its processes, for the analysis of a failure."""
        text = ""
        for name, process in [("scheduler", self.scheduler)] + [(w.name, w.process)
                                                                for w in self.workers]:
            process.drain()
            text += f"---- {name}\n{process.text[-20000:]}\n"
        return text

    def close(self):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in [self.scheduler] + [worker.process for worker in self.workers]:
            if process:
                process.popen.wait()
                process.popen.stdout.close()
        for worker in self.workers:
            worker.link.close()
        self.network.close()
        if self.has_disk:
            subprocess.run(["umount", self.disk], check=True)
        shutil.rmtree(self.dir, ignore_errors=True)
