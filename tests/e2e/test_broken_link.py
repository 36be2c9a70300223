#!/usr/bin/env python3
"""Connections between hosts that break, or fall silent, and are resumed: nothing is lost. Between
a worker and its scheduler there is a proxy that does to bytes what networks do."""
import contextlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import threading

import e2e


class Proxy:
    """Passes bytes between its clients and an address, until told otherwise; on one thread."""

    def __init__(self, to):
        host, port = to.rsplit(":", 1)
        self.to = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.pairs, self.held, self.accepted, self.order = [], [], 0, []
        self.late, self.shuts = {}, False
        self.answer, self.answered, self.stopped = b"", [], False
        self.lock = threading.Condition()
        self.wake, self.woken = socket.socketpair()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def tell(self, order):
        """Runs a function on the thread, and waits for it."""
        with self.lock:
            self.order.append(order)
            self.wake.send(b"x")
            assert self.lock.wait_for(lambda: not self.order, e2e.TIMEOUT_S)

    def cut(self):
        """Resets all connections."""
        self.tell(self.reset)

    def silence(self):
        """Reads nothing more from the present connections, and closes none."""
        self.tell(self.forget)

    def hold(self):
        """The same; but when the scheduler resets one of them, the bytes it held for the worker
        are delivered, with their end, before anything else."""
        self.tell(self.keep)

    def shut(self):
        """Resets all connections, and every new one."""
        self.shuts = True
        self.cut()

    def stop(self):
        """Transfers nothing, and accepts new connections silently, until it continues."""
        self.stopped = True
        self.silence()

    def go_on(self):
        self.stopped = False

    def stay(self, seconds):
        """Leaves everything unchanged for this long."""
        with self.lock:
            self.lock.wait_for(lambda: False, seconds)

    def close(self):
        self.tell(self.reset)
        self.tell(None)
        self.thread.join()
        for one in self.answered:
            one.close()

    def forge(self, *answers, times):
        """Resets all connections, and answers as many new ones with each of these answers; then it
        passes bytes again."""
        self.answer = answers[0]
        self.cut()
        for self.answer in answers:
            before = len(self.answered)
            with self.lock:
                assert self.lock.wait_for(lambda: len(self.answered) >= before + times,
                                          e2e.TIMEOUT_S)
        self.answer = b""

    def inject(self, answer):
        """Both sides of all connections get bytes that the other has not sent."""
        def say(_):
            for one in [one for pair in self.pairs for one in pair]:
                with contextlib.suppress(OSError):  # a connection that has ended
                    one.sendall(answer)
        self.tell(say)

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
        """A reset is passed on as an end, as a device between hosts may do."""
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
                while one.recv(1 << 20):  # until the worker has noticed that end
                    pass
            one.close()
            other.close()
            self.held.remove(pair)

    def halve(self, selector):
        """Ends the scheduler's side of all connections; the other side is not told."""
        self.forget(selector)
        for _, other in self.pairs:
            other.close()
        self.pairs = [(one,) for one, _ in self.pairs]

    def accept(self, selector):
        one, _ = self.listener.accept()
        if self.shuts:
            one.close()
            return
        if self.stopped:
            self.answered.append(one)
            return
        if self.answer:
            with contextlib.suppress(OSError):
                one.sendall(self.answer)
                one.shutdown(socket.SHUT_WR)
            with self.lock:
                self.answered.append(one)
                self.lock.notify()
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


