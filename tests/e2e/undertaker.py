"""Cleans up after a test program that was killed, by ctest at its time limit or by Ctrl-C: such a
program does not run its tearDown, and its clusters would live on for days. This process of its
own, of no session or parent that ctest would kill with the test, reads a pipe whose other end only
the test program has open: which test has begun, and which has ended. If the pipe ends during a
test, the processes of that test are killed by their pid, and its folder is removed."""
import os
import shutil
import signal


class Undertaker:
    """kill_marked(mark) kills the processes of a mark, and waits for their end."""

    def __init__(self, kill_marked):
        self.kill_marked = kill_marked
        read_end, self.pipe = os.pipe()
        between = os.fork()
        if between:
            os.close(read_end)
            os.waitpid(between, 0)
            return
        try:
            os.close(self.pipe)
            os.setsid()
            if os.fork() == 0:
                self._stand_by(read_end)
        finally:
            os._exit(0)

    def begins(self, mark, folder):
        os.write(self.pipe, f"{mark} {folder}\n".encode())

    def ends(self):
        os.write(self.pipe, b"\n")

    def _stand_by(self, read_end):
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):  # ctest reads them to their end
            os.dup2(null, fd)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        last = ""
        with os.fdopen(read_end, encoding="utf-8") as lines:
            for line in lines:
                last = line.strip()
        if last:
            mark, folder = last.split(" ", 1)
            self.kill_marked(mark)
            shutil.rmtree(folder, ignore_errors=True)
