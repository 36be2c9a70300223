#!/usr/bin/env python3
"""Clusters that `gangway up --hosts` starts on several machines. Each "host" here has folders of
its own."""
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import e2e


class UpHosts(e2e.Case):
    """`gangway up --hosts` with a replacement for ssh, which runs the command here, in the
    environment of another machine."""

    def setUp(self):
        super().setUp()
        self.env["GANGWAY_RSH"] = self.write("rsh", f"""#!/bin/sh
            [ "$1" != gone ] || {{ echo "ssh: no way to $1" >&2; exit 255; }}
            no="ssh: Could not resolve hostname"
            [ "$1" != nobody ] || {{ echo "$no nobody: -2" >&2; exit 255; }}
            [ "$1" != silent ] || exit 0
            [ "$1" != slow ] || {{ echo there > "{self.dir}/fifo"; exec cat > /dev/null; }}
            mkdir -p "{self.dir}/$1/run" && chmod 700 "{self.dir}/$1/run"
            exec env -i HOME="{self.dir}/$1" XDG_RUNTIME_DIR="{self.dir}/$1/run" PATH="$PATH" \\
                TMPDIR="$TMPDIR" {e2e.MARK}="${e2e.MARK}" ASAN_OPTIONS="$ASAN_OPTIONS" \\
                UBSAN_OPTIONS="$UBSAN_OPTIONS" TSAN_OPTIONS="$TSAN_OPTIONS" sh -c "$2"
            """) + " "

    def test_up_hosts_starts_workers_and_runs_a_gang(self):
        """The workers have the right slots, a gang runs on both, no secret is visible, and all
        of them end."""
        self.up("--hosts", "127.0.0.1:2,b:1")
        rows = self.gangway_json("worker", "list")
        self.assertEqual(sorted((row["name"], row["slots"]) for row in rows),
                         [("127.0.0.1", 2), ("b", 1)])
        done = self.gangway("dispatch", "-n", "3", "--", "sh", "-c", "echo $RANK $GROUP_RANK")
        ranks = sorted(line.split()[1:] for line in done.stdout.splitlines())
        self.assertEqual([rank for rank, _ in ranks], ["0", "1", "2"])
        self.assertEqual({group for _, group in ranks}, {"0", "1"})
        path = os.path.join(self.env["HOME"], ".config/gangway/tokens")
        with open(path, encoding="utf-8") as f:
            tokens = f.read()
        secrets = re.findall(r"[0-9a-f]{64}", tokens)
        self.assertEqual(len(secrets), 1)
        for pid in e2e.pids_marked(self.mark):
            for name in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as f:
                    self.assertNotIn(secrets[0], f.read())
        self.gangway("down")
        self.assert_gone()
        self.up("--hosts", "127.0.0.1:2", "--slots", "1")  # with the same token
        self.assertEqual(self.gangway_json("status")["slots"], 3)
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read(), tokens)

    def test_failing_host_is_named_and_nothing_stays(self):
        """The error has the host's name and its last output, and no process stays; a bad list
        starts none."""
        listen = ("up", "--listen", "127.0.0.1", "--hosts")
        done = self.gangway(*listen, "a:1,gone:2", rc=1)
        self.assertIn("no worker at gone: ssh: no way to gone", done.stderr)
        self.assert_gone()
        done = self.gangway(*listen, "nobody", rc=1)
        self.assertIn("no worker at nobody: ssh: Could not resolve hostname nobody: -2: check the "
                      "name, in --hosts or in ~/.ssh/config", done.stderr)
        done = self.gangway("up", "--hosts", "nobody.invalid:2", rc=2)
        self.assertIn("this machine cannot resolve the host name nobody.invalid: check the name",
                      done.stderr)
        env = {"GANGWAY_REMOTE_BINARY": "/nowhere/gangway"}
        self.assertIn("no worker at a: GANGWAY_REMOTE_BINARY: there is no /nowhere/gangway",
                      self.gangway(*listen, "a:1", env=env, rc=1).stderr)
        env = {"GANGWAY_RSH": "/nowhere/ssh"}
        self.assertIn("a: cannot start /nowhere/ssh",
                      self.gangway(*listen, "a:1", env=env, rc=1).stderr)
        self.assertIn("a is listed twice", self.gangway("up", "--hosts", "a:1,a:2", rc=2).stderr)
        self.assertIn("--slots", self.gangway(*listen, "a:1", "--resources", "x=1", rc=2).stderr)
        self.assert_gone()
        self.gangway("status", rc=3)

    def processes(self, words):
        return {pid for pid in e2e.pids_marked(self.mark) if words in e2e.command_of(pid)}

    def kill_scheduler(self):
        for pid in self.processes("scheduler --dir"):
            os.kill(pid, signal.SIGKILL)
            self.assert_gone([pid])

    def listens(self):
        path = self.cluster("address")
        with open(path, encoding="utf-8") as f:
            return f.readline().strip()

    def test_restarted_up_hosts_readopts_its_workers(self):
        """The next scheduler listens at the same address and has the same workers with their
        tasks."""
        up = "--listen", "127.0.0.1", "--hosts", "a:1,b:1"
        self.up(*up)
        told, go = e2e.Lines(self.fifo()), self.fifo("go")
        self.addCleanup(told.close)
        self.gangway("dispatch", "-d", "-n", "2", "--", "sh", "-c",
                     f"echo $$ > {told.path}; read x < {go}; exit 0")
        ranks = [int(told.next()) for _ in range(2)]
        listens, workers = self.listens(), self.processes("--background")
        self.assertEqual(len(workers), 2)
        self.kill_scheduler()
        self.up(*up)
        self.assertEqual((self.listens(), self.processes("--background")), (listens, workers))
        self.assertEqual(self.gangway_json("status")["slots"], 2)
        self.assertEqual([e2e.wait_gone(pid, 0) for pid in ranks], [False, False])
        with open(go, "w", encoding="utf-8") as f:
            f.write("1\n1\n")
            f.flush()
            self.gangway("wait", "1")
        self.kill_scheduler()
        self.up("--listen", "127.0.0.1", "--hosts", "a:2")  # with other slots: another worker
        rows, deadline = [], time.monotonic() + e2e.TIMEOUT_S
        while "b" not in [row["name"] for row in rows]:  # it finds its cluster by itself
            self.assertLess(time.monotonic(), deadline, "b does not come back")
            rows = self.gangway_json("worker", "list")
        self.assertIn(("a", 2), [(row["name"], row["slots"]) for row in rows])
        self.assertNotIn(("a", 1), [(row["name"], row["slots"]) for row in rows])

    def test_restarted_scheduler_takes_another_port_if_needed(self):
        """The scheduler reports that its port is taken and uses another."""
        self.up("--listen", "127.0.0.1", "--hosts", "a:1")
        listens = self.listens()
        self.gangway("down")
        self.assert_gone()
        host, port = listens.split(":")
        with socket.create_server((host, int(port))):
            done = self.gangway("up", "--listen", "127.0.0.1", "--slots", "1")
        self.assertIn(f"another process listens at {listens}, the earlier", done.stderr)
        self.assertNotEqual(self.listens(), listens)

    def test_remote_worker_ends_after_the_orphan_timeout(self):
        """A worker without a scheduler does not wait without end."""
        self.up("--listen", "127.0.0.1", "--hosts", "a:1", "--orphan-timeout", "1s")
        self.kill_scheduler()
        self.assert_gone()

    def test_host_that_starts_no_worker_is_an_error(self):
        """The success of its start command is not enough."""
        done = self.gangway("up", "--listen", "127.0.0.1", "--hosts", "a:1,silent:1", rc=1)
        self.assertIn("no worker at silent: the command that starts it there succeeded",
                      done.stderr)
        self.assert_gone()

    def test_down_during_up_hosts_ends_up(self):
        """The error blames no host, and `up` does not wait any longer."""
        fifo = self.fifo()
        up = self.start(e2e.BINARY, "up", "--listen", "127.0.0.1", "--hosts", "a:1,slow:1")
        self.read_fifo(fifo)
        self.gangway("down")
        self.assertEqual(up.wait(), 3)
        self.assertIn("the cluster ended before all hosts had workers", up.text)
        self.assert_gone()

    def test_scheduler_death_during_up_hosts_ends_local_workers(self):
        """The local worker, which would otherwise wait for the next scheduler, ends, too."""
        fifo = self.fifo()
        up = self.start(e2e.BINARY, "up", "--listen", "127.0.0.1", "--slots", "1", "--hosts",
                        "slow:1")
        self.read_fifo(fifo)
        self.kill_scheduler()
        self.assertEqual(up.wait(), 3, up.text)
        self.assert_gone()
        self.assertFalse(os.path.lexists(self.cluster("scheduler.sock")))

    def test_failed_up_hosts_ends_only_its_own_cluster(self):
        """The failed cluster is taken down, even if GANGWAY_ADDRESS names another cluster or
        none."""
        home = {name: os.path.join(self.dir, name) for name in ("HOME", "XDG_RUNTIME_DIR")}
        for folder in home.values():
            os.mkdir(folder, 0o700)
        self.gangway("up", "--slots", "1", env=home)
        others = e2e.pids_marked(self.mark)
        for place in self.cluster("scheduler.sock", env=home), "/nowhere":
            done = self.gangway("up", "--listen", "127.0.0.1", "--slots", "1", "--hosts", "gone:1",
                                env={"GANGWAY_ADDRESS": "unix:" + place}, rc=1)
            self.assertIn("no worker at gone", done.stderr)
            self.assertNotIn("/nowhere", done.stderr)
            self.assert_gone(set(e2e.pids_marked(self.mark)) - set(others))
            self.assertFalse(os.path.lexists(self.cluster("scheduler.sock")))
        self.assertEqual(self.gangway_json("status", env=home)["workers"], 1)
        self.gangway("down", env=home)

    def test_interrupted_up_hosts_leaves_nothing(self):
        """Everything that was started is taken down again."""
        fifo = self.fifo()
        up = self.start(e2e.BINARY, "up", "--listen", "127.0.0.1", "--hosts", "a:1,slow:1")
        self.read_fifo(fifo)
        up.kill(signal.SIGINT)
        self.assertEqual(up.wait(), 130)
        self.assert_gone()


