#!/usr/bin/env python3
"""Commands for a person beside a running task: `exec`, `submit --pty`, `get`, `forward`."""
import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios

import e2e

SERVER = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1], "w").write(f"{server.getsockname()[1]}\\n")
while True:
    taken, _ = server.accept()
    data = b""
    while True:
        piece = taken.recv(65536)
        if not piece:
            break
        data += piece
    taken.sendall(data[::-1])
    taken.close()
"""


class Terminal:
    """A terminal, and a command that controls it."""

    def __init__(self, case, *argv, rows=30, columns=100):
        self.case = case
        self.primary, secondary = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen([e2e.BINARY, *argv], stdin=secondary, stdout=secondary,
                                        stderr=secondary, env=case.env, cwd=case.dir,
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(secondary)
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.primary, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.primary, text.encode())

    def wait_for(self, text):
        while text not in self.text:
            ready, _, _ = select.select([self.primary], [], [], e2e.TIMEOUT_S)
            self.case.assertTrue(ready, f"{text!r} did not come: {self.text!r}")
            self.text += os.read(self.primary, 65536).decode(errors="replace")
        self.text = self.text.split(text, 1)[1]

    def wait(self):
        """Reads the rest, and checks that the terminal is in its initial state."""
        while True:
            try:
                if not os.read(self.primary, 65536):
                    break
            except OSError:
                break
        code = self.process.wait(e2e.TIMEOUT_S)
        os.close(self.primary)
        return code


class Tunnels(e2e.Case):
    def held(self, *options, script="exec cat {fifo}"):
        """A job whose task runs until it is cancelled."""
        job = self.gangway("submit", "-d", *options, "--", "sh", "-c",
                           script.format(fifo=self.fifo("held"))).stdout.strip()
        return job

    def test_exec_runs_beside_a_command_with_its_environment(self):
        self.up("--slots", "2")
        job = self.held("--env", "COLOUR=blue")
        said = self.gangway("exec", "--wait", job, "--", "sh", "-c",
                            "echo $COLOUR; pwd; echo {pid} {rank} >&2; exit 7", rc=7)
        self.assertEqual(said.stdout.splitlines(), ["blue", os.path.realpath(self.dir)])
        pid, rank = said.stderr.split()
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), os.path.realpath(self.dir))
        self.assertEqual(rank, "0")
        large = os.urandom(3 << 20)
        echoed = subprocess.run([e2e.BINARY, "exec", job, "--", "cat"], input=large,
                                capture_output=True, env=self.env, check=True)
        self.assertEqual(echoed.stdout, large)
        self.gangway("exec", job, "--", "sh", "-c", "kill -9 $$", rc=128 + signal.SIGKILL)
        self.assertIn("cannot start no-such-program: No such file",
                      self.gangway("exec", job, "--", "no-such-program", rc=127).stderr)
        self.gangway("exec", job, "--", "/", rc=126)
        self.gangway("cancel", job)

    def test_exec_and_get_work_beside_a_function(self):
        """A process beside the function does not take itself for its runner; neither does a
        program of its own that calls gw_init."""
        self.up("--slots", "2")
        crowd = self.start(os.path.join(e2e.BUILD, "bin", "crowd"), "wait", "1", self.fifo())
        crowd.wait_output("there")
        self.write("plain", "5\n")
        self.gangway("exec", "--wait", "last", "--", "sh", "-c", "exit 7", rc=7)
        self.assertEqual(self.gangway("exec", "last", "--", "sh", "-c",
                                      "echo ${GANGWAY_RUNNER_FD-none}").stdout, "none\n")
        self.gangway("exec", "last", "--", e2e.BINARY, "--version")
        os.makedirs(os.path.join(self.dir, "here"))
        self.gangway("get", "last", "plain", "-o", "here")
        with open(os.path.join(self.dir, "here", "plain"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "5\n")
        with open(os.path.join(self.dir, "fifo"), "w", encoding="utf-8") as file:
            file.write("x")
        self.assertEqual(crowd.wait(), 0, crowd.text)

    def test_exec_selects_a_rank_of_a_gang(self):
        self.up("--slots", "2")
        job = self.gangway("dispatch", "-d", "-n", "2", "--", "cat",
                           self.fifo("held")).stdout.strip()
        for rank in ("0", "1"):
            said = self.gangway("exec", "--wait", "-r", rank, job, "--",
                                "sh", "-c", "echo $RANK {rank}")
            self.assertEqual(said.stdout, f"{rank} {rank}\n")
        self.assertIn("there is no rank 2: the ranks are 0 to 1",
                      self.gangway("exec", "-r", "2", job, "--", "true", rc=2).stderr)
        self.gangway("cancel", job)

    def test_exec_ends_with_its_task(self):
        """None of its processes is left: the test frame checks that."""
        self.up("--slots", "1")
        job = self.held()
        beside = self.start(e2e.BINARY, "exec", "--wait", job, "--", "sh", "-c",
                            "setsid tail -f /dev/null & echo here; exec tail -f /dev/null")
        beside.wait_output("here")
        self.gangway("cancel", "--now", job)
        self.assertNotEqual(beside.wait(), 0)
        self.assertIn(f"task 0 of job {job} has ended", beside.text)

    def test_killed_exec_client_ends_its_process(self):
        self.up("--slots", "1")
        job = self.held()
        beside = self.start(e2e.BINARY, "exec", "--wait", job, "--", "sh", "-c",
                            f"echo $$ >{self.fifo('pid')}; exec tail -f /dev/null")
        pid = int(self.read_fifo(os.path.join(self.dir, "pid")))
        gone = os.pidfd_open(pid)
        beside.kill()
        self.assertTrue(select.select([gone], [], [], e2e.TIMEOUT_S)[0], "it is still there")
        os.close(gone)
        self.gangway("exec", job, "--", "true")
        self.gangway("cancel", job)

    def test_exec_forward_and_get_refuse_wrong_arguments(self):
        self.up("--slots", "1")
        job = self.held()
        waits = self.gangway("submit", "-d", "--", "true").stdout.strip()
        self.assertIn("there is no job 99",
                      self.gangway("exec", "99", "--", "true", rc=2).stderr)
        self.assertIn("does not run yet",
                      self.gangway("exec", waits, "--", "true", rc=1).stderr)
        self.assertIn("must be PORT or", self.gangway("forward", job, "x", rc=2).stderr)
        for task, words in (("99", "there is no job 99"), (f"{job}/4", "has no task 4")):
            self.assertIn(words, self.gangway("forward", task, "80:0", rc=2).stderr)
        self.assertIn("has no rank 7", self.gangway("forward", "-r", "7", job, "80:0", rc=2).stderr)
        self.assertIn("cannot make the folder",
                      self.gangway("get", job, "x", "-o", "no/such", rc=2).stderr)
        self.assertIn("--pty cannot be combined",
                      self.gangway("submit", "-d", "--pty", "--", "true", rc=2).stderr)
        self.gangway("cancel", job)
        self.gangway("wait", waits)
        self.assertIn("has ended", self.gangway("exec", waits, "--", "true", rc=2).stderr)

    def test_get_copies_files_and_folders_of_a_task(self):
        self.up("--slots", "1")
        script = "mkdir out; seq 100000 >out/numbers; ln -s numbers out/link; echo 5 >plain"
        job = self.gangway("submit", "-d", "--", "sh", "-c", script).stdout.strip()
        self.gangway("wait", job)
        self.gangway("get", job, "out", "plain", "-o", "here")
        with open(os.path.join(self.dir, "here", "out", "link"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "".join(f"{i}\n" for i in range(1, 100001)))
        with open(os.path.join(self.dir, "here", "plain"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "5\n")
        for path, said in (("no-such", "there is no no-such in the task's folder"),
                           ("out/no", "there is no no in out on the task's host")):
            self.assertEqual(self.gangway("get", job, path, rc=1).stderr, f"gangway: {said}\n")
        self.assertIn("status is empty (for files in /proc",
                      self.gangway("get", job, "/proc/self/status").stderr)

    def test_get_follows_named_links_and_drops_setuid(self):
        """A link that is asked for by name is followed; no copy has special permissions."""
        self.up("--slots", "1")
        script = ("mkdir out; echo 7 >out/7; ln -s 7 out/last; ln -s out newest; mkfifo fifo; "
                  "echo x >tool; chmod 6777 tool")
        job = self.gangway("submit", "-d", "--", "sh", "-c", script).stdout.strip()
        self.gangway("wait", job)
        self.gangway("get", job, "newest", "out/last", "tool", "-o", "here")
        here = os.path.join(self.dir, "here")
        with open(os.path.join(here, "last"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "7\n")
        self.assertFalse(os.path.islink(os.path.join(here, "last")))
        self.assertFalse(os.path.islink(os.path.join(here, "newest")))
        self.assertTrue(os.path.islink(os.path.join(here, "newest", "last")))
        self.assertEqual(os.stat(os.path.join(here, "tool")).st_mode & 0o6000, 0)
        self.assertIn("fifo is a device, a fifo or a socket",
                      self.gangway("get", job, "fifo", "-o", "here", rc=1).stderr)
        self.assertFalse(os.path.exists(os.path.join(here, "fifo")))

    def test_get_leaves_out_devices_and_sockets_of_a_folder(self):
        """Special files are left out with a message; all other files are copied, whatever their
        names."""
        self.up("--slots", "1")
        script = ("mkdir -p made/a; cd made; mkfifo a/fifo 'b*'; echo 1 >bc;"
                  " echo 2 >a/x; echo 3 >./-n; ln -s bc l; cd ..; ln -s made newest; "
                  "mkdir more; mkfifo more/1 more/2 more/3 more/4 more/5")
        job = self.gangway("submit", "-d", "--", "sh", "-c", script).stdout.strip()
        self.gangway("wait", job)
        for folder in ("made", "newest"):
            said = self.gangway("get", job, folder, "-o", "here").stderr
            below = "made/" if folder == "made" else "newest/./"
            word = "gangway: left out, because it is not a file: "
            self.assertEqual(sorted(said.splitlines()),
                             [word + below + name for name in ("a/fifo", "b*")])
            found = sorted(os.path.relpath(os.path.join(at, name), self.dir + "/here/" + folder)
                           for at, _, names in os.walk(os.path.join(self.dir, "here", folder))
                           for name in names)
            self.assertEqual(found, ["-n", "a/x", "bc", "l"])
        said = self.gangway("get", job, "more", "-o", "here").stderr.splitlines()
        self.assertEqual(len(said), 4)
        self.assertEqual(said[3], word + "and more")

    def test_get_of_a_changing_file_warns(self):
        """The task's own tar reports the change by its exit code, as after "file changed as we
        read it"."""
        self.up("--slots", "1")
        os.makedirs(os.path.join(self.dir, "bin"))
        self.write("bin/tar", '#!/bin/sh\nPATH=/usr/bin:/bin tar "$@"\nexit 1\n')
        job = self.held("--env", f"PATH={self.dir}/bin:{self.env['PATH']}",
                        script="echo 5 >plain; exec cat {fifo}")
        self.gangway("exec", "--wait", job, "--", "sh", "-c", "until test -s plain; do :; done")
        self.assertEqual(self.gangway("get", job, "plain", "-o", "here").stderr,
                         "gangway: plain changed while it was fetched: "
                         "the copy may be incomplete\n")
        with open(os.path.join(self.dir, "here", "plain"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "5\n")
        self.gangway("get", job, "no-such", "-o", "here", rc=1)
        self.gangway("cancel", "--now", job)

    def test_get_copies_from_the_retained_work_folder(self):
        """The folder is that of the last attempt that ended by itself, well or not, and of a
        rank of a gang."""
        self.up("--slots", "2")
        os.makedirs(os.path.join(self.dir, "here"))
        with open(os.path.join(self.dir, "plain"), "w", encoding="utf-8") as file:
            file.write("5\n")
        for launch, rank, code in (("submit", "0", 3), ("dispatch -n 2", "1", 0)):
            job = self.gangway(*launch.split(), "-d", "--ship", "plain", "--", "sh", "-c",
                               "cat plain plain >left; echo ${RANK:-0} >>left; "
                               f"exit {code}").stdout.strip()
            self.gangway("wait", job, rc=code)
            self.gangway("get", "-r", rank, job, "left", "-o", "here")
            with open(os.path.join(self.dir, "here", "left"), encoding="utf-8") as file:
                self.assertEqual(file.read(), f"5\n5\n{rank}\n")
        held = self.held("--ship", "plain")
        self.gangway("exec", "--wait", held, "--", "true")
        self.gangway("cancel", "--now", held)
        self.gangway("wait", held, rc=130)
        self.assertIn("none of killed tasks",
                      self.gangway("get", held, "plain", rc=2).stderr)

    def test_forward_connects_to_a_port_of_the_task(self):
        self.up("--slots", "1")
        job = self.gangway("submit", "-d", "--", "python3", "-c", SERVER,
                           self.fifo("port")).stdout.strip()
        port = self.read_fifo(os.path.join(self.dir, "port")).strip()
        forward = self.start(e2e.BINARY, "forward", "--wait", job, f"{port}:0")
        host, local = forward.wait_output(r"(127\.0\.0\.1):(\d+)").groups()
        for size in (1, 1 << 20):
            data = os.urandom(size)
            with socket.create_connection((host, int(local)), e2e.TIMEOUT_S) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                while piece := connection.recv(65536):
                    answer += piece
            self.assertEqual(answer, data[::-1])
        self.gangway("cancel", "--now", job)
        self.assertEqual(forward.wait(), 0)
        self.assertIn(f"job {job} has ended", forward.text)

    def test_pty_gives_an_interactive_shell(self):
        """The shell runs in a private cluster."""
        terminal = Terminal(self, "submit", "--pty", "--", "env", "PS1=ready> ", "sh")
        terminal.type("stty size; tty; echo $((GANGWAY_JOB + 41))\n")
        terminal.wait_for("30 100\r\n")
        terminal.wait_for("/dev/pts/")
        terminal.wait_for("\r\n42\r\n")
        terminal.type("cat\nping\n")
        terminal.wait_for("ping\r\n")  # the echo of the terminal
        terminal.wait_for("ping\r\n")  # the output of cat, which runs by now
        terminal.type("\x03")
        terminal.wait_for("^C")
        terminal.wait_for("ready> ")  # ^C discards what is typed before the shell is back
        terminal.resize(25, 90)
        os.kill(terminal.process.pid, signal.SIGWINCH)
        terminal.type("while [ \"$(stty size)\" != '25 90' ]; do :; done; echo re''sized\n")
        terminal.wait_for("resized\r\n")
        terminal.type("exit 5\n")
        self.assertEqual(terminal.wait(), 5)

    def test_pty_job_ends_with_the_exit_code_of_its_shell(self):
        self.up("--slots", "1")
        for code, state in ((0, "done"), (3, "failed")):
            terminal = Terminal(self, "submit", "--pty", "--", "sh", "-c", f"exit {code}")
            self.assertEqual(terminal.wait(), code)
            task = self.gangway_json("tasks", "last")[0]
            self.assertEqual((task["state"], task.get("exit_code", 0)), (state, code), task)
        self.assertEqual(Terminal(self, "submit", "--pty", "--", "no-such-program").wait(), 127)

    def test_pty_job_fails_if_its_worker_is_lost(self):
        """No new shell is started for it, on the other worker or later."""
        self.up("--slots", "2", "--workers", "2")
        terminal = Terminal(self, "submit", "--pty", "--on", "worker-2", "--", "sh", "-c",
                            "echo at $PPID; exec cat")
        terminal.wait_for("at ")
        worker = next(pid for pid in e2e.pids_marked(self.mark)
                      if "gangway worker --dir" in e2e.command_of(pid) and
                      "--name worker-2" in e2e.command_of(pid))
        os.kill(worker, signal.SIGKILL)
        terminal.wait_for("was lost")
        self.assertNotEqual(terminal.wait(), 0)
        self.assertEqual(self.gangway_json("tasks", "last")[0]["state"], "failed")


if __name__ == "__main__":
    e2e.main()
