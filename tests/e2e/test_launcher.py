#!/usr/bin/env python3
"""The program that is root: it starts the supervisor as a listed user, and refuses everything
else. Real Unix users, in a namespace of the test's own; without root all tests are skipped."""
import array
import contextlib
import os
import socket
import struct
import subprocess

import e2e
import unix_users

LAUNCHER = os.path.join(os.path.abspath(e2e.BUILD), "bin", "gangway-launcher")
SOCKET = "/run/gangway/launcher.sock"
REQUEST = struct.Struct("=II36s")
REPLY = struct.Struct("=iII256s")
OURS = 901


def packet(user, version=2, kind=0):
    return REQUEST.pack(version, kind, user.encode())


class Launcher(e2e.Case):
    def setUp(self):
        super().setUp()
        unix_users.allow("# who may run tasks here\nalice\n\tcarol:bob # another name\n")
        os.chmod("/etc/gangway", 0o755)
        self.launcher = self.start(LAUNCHER, env={"LD_LIBRARY_PATH": "/tmp", "SECRET": "1"})
        self.launcher.wait_output("ready at")

    def tearDown(self):
        self.launcher.kill()
        super().tearDown()

    @staticmethod
    def connect(asks, uid=OURS):
        os.seteuid(uid)
        try:
            asks.connect(SOCKET)
        finally:
            os.seteuid(0)

    def ask(self, data, fds=None, uid=OURS):
        """The code and text of the answer to a packet, and this test's end of the socket."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.ExitStack() as stack:
            stack.enter_context(theirs)
            sent = [theirs.fileno()] if fds is None else fds
            asks = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            asks.settimeout(e2e.TIMEOUT_S)
            self.connect(asks, uid)
            with contextlib.suppress(BrokenPipeError):
                asks.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                       array.array("i", sent))] if sent else [])
            try:
                answer = asks.recv(4096)
            except ConnectionResetError:  # it answered without reading the request; said once
                answer = asks.recv(4096)
        code, uid, self.pid, folder = REPLY.unpack_from(answer)
        text = answer[REPLY.size:].split(b"\0")[0].decode()
        return code, text, ours, (uid, folder.split(b"\0")[0].decode())

    def refused(self, words, data, **more):
        code, text, ours, _ = self.ask(data, **more)
        ours.close()
        self.assertLess(code, 0, text)
        self.assertIn(words, text)

    def supervisors(self):
        """The pids of the processes that run the supervisor."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read() == b"gangway\0supervisor\0":
                    found.append(int(pid))
        return found

    def test_listed_user_gets_a_supervisor_without_any_right_of_root(self):
        for user, name in (("alice", "alice"), ("carol", "bob")):
            code, text, ours, (uid, folder) = self.ask(packet(user))
            self.assertEqual((code, text), (0, ""))
            self.assertEqual((uid, folder), (unix_users.USERS[name][0],
                                             f"/var/lib/gangway/users/{name}"))
            self.assertEqual((os.stat(folder).st_uid, os.stat(folder).st_mode & 0o777),
                             (uid, 0o700))
            while not self.supervisors():
                e2e.pause()
            pid, = self.supervisors()
            self.assertEqual(pid, self.pid)
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                status = dict(line.rstrip().split(":\t", 1) for line in f if ":\t" in line)
            self.assertEqual(set(status["Uid"].split()), {str(uid)})
            self.assertEqual(set(status["Gid"].split()), {str(uid)})
            self.assertEqual(sorted(map(int, status["Groups"].split())),
                             [uid, unix_users.TEAM] if name == "alice" else [uid])
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(status["Umask"], "0027")
            for rights in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                self.assertEqual(int(status[rights], 16), 0, rights)
            with open(f"/proc/{pid}/environ", encoding="ascii") as f:
                self.assertEqual(set(f.read().strip("\0").split("\0")), {
                    f"HOME=/home/{name}", f"USER={name}", f"LOGNAME={name}", "SHELL=/bin/sh",
                    "PATH=/usr/local/bin:/usr/bin:/bin", "GANGWAY_SEPARATE=1"})
            for fd in (0, 1, 2):
                self.assertEqual(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")
            ours.close()  # the worker ends
            self.assertTrue(e2e.wait_gone(pid, e2e.TIMEOUT_S))

    def test_folder_for_sockets_of_tasks_belongs_to_the_worker(self):
        status = os.stat("/run/gangway/tasks")
        self.assertEqual((status.st_uid, status.st_mode & 0o777), (OURS, 0o711))

    def test_group_lists_its_members(self):
        unix_users.allow("@team\n")
        code, text, ours, _ = self.ask(packet("alice"))
        self.assertEqual((code, text), (0, ""))
        ours.close()
        self.refused("not in the list", packet("bob"))

    def test_requests_of_others_are_refused(self):
        self.refused("only a worker that runs as", packet("alice"), uid=4002)
        self.refused("only a worker that runs as", packet("alice"), uid=0)

    def test_users_without_permission_are_refused(self):
        self.refused("not in the list", packet("bob"))
        self.refused("not in the list", packet("root"))
        for name, words in (("root", "is 0"), ("toor", "is 0"), ("zero", "is 0"),
                            ("wheeled", "group with the number 0"), ("system", "below UID_MIN"),
                            ("gangway", "below UID_MIN"), ("nobody", "no user"),
                            ("ghost", "no Unix user ghost")):
            unix_users.allow(f"{name}\neve:{name}\n")
            self.refused(words, packet(name))
            self.refused(words, packet("eve"))
        unix_users.write("/etc/login.defs", "UID_MIN 4002\n")
        unix_users.allow("alice\n")
        self.refused("below UID_MIN", packet("alice"))
        unix_users.write("/etc/login.defs", "UID_MIN\t\t1000\nUMASK\t\t027\n")

    def test_lists_that_others_could_have_written_are_refused(self):
        path = "/etc/gangway/users"
        for change in (lambda: os.chown(path, 4002, 0), lambda: os.chmod(path, 0o664),
                       lambda: os.chmod(path, 0o646), lambda: os.chmod("/etc/gangway", 0o777)):
            change()
            self.refused("must belong to root", packet("alice"))
            os.chmod("/etc/gangway", 0o755)
            os.unlink(path)
            unix_users.allow("alice\n")
        os.rename(path, "/etc/gangway/other")
        self.refused("is missing", packet("alice"))
        os.symlink("other", path)
        self.refused("cannot open", packet("alice"))
        os.unlink(path)
        os.mkfifo(path, 0o600)
        self.refused("not a regular file", packet("alice"))
        os.unlink(path)
        for line in ("alice bob", "a:b:c", ":", "@", "-alice", "alice:", "a/b", "x" * 33, "\0"):
            unix_users.allow(f"alice\n{line}\n")
            self.refused("not a text" if line == "\0" else "line 2", packet("alice"))

    def test_malformed_requests_are_refused(self):
        for name in ("", "../alice", "/alice", "a b", "-alice", ".alice", "a\nb", "a:b", "x" * 33,
                     "x" * 36):
            self.refused("no valid name", packet(name))
        self.refused("version", packet("alice", version=1))
        self.refused("unknown kind", packet("alice", kind=2))
        for data in (b"", b"x", packet("alice")[:-1], packet("alice") + b"x", b"x" * 3000):
            self.refused("a request has", data)

    def test_wrong_descriptors_are_refused(self):
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with a, b, open("/etc/passwd", encoding="ascii") as file, \
                socket.create_server(("127.0.0.1", 0)) as tcp, \
                socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lonely, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram:
            for fds in ([], [a.fileno(), b.fileno()], [a.fileno()] * 9):
                self.refused("one descriptor", packet("alice"), fds=fds)
            for fd in (file, tcp, datagram, lonely):
                self.refused("connected unix stream socket", packet("alice"), fds=[fd.fileno()])

    def test_folders_of_others_are_refused(self):
        path = "/var/lib/gangway/users/alice"
        with contextlib.suppress(OSError):
            os.rmdir(path)
        os.mkdir(path)
        os.chown(path, 4002, 4002)
        self.refused("not a folder of user alice", packet("alice"))
        os.rmdir(path)
        os.symlink("/var/lib/gangway", path)
        self.refused("not a folder of user alice", packet("alice"))
        os.unlink(path)
        os.chmod("/var/lib/gangway/users", 0o777)
        self.refused("must belong to root", packet("alice"))
        os.chmod("/var/lib/gangway/users", 0o755)

    def test_silent_and_closed_connections_delay_nobody_for_long(self):
        os.seteuid(OURS)
        silent = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(3)]
        for one in silent:
            one.connect(SOCKET)
        os.seteuid(0)
        silent[0].close()
        code, text, ours, _ = self.ask(packet("alice"))
        self.assertEqual((code, text), (0, ""))
        for one in (*silent[1:], ours):
            one.close()

    def test_peers_without_a_request_do_not_fill_the_log(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as looks:
            self.connect(looks)
        for _ in range(200):
            self.refused("only a worker", packet("alice"), uid=unix_users.USERS["alice"][0])
        self.ask(packet("alice"))[2].close()
        self.launcher.wait_output("started")
        self.assertNotIn("bytes", self.launcher.text)
        self.assertLess(self.launcher.text.count("refused"), 20)

    def test_it_runs_only_as_root_and_beside_a_program_of_root(self):
        done = subprocess.run(["setpriv", "--reuid=4001", "--clear-groups", LAUNCHER], check=False,
                              capture_output=True, text=True, env=self.env)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("must be started as root", done.stderr)
        self.assertIn("no arguments", self.run_program(LAUNCHER, "--help", rc=2).stderr)
        for path in (self.dir, "relative", "/nowhere"):
            self.assertIn("not the absolute path of a cgroup of version 2",
                          self.run_program(LAUNCHER, "--cgroup", path, rc=1).stderr)
        folder = os.path.join(self.dir, "copy")
        os.mkdir(folder)
        for name in ("gangway", "gangway-launcher"):
            with open(os.path.join(folder, name), "wb") as to, \
                    open(os.path.join(os.path.dirname(LAUNCHER), name), "rb") as f:
                to.write(f.read())
            os.chmod(to.name, 0o755)
        os.chmod(os.path.join(folder, "gangway"), 0o775)
        said = self.run_program(os.path.join(folder, "gangway-launcher"), rc=1).stderr
        self.assertIn("must belong to root", said)


if __name__ == "__main__":
    unix_users.enter()
    e2e.main()
