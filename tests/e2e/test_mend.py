#!/usr/bin/env python3
"""Connections between hosts that break, or fall silent, and are mended: nothing is lost. Between a
worker and its scheduler stands a proxy that does to bytes what networks do."""
import contextlib
import selectors
import socket
import struct
import threading

import e2e


class Proxy:
    """Passes bytes between who connects and an address, until told otherwise; on one thread."""

    def __init__(self, to):
        host, port = to.rsplit(":", 1)
        self.to = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.pairs, self.held, self.accepted, self.order = [], [], 0, []
        self.late, self.shuts = {}, False
        self.lock = threading.Condition()
        self.wake, self.woken = socket.socketpair()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def tell(self, order):
        """Has the thread do something, and waits until it has."""
        with self.lock:
            self.order.append(order)
            self.wake.send(b"x")
            assert self.lock.wait_for(lambda: not self.order, e2e.TIMEOUT_S)

    def cut(self):
        """Resets all connections."""
        self.tell(self.reset)

    def silence(self):
        """Takes nothing from the connections that are there any more, and closes none."""
        self.tell(self.forget)

    def hold(self):
        """The same, but when the scheduler resets one of them, what that held for the worker is
        carried, and its end, before anything else is."""
        self.tell(self.keep)

    def shut(self):
        """Resets all connections, and every new one."""
        self.shuts = True
        self.cut()

    def close(self):
        self.tell(self.reset)
        self.tell(None)
        self.thread.join()

    def reset(self, selector):
        for one in [one for pair in self.pairs + self.held for one in pair]:
            if one.fileno() in selector.get_map():
                selector.unregister(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
        self.pairs, self.held = [], []

    def forget(self, selector):
        for one in [one for pair in self.pairs for one in pair]:
            if one.fileno() in selector.get_map():
                selector.unregister(one)

    def keep(self, selector):
        self.forget(selector)
        self.held, self.pairs = self.pairs, []

    def let_go(self):
        """A reset is passed on as an end, as what stands between hosts may do."""
        for pair in list(self.held):
            one, other = pair
            carried = b""
            try:
                while (data := other.recv(1 << 20, socket.MSG_DONTWAIT)):
                    carried += data
            except BlockingIOError:
                self.late[pair] = self.late.get(pair, b"") + carried
                continue
            except OSError:
                pass
            one.sendall(self.late.pop(pair, b"") + carried)
            one.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                while one.recv(1 << 20):  # until the worker has seen that end
                    pass
            one.close()
            other.close()
            self.held.remove(pair)

    def halve(self, selector):
        """Ends the scheduler's side of all connections; the other hears nothing of it."""
        self.forget(selector)
        for _, other in self.pairs:
            other.close()
        self.pairs = [(one,) for one, _ in self.pairs]

    def accept(self, selector):
        one, _ = self.listener.accept()
        if self.shuts:
            one.close()
            return
        other = socket.create_connection(self.to)
        self.pairs.append((one, other))
        selector.register(one, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, one)
        self.accepted += 1

    def run(self):
        """The thread."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ)
            selector.register(self.woken, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self.woken:
                        self.woken.recv(1)
                        with self.lock:
                            order = self.order[0]
                            if order:
                                order(selector)
                            self.order.clear()
                            self.lock.notify()
                        if not order:
                            self.listener.close()
                            self.woken.close()
                            self.wake.close()
                            return
                        break
                    if key.fileobj is self.listener:
                        self.accept(selector)
                    else:
                        self.let_go()
                        self.carry(selector, key.fileobj, key.data)

    @staticmethod
    def carry(selector, one, other):
        with contextlib.suppress(OSError):  # it was reset: the same as its end
            data = one.recv(65536)
            if data:
                other.sendall(data)
                return
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)
        selector.unregister(one)


class Mend(e2e.Case):
    def setUp(self):
        super().setUp()
        admin = self.gangway_json("token", "create", "--user", "root", "--role", "admin")
        self.token = self.gangway_json("token", "create", "--user", "w", "--role", "worker")
        self.scheduler = self.start(e2e.BINARY, "scheduler", "--listen", "127.0.0.1")
        address = self.scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        self.proxy = Proxy(address)
        self.addCleanup(self.proxy.close)
        self.client = {"GANGWAY_ADDRESS": address, "GANGWAY_TOKEN": admin["token"]}
        self.worker = self.start(
            e2e.BINARY, "worker", "--connect", self.proxy.address, "--slots", "3",
            env={"GANGWAY_TOKEN": self.token["token"]})
        self.worker.wait_output("other workers reach this one")

    def begin(self):
        """A gang of two that waits to be told to end; its ranks' own lines come first."""
        self.lines = e2e.Lines(self.fifo("lines"))
        self.go = [self.fifo("go-0"), self.fifo("go-1")]
        self.addCleanup(self.lines.close)
        self.job = self.gangway(
            "dispatch", "-d", "-n", "2", "--", "sh", "-c",
            f"echo $RANK $GANGWAY_RESTART_COUNT > {self.lines.path}; "
            f"read line < {self.dir}/go-$RANK; "
            "echo rank $RANK said $line", env=self.client).stdout.strip()
        begun = sorted([self.lines.next(), self.lines.next()])
        self.assertEqual(begun, ["0 0", "1 0"])

    def end(self):
        """Both go on to their end as if nothing had been."""
        for go in self.go:
            with open(go, "w", encoding="utf-8") as f:
                f.write("hello\n")
        self.gangway("wait", self.job, env=self.client)
        story = self.gangway("story", self.job + "/0", env=self.client).stdout
        self.assertNotIn("lost", story)
        said = self.gangway("logs", self.job, env=self.client).stdout
        self.assertIn("rank 0 said hello", said)

    def stop(self):
        self.gangway("down", env=self.client)
        self.assertEqual((self.worker.wait(), self.scheduler.wait()), (0, 0))

    @e2e.not_for_tsan
    def test_cut(self):
        """Connections are reset under a gang, and under what is submitted meanwhile."""
        self.begin()
        for times in range(1, 4):
            self.proxy.cut()
            self.worker.wait_output("(?s)(mended by another.*){%d}" % times)
        self.end()
        self.assertEqual(self.gangway("submit", "--", "echo", "well", env=self.client).stdout,
                         "well\n")
        self.stop()

    @e2e.not_for_tsan
    def test_silence(self):
        """A connection that carries nothing any more, and is not closed, is replaced in time."""
        self.begin()
        self.proxy.silence()
        self.worker.wait_output("mended by another")
        self.end()
        self.stop()

    @e2e.not_for_tsan
    def test_comes_to_itself(self):
        """What a silent connection brings after all, and its end, come before the answer on the
        other: nothing is taken twice, and nobody is given up for it."""
        self.begin()
        self.proxy.hold()
        self.gangway("submit", "-d", "--", "sh", "-c", f"echo late > {self.lines.path}",
                     env=self.client)
        self.worker.wait_output("mended by another")
        self.assertEqual(self.lines.next(), "late")
        self.proxy.cut()  # and both know where to go on
        self.worker.wait_output("(?s)(mended by another.*){2}")
        self.end()
        self.stop()

    @e2e.not_for_tsan
    def test_half_gone(self):
        """A worker that the scheduler has given up, and that did not hear of it, comes back."""
        self.begin()
        self.proxy.tell(self.proxy.halve)
        self.worker.wait_output("no connection to mend")
        self.lines.next(), self.lines.next()  # the gang begins again, there
        self.assertEqual(self.gangway_json("status", env=self.client)["workers"], 1)
        self.gangway("cancel", self.job, env=self.client)
        self.gangway("wait", self.job, env=self.client, rc=130)
        self.stop()

    @e2e.not_for_tsan
    def test_revoked_while_it_is_broken(self):
        """Nobody waits for who may not come back, nor is its end charged to anybody."""
        self.begin()
        self.proxy.shut()
        self.scheduler.wait_output("the connection of worker 1 broke")
        self.gangway("token", "revoke", self.token["id"])
        self.scheduler.wait_output("the token was revoked")
        while self.gangway_json("status", env=self.client)["workers"]:
            pass
        self.assertRegex(self.gangway("story", self.job + "/0", env=self.client).stdout,
                         "was lost: its token was revoked(.|\n)*ready to run")
        self.gangway("cancel", self.job, env=self.client)
        self.worker.kill()
        self.worker.wait()
        self.gangway("down", env=self.client)
        self.assertEqual(self.scheduler.wait(), 0)

    def test_gone(self):
        """A worker that is really gone is lost at once: nobody waits for it to mend anything."""
        self.begin()
        self.worker.kill()
        while self.gangway_json("status", env=self.client)["workers"]:
            pass  # each question waits for its answer
        story = self.gangway("story", self.job + "/0", env=self.client).stdout
        self.assertIn("lost", story)
        self.gangway("down", env=self.client)
        self.assertEqual(self.scheduler.wait(), 0)


if __name__ == "__main__":
    e2e.main()