class Ssh(e2e.Case):
    """`gangway up --hosts` by a real ssh to a real sshd on loopback, with its own keys, config and
    port, for the user who runs this."""

    SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")

    def setUp(self):
        if not self.SSHD or not shutil.which("ssh"):
            self.skipTest("ssh and sshd are not installed")
        super().setUp()
        self.far = os.path.join(self.dir, "far")
        os.mkdir(self.far, 0o700)
        for key in "host", "user":
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f",
                            self.path(key)], check=True, stdin=subprocess.DEVNULL)
        shutil.copy(self.path("user.pub"), self.path("authorized"))
        surroundings = {"HOME": self.far, "XDG_RUNTIME_DIR": self.far, e2e.MARK: self.mark}
        for name in ("TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            surroundings[name] = self.env[name]
        variables = " ".join(f'"{name}={value}"' for name, value in surroundings.items())
        self.write("sshd_config", f"""HostKey {self.path("host")}
            AuthorizedKeysFile {self.path("authorized")}
            PidFile none
            StrictModes no
            UsePAM no
            PermitRootLogin prohibit-password
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            SetEnv {variables}
            """)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.trust("host")
        self.write("ssh_config", f"""Host *
            Port {self.listener.getsockname()[1]}
            User {pwd.getpwuid(os.getuid()).pw_name}
            IdentityFile {self.path("user")}
            IdentitiesOnly yes
            IdentityAgent none
            GlobalKnownHostsFile none
            UserKnownHostsFile {self.path("known")}
            StrictHostKeyChecking yes
            BatchMode yes
            LogLevel ERROR
            """)
        self.env["GANGWAY_RSH"] = f"ssh -F {self.path('ssh_config')}"
        self.servers = []
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        self.addCleanup(self.stop_serving)

    def path(self, name):
        return os.path.join(self.dir, name)

    def trust(self, key):
        """The host key that ssh accepts for this host."""
        with open(self.path(f"{key}.pub"), encoding="utf-8") as f:
            port = self.listener.getsockname()[1]
            self.write("known", f"[127.0.0.1]:{port} {f.read()}")

    def serve(self):
        """Starts an sshd for each connection, until the listener is shut down."""
        argv = [self.SSHD, "-i", "-f", self.path("sshd_config")]
        if os.getuid() == 0 and not os.path.isdir("/run/sshd"):  # sshd wants an empty folder there
            argv = ["unshare", "-m", "sh", "-c",
                    'mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$@"',
                    "sh"] + argv
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.servers.append(subprocess.Popen(argv, stdin=connection, stdout=connection,
                                                     stderr=subprocess.DEVNULL, env=self.env))

    def stop_serving(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        for server in self.servers:
            server.wait()

    def test_worker_started_by_real_ssh_runs_a_gang(self):
        """A worker started by ssh runs its part of a gang and ends with the cluster. If ssh
        refuses the login or the host key is wrong, the error quotes ssh and nothing stays."""
        probe = subprocess.run(self.env["GANGWAY_RSH"].split() + ["127.0.0.1", "true"],
                               env=self.env, capture_output=True, text=True, check=False,
                               stdin=subprocess.DEVNULL, timeout=e2e.TIMEOUT_S)
        if probe.returncode:
            self.skipTest(f"sshd does not serve this user here: {probe.stderr.strip()}")
        self.up("--hosts", "127.0.0.1:2")
        rows = self.gangway_json("worker", "list")
        self.assertEqual([(row["name"], row["slots"]) for row in rows], [("127.0.0.1", 2)])
        self.assertIn("gangway", os.listdir(self.far))
        done = self.gangway("dispatch", "-n", "2", "--", "sh", "-c", "echo $RANK $GROUP_RANK")
        self.assertEqual(sorted(line.split()[1:] for line in done.stdout.splitlines()),
                         [["0", "0"], ["1", "0"]])
        self.gangway("down")
        self.is_up = False
        up = "up", "--hosts", "127.0.0.1:2"
        self.trust("user")
        self.assertIn("no worker at 127.0.0.1: Host key verification failed.",
                      self.gangway(*up, rc=1).stderr)
        self.trust("host")
        self.write("authorized", "")
        self.assertRegex(self.gangway(*up, rc=1).stderr,
                         r"no worker at 127\.0\.0\.1: .*Permission denied \(publickey\)")
        self.assert_gone()


if __name__ == "__main__":
    e2e.main()
