"""Links between a worker and its scheduler, which do to bytes what networks do."""
import asyncio
import contextlib
import socket
import struct
import threading

CHUNK = 65536
TURNS = 8  # of the loop, until an accepted socket is a connection


def hold(address):
    """A socket that reserves a port and refuses connections until it is closed."""
    host, port = address.rsplit(":", 1)
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((host, int(port)))
    return holder


class Network:
    """The thread that carries the bytes of all links of a cluster."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def do(self, work):
        """Runs a coroutine on the thread, and returns its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class Link:
    """Passes bytes between the clients of `address` and the scheduler, until told otherwise."""

    def __init__(self, network, to):
        host, port = to.rsplit(":", 1)
        self.network, self.to = network, (host, int(port))
        self.pairs, self.pumps, self.bytes_per_s = set(), set(), None
        self.opened = network.do(self._open())
        self.address = "127.0.0.1:%d" % self.opened.sockets[0].getsockname()[1]
        self.holder = None

    async def _open(self):
        self.flows, self.over = asyncio.Event(), asyncio.Event()
        self.flows.set()
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _refuse(self):
        # A socket accepted a moment ago becomes a connection while the server exists; otherwise
        # asyncio forgets it and leaves it open.
        for sock in self.opened.sockets:
            self.network.loop.remove_reader(sock.fileno())
        for _ in range(TURNS):
            turn = self.network.loop.create_future()
            self.network.loop.call_soon(turn.set_result, None)
            await turn
        self.opened.close()
        self.holder = hold(self.address)
        await self._cut()

    async def _accept_again(self):
        host, port = self.address.rsplit(":", 1)
        self.opened = await asyncio.start_server(self._accept, host, int(port))
        self.holder.close()

    async def _accept(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.to)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, far_writer)
        self.pairs.add(pair)
        pumps = [asyncio.ensure_future(self._pump(reader, far_writer)),
                 asyncio.ensure_future(self._pump(far_reader, writer))]
        self.pumps.update(pumps)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*pumps)
        self.pumps.difference_update(pumps)
        if pair in self.pairs:  # it was neither reset nor silenced
            self.pairs.discard(pair)
            for one in pair:
                one.close()

    async def _pump(self, reader, writer):
        with contextlib.suppress(OSError):
            while True:
                await self.flows.wait()
                slow = self.bytes_per_s
                data = await reader.read(min(CHUNK, slow // 20) if slow else CHUNK)
                await self.flows.wait()
                if slow:
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(self.over.wait(), len(data) / slow)
                if not data:
                    break
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    async def _cut(self):
        for pair in self.pairs:
            for one in pair:
                sock = one.get_extra_info("socket")
                with contextlib.suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.transport.abort()
        self.pairs.clear()

    async def _silence(self):
        """What is silent stays open until the link is closed: nobody hears of it."""
        for pump in self.pumps:
            pump.cancel()
        self.pairs.clear()

    async def _set(self, flows, bytes_per_s):
        self.bytes_per_s = bytes_per_s
        if flows:
            self.flows.set()
        else:
            self.flows.clear()

    async def _close(self):
        self.over.set()
        self.opened.close()
        await self._cut()
        for pump in self.pumps:
            pump.cancel()

    def cut(self):
        """Resets all connections."""
        self.network.do(self._cut())

    def refuse(self):
        """Resets all connections, and refuses new ones until accept_again()."""
        self.network.do(self._refuse())

    def accept_again(self):
        self.network.do(self._accept_again())

    def silence(self):
        """Reads nothing more from the present connections, and closes none."""
        self.network.do(self._silence())

    def stall(self):
        """Transfers nothing until flow() is called, and loses nothing."""
        self.network.do(self._set(False, None))

    def slow(self, bytes_per_s):
        self.network.do(self._set(True, bytes_per_s))

    def flow(self):
        self.network.do(self._set(True, None))

    def close(self):
        self.network.do(self._close())
