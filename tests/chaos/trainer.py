#!/usr/bin/env python3
"""A rank of a training gang whose result shows each lost or repeated step, because its arithmetic
is exact: the loss at each step is that of every other run of as many ranks.

    trainer.py STEPS STEP_MS TRAITS

In each step rank 0 adds up the gradients of all ranks, and gives all the new weight. TRAITS are
letters: s saves when its signal comes and at the end, p saves at each 100th step and has longer
steps, t takes long to save, e: the last rank ends at half of the steps. Rank 0 appends what it does
to the file CHAOS_LOG, and prints the loss."""
import os
import select
import signal
import socket
import struct
import sys

STEPS, STEP_MS, TRAITS = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
ATTEMPT = os.environ["GANGWAY_RESTART_COUNT"]
PATH = os.path.join(os.environ["GANGWAY_CHECKPOINT_DIR"], "state")
MESSAGE = struct.Struct("!d?")  # gradient or weight; whether to save and end
SLOW_S = .2  # of a save with t

told = []
for number in signal.SIGTERM, signal.SIGUSR1:
    if "s" in TRAITS:
        signal.signal(number, lambda *_: told.append(True))


def say(*words):
    with open(os.environ["CHAOS_LOG"], "a", encoding="utf-8") as log:
        log.write(" ".join(map(str, words)) + "\n")


def load():
    """(step, weight) of the checkpoint."""
    try:
        with open(PATH, encoding="utf-8") as f:
            words = f.read().split()
    except FileNotFoundError:
        return 0, 1.
    assert words[2] == "whole", words
    return int(words[0]), float.fromhex(words[1])


def save(step, weight):
    say("saves", ATTEMPT, step)
    with open(PATH + ".new", "w", encoding="utf-8") as f:
        f.write(f"{step} {weight.hex()} ")
        f.flush()
        if "t" in TRAITS:
            signal.sigtimedwait([], SLOW_S)
        f.write("whole\n")
    os.rename(PATH + ".new", PATH)
    say("saved", ATTEMPT, step)


def receive(peer):
    data = peer.recv(MESSAGE.size, socket.MSG_WAITALL)
    if len(data) != MESSAGE.size:
        sys.exit(3)  # the peer is gone
    return MESSAGE.unpack(data)


def meet():
    """The connections of rank 0 to the others by their rank, or that to rank 0."""
    at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])) if WORLD > 1 else None
    if WORLD == 1:
        return {}
    if RANK == 0:
        with socket.create_server(at, reuse_port=False, backlog=WORLD) as server:
            peers = [server.accept()[0] for _ in range(1, WORLD)]
        return {int(receive(peer)[0]): peer for peer in peers}
    while True:
        try:
            peer = socket.create_connection(at)
            break
        except OSError:
            select.select([], [], [], .01)
    peer.sendall(MESSAGE.pack(RANK, False))
    return {0: peer}


def run_step(peers, step, weight, asks):
    """The next weight, and whether to save and end."""
    gradient = weight * (RANK + 1) / 64 + ((step * 2654435761 + RANK * 40503) % 1000003) / 1000003
    if RANK:
        peers[0].sendall(MESSAGE.pack(gradient, asks))
        return receive(peers[0])
    got = [receive(peers[rank]) for rank in sorted(peers)]
    weight -= .05 * (gradient + sum(one for one, _ in got))
    ends = asks or any(asked for _, asked in got)
    for peer in peers.values():
        peer.sendall(MESSAGE.pack(weight, ends))
    return weight, ends


def main():
    peers = meet()
    step, weight = load()  # all ranks load, before any of them can save
    if RANK == 0:
        say("begins", ATTEMPT, step)
    while step < STEPS:
        if "e" in TRAITS and step >= STEPS // 2:
            if RANK == WORLD - 1:
                return
            peers.pop(WORLD - 1, None)
        signal.sigtimedwait([], STEP_MS / 1000 * (3 if "p" in TRAITS else 1))
        weight, ends = run_step(peers, step, weight, bool(told))
        step += 1
        if RANK == 0:
            say("step", ATTEMPT, step, weight.hex())
            if ends or step == STEPS or ("p" in TRAITS and step % 100 == 0):
                save(step, weight)
        if ends and step < STEPS:
            sys.exit(75)
    if RANK == 0:
        print("loss", weight.hex())


main()
