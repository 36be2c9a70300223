#!/usr/bin/env python3
"""The scheduler waits with io_uring where it is to be had, else epoll; all works with both."""
import os

import e2e

PROGRAMS = os.path.join(e2e.BUILD, "bin")
VALUES = ("large", "gang", "map", "retry", "cancel", "leave")

# Runs a command that may not have an io_uring, as in a container: its system call, 425 on every
# machine, answers EPERM by a filter that children inherit.
FORBIDDEN = """
import ctypes, os, struct, sys
def step(code, yes, no, value):
    return struct.pack("HBBI", code, yes, no, value)
steps = (step(0x20, 0, 0, 0) + step(0x15, 0, 1, 425) +
         step(0x06, 0, 0, 0x00050001) + step(0x06, 0, 0, 0x7fff0000))
class Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("steps", ctypes.c_char_p))
prctl = ctypes.CDLL(None, use_errno=True).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.byref(Program(len(steps) // 8, steps))):
    sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Io(e2e.Case):
    def said(self):
        """The scheduler's line about it."""
        path = os.path.join(self.env["XDG_RUNTIME_DIR"], "gangway/default/scheduler.log")
        with open(path, encoding="utf-8") as log:
            return next(line for line in log if "links wait by" in line)

    def up_by(self, io, *wrapper):
        self.env.update({"GANGWAY_LOG": "debug", "GANGWAY_IO": io})
        self.run_program(*wrapper, e2e.BINARY, "up", "--slots", "4", "--workers", "2")
        self.is_up = True

    def work(self):
        """Large values and descriptors, gangs, clients that leave."""
        for what in VALUES:
            with self.subTest(what=what):
                done = self.run_program(os.path.join(PROGRAMS, "values"), what, timeout_s=100)
                self.assertEqual(done.stdout, "ok\n")
        self.assert_idle()

    def test_epoll(self):
        self.up_by("epoll")
        self.assertIn("epoll: GANGWAY_IO says so", self.said())
        self.work()

    def test_io_uring(self):
        self.up_by("io_uring")
        if "epoll" in self.said():
            self.skipTest(self.said())
        self.work()

    def test_forbidden(self):
        self.up_by("io_uring", "python3", "-c", FORBIDDEN)
        self.assertRegex(self.said(), r"epoll: (io_uring: Operation not permitted|built without)")
        self.assertEqual(self.gangway("submit", "--", "echo", "works").stdout, "works\n")

    def test_what_it_is_not(self):
        self.env["GANGWAY_IO"] = "select"
        said = self.gangway("up", rc=3).stderr
        self.assertIn('GANGWAY_IO is "select": give epoll or io_uring, or leave it out', said)


if __name__ == "__main__":
    e2e.main()