# Answers that any process may send in place of the scheduler: TLS alerts (handshake_failure,
# unknown_psk_identity, close_notify), and bytes that are not TLS.
FORGED = [b"\x15\x03\x03\x00\x02\x02\x28", b"\x15\x03\x03\x00\x02\x02\x73",
          b"\x15\x03\x03\x00\x02\x01\x00", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 64]


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
            e2e.BINARY, "worker", "--trust-users", "--connect", self.proxy.address, "--slots", "3",
            env={"GANGWAY_TOKEN": self.token["token"]})
        self.worker.wait_output("other workers reach this one")

    def begin(self):
        """Starts a gang of two that waits to be ended; the lines of its ranks come first."""
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
        """Both ranks continue to their end as if nothing had happened."""
        for go in self.go:
            with open(go, "w", encoding="utf-8") as f:
                f.write("hello\n")
        self.gangway("wait", self.job, env=self.client)
        events = self.gangway("events", self.job + "/0", env=self.client).stdout
        self.assertNotIn("lost", events)
        said = self.gangway("logs", self.job, env=self.client).stdout
        self.assertIn("rank 0 said hello", said)

    def stop(self):
        self.gangway("down", env=self.client)
        self.assertEqual((self.worker.wait(), self.scheduler.wait()), (0, 0))

    def test_connection_resets_disturb_no_gang(self):
        """The connections are reset during a gang and during submissions."""
        self.begin()
        for times in range(1, 4):
            self.proxy.cut()
            self.worker.wait_output("(?s)(reconnected to the scheduler.*){%d}" % times)
        self.end()
        self.assertEqual(self.gangway("submit", "--", "echo", "well", env=self.client).stdout,
                         "well\n")
        self.stop()

    def test_streams_survive_connection_resets(self):
        """The input and the output of an attached command stay complete despite resets."""
        given = os.urandom(1 << 20) * 40
        with subprocess.Popen([e2e.BINARY, "submit", "--", "cat"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, cwd=self.dir,
                              env=dict(self.env, **self.client)) as process:
            writer = threading.Thread(target=lambda: (process.stdin.write(given),
                                                      process.stdin.close()))
            writer.start()
            came = b""
            for times in range(1, 4):
                came += process.stdout.read(8 << 20)
                self.proxy.cut()
                self.worker.wait_output("(?s)(reconnected to the scheduler.*){%d}" % times)
            came += process.stdout.read()
            writer.join()
            self.assertEqual(process.wait(e2e.TIMEOUT_S), 0)
        self.assertTrue(came == given, f"{len(came)} bytes came of {len(given)}")
        self.stop()

    def test_silent_connection_is_replaced(self):
        """A connection that transfers nothing any more, and is not closed, is replaced in
        time."""
        self.begin()
        self.proxy.silence()
        self.worker.wait_output("reconnected to the scheduler")
        self.end()
        self.stop()

    def test_ten_seconds_of_broken_connections_lose_nothing(self):
        """All connections break for a little less than ten seconds, and nothing is lost."""
        self.begin()
        self.proxy.shut()
        self.proxy.stay(9.9)
        self.proxy.shuts = False
        self.worker.wait_output("reconnected to the scheduler")
        self.end()
        self.stop()

    def test_ten_seconds_of_silence_lose_nothing(self):
        """All connections are silent for a little less than ten seconds, and nothing is
        lost."""
        self.begin()
        self.proxy.stop()
        self.proxy.stay(9.9)
        self.proxy.go_on()
        self.worker.wait_output("reconnected to the scheduler")
        self.end()
        self.stop()

    def test_forged_answers_do_not_end_a_worker(self):
        """Only the scheduler can refuse a worker: an answer, or injected bytes, from another
        process is a broken connection."""
        self.begin()
        for times, answer in enumerate(FORGED, 1):
            self.proxy.forge(answer, times=5)
            self.worker.wait_output("(?s)(reconnected to the scheduler.*){%d}" % times)
        for times, answer in enumerate(FORGED, len(FORGED) + 1):
            self.proxy.inject(answer)
            self.worker.wait_output("(?s)(reconnected to the scheduler.*){%d}" % times)
        self.end()
        self.stop()

    def test_worker_returns_after_long_forged_answers(self):
        """Forged answers do not end a worker after its heartbeat timeout either: it kills its
        tasks, reports why it cannot connect, and comes back."""
        self.begin()
        self.proxy.answer = FORGED[0]
        self.proxy.cut()
        self.worker.wait_output("refused the key '[^']*' before the peer proved that it is the "
                                "scheduler.*trying again")
        while self.gangway_json("status", env=self.client)["workers"]:
            pass  # each query waits for its answer
        self.proxy.answer = b""
        self.lines.next(), self.lines.next()  # the gang starts again there
        self.gangway("cancel", self.job, env=self.client)
        self.gangway("wait", self.job, env=self.client, rc=130)
        self.stop()

    def test_client_survives_forged_answers(self):
        """A client that searches its scheduler continues, and reports the forged answers in the
        end."""
        way = Proxy(self.client["GANGWAY_ADDRESS"])
        self.addCleanup(way.close)
        env = dict(self.client, GANGWAY_ADDRESS=way.address)
        program = os.path.join(e2e.BUILD, "bin", "reconnect")
        go, never = self.fifo("go"), self.fifo("never")
        goes_on = self.start(program, self.write("counts", ""), go, "60000", env=env)
        goes_on.wait_output("running\n")
        way.forge(*FORGED, times=1)
        with open(go, "w", encoding="utf-8") as f:
            f.write("x")
        self.assertEqual((goes_on.wait(), goes_on.text), (0, "running\nok\n"))
        ends = self.start(program, self.write("others", ""), never, "500", env=env)
        ends.wait_output("running\n")
        way.answer = FORGED[0]
        way.cut()
        self.assertEqual(ends.wait(), 1)
        self.assertRegex(ends.text, "no scheduler was back within 500ms: the other side refused "
                         "the key '.*' before it had proven that it is the scheduler")
        self.stop()

    def test_client_without_an_answer_ends(self):
        """The client ends even if a device between it and the scheduler acknowledges without
        end. A client on the same host continues, although its job prints nothing and the
        scheduler stops for a moment."""
        lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(lines.close)
        way = Proxy(self.client["GANGWAY_ADDRESS"])
        self.addCleanup(way.close)
        job = ["submit", "--", "sh", "-c", f"echo there > {lines.path}; read line < $0"]
        go = self.fifo("go")
        near = self.start(e2e.BINARY, *job, go, env=self.client)
        far = self.start(e2e.BINARY, *job, self.fifo("never"),
                         env=dict(self.client, GANGWAY_ADDRESS=way.address))
        lines.next(), lines.next()
        way.stop()
        self.scheduler.kill(signal.SIGSTOP)
        way.stay(6)
        self.scheduler.kill(signal.SIGCONT)
        self.assertEqual(far.wait(), 3)
        self.assertIn("the connection to the scheduler was lost: no data arrived for 16s",
                      far.text)
        with open(go, "w", encoding="utf-8") as f:
            f.write("\n")
        self.assertEqual((near.wait(), near.text), (0, ""))
        self.stop()

    def test_revived_connection_delivers_nothing_twice(self):
        """Late messages of a silent connection, and its end, arrive before the answer on the
        new connection: no message is processed twice, and no worker is given up."""
        self.begin()
        self.proxy.hold()
        self.gangway("submit", "-d", "--", "sh", "-c", f"echo late > {self.lines.path}",
                     env=self.client)
        self.worker.wait_output("reconnected to the scheduler")
        self.assertEqual(self.lines.next(), "late")
        self.proxy.cut()  # and both sides know where to continue
        self.worker.wait_output("(?s)(reconnected to the scheduler.*){2}")
        self.end()
        self.stop()

    def test_worker_given_up_by_the_scheduler_comes_back(self):
        """The scheduler has given up the worker, and the worker did not learn of that."""
        self.begin()
        self.proxy.tell(self.proxy.halve)
        self.worker.wait_output("cannot continue its connection")
        self.lines.next(), self.lines.next()  # the gang starts again there
        self.assertEqual(self.gangway_json("status", env=self.client)["workers"], 1)
        self.gangway("cancel", self.job, env=self.client)
        self.gangway("wait", self.job, env=self.client, rc=130)
        self.stop()

    def test_worker_revoked_during_a_break_is_lost_at_once(self):
        """The scheduler does not wait for a worker that may not return, and the loss counts
        against no task."""
        self.begin()
        self.proxy.shut()
        self.scheduler.wait_output("the connection of worker 1 broke")
        self.gangway("token", "revoke", self.token["id"])
        self.scheduler.wait_output("the token was revoked")
        while self.gangway_json("status", env=self.client)["workers"]:
            pass
        self.assertRegex(self.gangway("events", self.job + "/0", env=self.client).stdout,
                         "was lost: its token was revoked(.|\n)*ready to run")
        self.gangway("cancel", self.job, env=self.client)
        self.worker.kill()
        self.worker.wait()
        self.gangway("down", env=self.client)
        self.assertEqual(self.scheduler.wait(), 0)

    def test_killed_worker_is_lost_at_once(self):
        """A worker that was killed is lost at once: the scheduler does not wait for a
        reconnect."""
        self.begin()
        self.worker.kill()
        while self.gangway_json("status", env=self.client)["workers"]:
            pass  # each query waits for its answer
        events = self.gangway("events", self.job + "/0", env=self.client).stdout
        self.assertIn("lost", events)
        self.gangway("down", env=self.client)
        self.assertEqual(self.scheduler.wait(), 0)


if __name__ == "__main__":
    e2e.main()
