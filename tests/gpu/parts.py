#!/usr/bin/env python3
"""Runs the parts of tests/gpu/run, which finds the libraries and calls this script.

    parts.py [--dry] [--bin DIR] [--out DIR] [--part NAME | --list]

Each part is a process of its own with a time limit, and all parts together have ALL_S. A part ends
with 0 (ok), with 77 (left out: its last line is the reason) or with another code (failed). A part
that did not begin, or was ended, because ALL_S was over, is left out too. A line
`figure NAME VALUE` of its output becomes a figure. At the end, and also if the script is
interrupted, a table of the parts is printed, and DIR/gpu.json has the same. The exit code is 1 if
a part failed.

  --dry        with the fakes of CUDA, NCCL and NVML, from the build folder in --bin
  --bin DIR    the folder of the programs
  --out DIR    for gpu.json and gpu.log (all that the parts printed)
  --part NAME  runs one part in this process
  --list       prints the names of the parts that are more than one program, for CMake"""
import argparse
import datetime
import functools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ALL_S, FINISH_S, LEFT_OUT = 540, 20, 77
ENOUGH_S = 5  # less time than this is no time for a part
SLACK_BYTES = 16 << 20


class LeftOut(Exception):
    """The machine does not have what the part needs."""


class Failed(Exception):
    """The findings of the part."""


class Machine:
    """Programs and their environment: on a GPU, or with the fakes."""

    def __init__(self, dry, folder):
        self.dry, self.bin = dry, folder

    def environment(self, home):
        """The variables of all parts. Their clusters have their folders in `home`."""
        env = {k: v for k, v in os.environ.items()
               if k not in ("GANGWAY_ADDRESS", "GANGWAY_IDENTITY", "GANGWAY_TOKEN")}
        env.update(HOME=home, XDG_RUNTIME_DIR=home, NCCL_DEBUG=env.get("NCCL_DEBUG", "WARN"))
        if self.dry:
            nvml = os.path.join(home, "nvml")
            with open(nvml, "w", encoding="utf-8") as f:
                f.write("gpu GPU-0 memory=17179869184 used=0\n")
            used = os.path.join(home, "used")
            os.mkdir(used)
            env.update(LD_LIBRARY_PATH=os.path.join(self.bin, "fake"), FAKE_NVML=nvml,
                       FAKE_CUDA_USED=used,
                       GANGWAY_NVML=os.path.join(self.bin, "lib", "libfake_nvml.so"))
        return env

    def program(self, name):
        """The path of a program; of the tests, those that run with the fakes have other names."""
        if not self.dry:
            return os.path.join(self.bin, name)
        if name.startswith("nccl_"):
            name = "comm_dry" + name[len("nccl"):].replace("_comm", "", 1)
            return os.path.join(self.bin, "fake", name)
        return os.path.join(self.bin, "bin", name)

    def gpu(self):
        """(name for CUDA_VISIBLE_DEVICES, bytes in use) of the first GPU, by NVML."""
        uuid, used = subprocess.run([self.program("nccl_probe"), "--gpu"], check=True, text=True,
                                    stdout=subprocess.PIPE).stdout.split()
        return uuid, int(used)

    def versions(self):
        """The facts of the JSON about the machine besides the figures of the part `probe`."""
        driver, gpu = ("fake", "fake") if self.dry else driver_and_gpu()
        return {"commit": commit(), "date": now(), "driver": driver, "gpu": gpu}


def driver_and_gpu():
    query = ["nvidia-smi", "--id=0", "--format=csv,noheader", "--query-gpu=driver_version,name"]
    try:
        said = subprocess.run(query, text=True, stdout=subprocess.PIPE, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as e:
        print(e)
        return "unknown", "unknown"
    return said.strip().split(", ", 1)


def commit():
    """The commit of the sources; --pack writes it into a file, because there is no git later."""
    path = os.path.join(HERE, "commit")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            return f.read().strip()
    found = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty", "--abbrev=40",
                            "--exclude=*"], text=True, stdout=subprocess.PIPE, check=False)
    return found.stdout.strip() or "unknown"


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def call(*argv, **options):
    """Runs a program of a part, whose output is the part's."""
    sys.stdout.flush()
    rc = subprocess.run(argv, check=False, **options).returncode
    if rc == LEFT_OUT:
        sys.exit(LEFT_OUT)
    if rc != 0:
        raise Failed(f"{os.path.basename(argv[0])} ended with {rc}")


def output(*argv):
    """The output of a program, which is also printed here."""
    text = subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE).stdout
    print(text, end="", flush=True)
    return text


# -- Parts that are more than a program ------------------------------------------------------------


def grid(machine):
    """The long table: as much of it as the time allows. The fakes would take minutes."""
    seconds = min(180, int(os.environ.get("PART_S", "200")) - 20)
    sizes = [] if machine.dry else ["--full"]
    call(machine.program("nccl_grid"), *sizes, "--table", "--seconds", str(seconds), "--ranks",
         "1", "--ranks", "2", "--ranks", "4")


def memory_back(machine, before, limit_s):
    """Waits until the memory of the GPU is free again, and returns the seconds."""
    began = time.monotonic()
    while machine.gpu()[1] > before + SLACK_BYTES:
        if time.monotonic() > began + limit_s:
            raise Failed(f"{machine.gpu()[1] >> 20} MiB are in use after {limit_s} s, "
                         f"{before >> 20} MiB were before")
    return time.monotonic() - began


def kill(machine):
    """Kills ranks in the middle of collectives: the driver must free their memory."""
    before = machine.gpu()[1]
    argv = [machine.program("nccl_grid"), "--full", "--table", "--ranks", "2"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as ranks:
        lines = 0
        while lines < 100 and ranks.stdout.readline():
            lines += 1
        used = machine.gpu()[1]
        os.killpg(ranks.pid, signal.SIGKILL)
    back_s = memory_back(machine, before, 30)
    print(f"killed after {lines} lines: {before >> 20} MiB in use before, {used >> 20} MiB at the "
          f"kill\nfigure memory_back_s {back_s:.2f}")
    if lines < 100 or used <= before + SLACK_BYTES:
        raise Failed("the ranks did not use the GPU any more when they were killed")


def failures(machine):
    """Ranks that trap, are killed, or have no memory; then the memory must be free again."""
    before = machine.gpu()[1]
    call(machine.program("nccl_failures"))
    print(f"figure memory_back_s {memory_back(machine, before, 30):.2f}")


def gangs(machine):
    """Jobs on a cluster of this machine: the GPU has the name that the driver gives it. A gang
    waits until the driver shows that the memory of the gang before is free."""
    gangway, probe = machine.program("gangway"), machine.program("nccl_probe")
    uuid = machine.gpu()[0]
    call(gangway, "up", "--slots", "4")
    call(gangway, "status")
    if f"sees {uuid}" not in output(gangway, "dispatch", "-n", "1", "--gpus", "1", "--", "sh", "-c",
                                    'echo "sees $CUDA_VISIBLE_DEVICES"'):
        raise Failed(f"the driver calls the first GPU {uuid}")
    call(gangway, "dispatch", "-n", "1", "--gpus", "1", "--", probe)
    call(gangway, "dispatch", "-n", "2", "--gpus", "0.5", "--", probe)
    call(machine.program("nccl"), "1")
    took_s = []
    for _ in range(3):
        began = time.monotonic()
        call(gangway, "dispatch", "-n", "1", "--gpus", "1", "--", probe, stdout=subprocess.DEVNULL)
        took_s.append(time.monotonic() - began)
    print(f"figure slowest_gang_s {max(took_s):.2f}")
    call(gangway, "status")
    call(gangway, "down")


# NCCL refuses two ranks of a host on one GPU: each rank is a host of its own, as in nccl_hooks.c.
ON_ONE_GPU = ("NCCL_HOSTID=gang-$RANK NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 "
              "NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_MNNVL_ENABLE=0 NCCL_NVLS_ENABLE=0 "
              'NCCL_RAS_ENABLE=0 exec "$0" "$@"')


def dispatch_script(machine, *argv):
    """A gang of two ranks of a script, that share the GPU."""
    return [machine.program("gangway"), "dispatch", "-n", "2", "--gpus", "0.5", "--", "sh", "-c",
            ON_ONE_GPU, *argv]


def scripts(machine):
    """Scripts that know nothing of Gangway; a rank that is killed ends the gang."""
    before = machine.gpu()[1]
    call(machine.program("gangway"), "up", "--slots", "4")
    try:
        said = output(*dispatch_script(machine, machine.program("nccl_script")))
        if said.count("of 2 is done") != 2:
            raise Failed("two ranks did not say that they are done")
        began = time.monotonic()
        done = subprocess.run(dispatch_script(machine, machine.program("nccl_script"), "die"),
                              stderr=subprocess.PIPE, text=True, check=False)
        took_s = time.monotonic() - began
        print(done.stderr, end="")
        if done.returncode == 0 or "(Killed)" not in done.stderr:
            raise Failed("the gang did not say that a rank was killed")
        print(f"figure killed_gang_s {took_s:.2f}\n"
              f"figure memory_back_s {memory_back(machine, before, 30):.2f}")
    finally:
        call(machine.program("gangway"), "down")


def peer(machine, *argv):
    """Runs peer_torch.py, which leaves the part out if there is no PyTorch; returns its figures."""
    device = "cpu" if machine.dry else "cuda"
    done = subprocess.run([sys.executable, os.path.join(HERE, "peer_torch.py"), "--device", device,
                           *argv], text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode == LEFT_OUT:
        raise LeftOut(done.stdout.strip())
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise Failed(f"peer_torch.py {argv[0]} ended with {done.returncode}")
    return figures_of(done.stdout)


def figures_of(text):
    words = [line.split() for line in text.splitlines()]
    return {w[1]: number(w[2]) for w in words if len(w) == 3 and w[0] == "figure"}


def torch_optimizers(machine):
    """The time of a step beside that of a fused optimizer of PyTorch."""
    ours = figures_of(output(machine.program("nccl_optimizers")))
    theirs = peer(machine, "optimizers", "--parameters", str(int(ours["parameters"])))
    for name in ("momentum", "adam", "adamw"):
        print(f"figure {name}_ratio {ours[name + '_us'] / theirs[f'torch_{name}_us']:.2f}")


def few_digits():
    """Options for images of MNIST's form, of which there are so few that the fakes can take them:
    stripes, whose distance is the label."""
    labels = [i % 10 for i in range(100)]
    pixels = b"".join(bytes(255 * (x % (label + 2) == 0) for x in range(784)) for label in labels)
    for name, head, data in (("images-idx3", (0x803, 100, 28, 28), pixels),
                             ("labels-idx1", (0x801, 100), bytes(labels))):
        with open(f"t10k-{name}-ubyte", "wb") as f:
            f.write(struct.pack(f">{len(head)}I", *head) + data)
    return ["--data", os.getcwd()]


def example(name, pattern, batch, *argv):
    """A part: an example trains on the GPU; then PyTorch trains the same network, if it is here.
    With the fakes the batch is small."""
    def run(machine):
        size = ["--batch", "20" if machine.dry else str(batch)]
        path = machine.program(name)
        if "--gpu" not in output(path, "--help"):
            raise LeftOut(f"{name} has no --gpu yet")
        call(machine.program("gangway"), "up", "--slots", "4")
        try:
            data = few_digits() if machine.dry and name == "digits" else []
            said = output(path, "--gpu", "--ranks", "1", *size, *argv, *data)
        finally:
            call(machine.program("gangway"), "down")
        ours = float(re.findall(pattern, said)[-1])
        print(f"figure samples_per_s {ours:.0f}", flush=True)
        for key, theirs in peer(machine, name, *size).items():
            if key.endswith("_samples_per_s"):
                print(f"figure beside_{key[:-len('_samples_per_s')]} {ours / theirs:.2f}")
    return run


def sanitizer(machine):
    """Looks for accesses outside of the memory of the device. Some machines refuse the tool."""
    tool = os.path.join(HERE, "fake", "compute-sanitizer") if machine.dry else \
        os.environ.get("COMPUTE_SANITIZER") or shutil.which("compute-sanitizer")
    if not tool:
        raise LeftOut("no compute-sanitizer")
    done = subprocess.run([tool, "--tool", "memcheck", "--target-processes", "all",
                           "--error-exitcode", "9", machine.program("nccl_kernels")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(done.stdout, end="", flush=True)
    if "not supported" in done.stdout:
        raise LeftOut("compute-sanitizer: not supported here")
    if done.returncode:
        raise Failed(f"compute-sanitizer ended with {done.returncode}")


def torch_scripts(machine):
    """A script of PyTorch, with NCCL, or with gloo with the fakes."""
    peer(machine, "device")
    script = os.path.join(HERE, "train_torch.py")
    if not os.path.exists(script):
        script = os.path.join(HERE, "../e2e/programs/train_torch.py")
    said = output(*dispatch_script(machine, sys.executable, script))
    if said.count("same True") != 2:
        raise Failed("two ranks did not end with the same weights")


def run_program(name, argv, machine):
    call(machine.program(name), *argv)


def program(name, *argv):
    """A part that is one program. With the fakes ctest has a test of each program."""
    return functools.partial(run_program, name, argv)


# name: (what it shows, time limit in seconds, function)
PARTS = {
    "probe": ("calls of NVML, CUDA and NCCL", 60, program("nccl_probe")),
    "rank": ("operations, 1 rank", 60, program("nccl_grid", "--table", "--ranks", "1")),
    "ranks": ("operations, 2 ranks on one GPU", 60,
              program("nccl_grid", "--table", "--ranks", "2")),
    "training": ("N ranks train as one", 60, program("nccl_training")),
    "stream": ("reduction beside backward; replay", 60, program("nccl_stream")),
    "enqueue": ("a collective beside raw NCCL", 40, program("nccl_enqueue")),
    "kernels": ("optimizers beside those on the host", 30, program("nccl_kernels")),
    "optimizers": ("float beside double; times", 30, program("nccl_optimizers")),
    "torch_optimizers": ("optimizers beside PyTorch's, fused", 60, torch_optimizers),
    "checkpoints": ("checkpoints from the GPU's memory", 60, program("nccl_checkpoints")),
    "gpus": ("several GPUs a rank", 60, program("nccl_gpus")),
    "places": ("checkpoints into the GPU's memory", 60, program("nccl_places")),
    "norm": ("batch norm over the batch of all ranks", 60, program("nccl_norm")),
    "petnames": ("pet names beside PyTorch", 90, example(
        "petnames", r"at (\d+) samples/s", 1024, "--size", "article", "--steps", "30",
        "--checkpoint", "model")),
    "digits": ("digits beside PyTorch", 90, example(
        "digits", r"(\d+) images/s", 500, "--epochs", "2")),
    "sanitizer": ("kernels under compute-sanitizer", 60, sanitizer),
    "gangs": ("gangs on a cluster", 90, gangs),
    "scripts": ("gangs of scripts that use NCCL", 60, scripts),
    "torch_scripts": ("gangs of PyTorch scripts", 60, torch_scripts),
    "kill": ("memory after a kill", 60, kill),
    "failures": ("trap, kill, no memory; memory after it", 60, failures),
    "parts": ("parts and groups", 90, program("nccl_comm_parts")),
    "ends": ("aborted and late in each operation", 120, program("nccl_comm_ends")),
    "conformance": ("conformance of the communicator", 150, program("nccl_comm")),
    "grid": ("every operation, type, size, ranks", 200, grid),
}


def run_here(machine, name):
    """Runs one part in this process, which is what its exit code says."""
    os.chdir(os.environ["HOME"])
    try:
        PARTS[name][2](machine)
    except LeftOut as e:
        print(e)
        return LEFT_OUT
    except Failed as e:
        print(f"error: {e}")
        return 1
    return 0


# -- All of them -----------------------------------------------------------------------------------


class Run:
    """The parts one after another, and what came of them."""

    def __init__(self, parts, command, env, log, all_s=ALL_S):
        self.parts, self.command, self.env, self.log = parts, command, env, log
        self.end = time.monotonic() + all_s
        self.results, self.child = [], None

    def read(self, child, figures, last):
        """Copies the output of a part, and keeps its figures and its last line."""
        for line in child.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            self.log.write(line)
            words = line.split()
            if len(words) == 3 and words[0] == "figure":
                figures[words[1]] = number(words[2])
            elif words:
                last[0] = line.strip()

    def part(self, name):
        """Runs a part; returns its entry of the JSON."""
        text, limit_s, _ = self.parts[name]
        left_s = self.end - FINISH_S - time.monotonic()
        result = {"name": name, "text": text, "state": "left out", "seconds": 0.0,
                  "why": "no time was left", "figures": {}}
        if left_s < min(ENOUGH_S, limit_s):
            return result
        began, last, until_s = time.monotonic(), [""], min(limit_s, left_s)
        self.child = subprocess.Popen(self.command(name), text=True, errors="replace",
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      env=dict(self.env, PART_S=str(int(until_s))),
                                      start_new_session=True)
        reader = threading.Thread(target=self.read, args=(self.child, result["figures"], last))
        reader.start()
        try:
            rc = self.child.wait(until_s)
        except subprocess.TimeoutExpired:
            rc = None
        self.end_child()
        reader.join(5)
        self.child.stdout.close()
        result["seconds"] = round(time.monotonic() - began, 1)
        if rc is None:
            late = until_s < limit_s
            result.update(state="left out" if late else "failed",
                          why="all time was over" if late else f"not done in {limit_s} s")
        else:
            result.update(state={0: "ok", LEFT_OUT: "left out"}.get(rc, "failed"),
                          why=last[0] if rc else "")
        return result

    def end_child(self):
        """Ends what a part left running in its session."""
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()

    def all(self):
        try:
            for name in self.parts:
                print(f"== {self.parts[name][0]}", flush=True)
                self.results.append(self.part(name))
        except KeyboardInterrupt:
            if self.child:
                self.end_child()
            self.results.append({"name": "interrupted", "text": "interrupted", "state": "failed",
                                 "seconds": 0.0, "why": "by a signal", "figures": {}})
        return any(result["state"] == "failed" for result in self.results)


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def table(results):
    """The lines of the table."""
    for result in results:
        said = [f"{k}={v}" for k, v in result["figures"].items()] + [result["why"]]
        yield (f"{result['text']:38} {result['state']:8} {result['seconds']:6.1f} s  "
               f"{' '.join(said)}").rstrip()


def report(results, facts, path):
    """Prints the table, and writes the JSON."""
    probe = next((r["figures"] for r in results if r["name"] == "probe"), {})
    facts = {**facts, "nccl": probe.get("nccl", "unknown"), "parts": results}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(facts, f, indent=1)
    print("== parts")
    print(" ".join(f"{key} {facts[key]}" for key in ("commit", "date", "gpu", "driver", "nccl")))
    for line in table(results):
        print(line)
    states = [result["state"] for result in results]
    print(", ".join(f"{states.count(state)} {state}" for state in ("ok", "left out", "failed")))
    print("FAILED" if "failed" in states else "all is well")


def run_all(machine, out):
    os.makedirs(out, exist_ok=True)
    home = tempfile.mkdtemp(prefix="gangway-gpu-", dir="/var/tmp")  # /tmp may be in memory
    env = machine.environment(home)
    command = [sys.executable, os.path.abspath(__file__), "--bin", machine.bin]
    command += ["--dry"] if machine.dry else []
    with open(os.path.join(out, "gpu.log"), "w", encoding="utf-8") as log:
        run = Run(PARTS, lambda name: command + ["--part", name], env, log)
        failed = run.all()
    subprocess.run([machine.program("gangway"), "down"], env=env, check=False, timeout=30,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(home, ignore_errors=True)
    report(run.results, machine.versions(), os.path.join(out, "gpu.json"))
    return int(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--bin")
    parser.add_argument("--out")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print(";".join(k for k, v in PARTS.items() if not isinstance(v[2], functools.partial)))
        return 0
    bin_folder = options.bin or os.environ.get("GANGWAY_BUILD")
    if not bin_folder:
        parser.error("--bin or GANGWAY_BUILD is needed")
    machine = Machine(options.dry, os.path.abspath(bin_folder))
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.default_int_handler)
    if not options.part:
        return run_all(machine, options.out or ".")
    if "PART_S" in os.environ:
        return run_here(machine, options.part)
    with tempfile.TemporaryDirectory(prefix="gangway-gpu-", dir="/var/tmp") as home:
        os.environ.update(machine.environment(home))
        return run_here(machine, options.part)


if __name__ == "__main__":
    sys.exit(main())
