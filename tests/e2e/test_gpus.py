#!/usr/bin/env python3
"""A worker with GPUs simulated by a fake NVML (tests/tools/fake_nvml.c): which GPUs tasks and
ranks see, exclusive use, memory that is not freed yet, and a GPU that falls off the bus."""
import getpass
import os
import signal

import e2e

FAKE = os.path.join(e2e.BUILD, "lib", "libfake_nvml.so")
GPUS = ["GPU-a", "GPU-b", "GPU-c", "GPU-d"]
# Prints the GPUs it sees, and waits until it may end.
SEES = 'echo "$1 $CUDA_VISIBLE_DEVICES" > "$SAID"; read -r line < "$2"'


class Gpus(e2e.Case):
    near = min(os.sched_getaffinity(0)) % 64  # the CPU near each GPU

    def machine(self, used=0, extra="", busy=5):
        """Two NVLink domains of two GPUs: a and c, b and d."""
        lines = [f"gpu {uuid} memory=17179869184 used={used if uuid == 'GPU-a' else 0} "
                 f"nvlink={1 + i % 2} power=70000 busy={busy} cpus={1 << self.near:x}"
                 for i, uuid in enumerate(GPUS)]
        path = self.write("machine.new", "\n".join(lines) + "\n" + extra)
        os.rename(path, os.path.join(self.dir, "machine"))

    def setUp(self):
        super().setUp()
        self.machine()
        self.env.update({"GANGWAY_NVML": FAKE, "FAKE_NVML": os.path.join(self.dir, "machine")})
        self.said = e2e.Lines(self.fifo("said"))
        self.addCleanup(self.said.close)
        self.env["SAID"] = self.said.path
        self.up("--slots", "8")

    def gpus(self):
        return {gpu["uuid"]: gpu for gpu in self.gangway_json("gpu", "list")}

    def submit(self, name, *words, verb="submit"):
        """A task that runs until its fifo is written to."""
        fifo = os.path.join(self.dir, name)
        if not os.path.exists(fifo):
            self.fifo(name)
        return self.gangway(verb, "-d", *words, "--", "sh", "-c", SEES, "sh", name,
                            fifo).stdout.strip()

    def end(self, name, count=1):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as fifo:
            fifo.write("end\n" * count)

    def test_tasks_see_only_their_assigned_gpus(self):
        """A task sees its GPUs, a rank sees the GPUs of its gang (one NVLink domain), and other
        tasks see none."""
        first = self.submit("one", "--gpus", "1")
        name, seen = self.said.next().split(" ")
        self.assertEqual((name, seen), ("one", "GPU-a"))
        gang = self.submit("gang", "-n", "2", "--gpus-per-rank", "1", verb="dispatch")
        for _ in range(2):
            self.assertEqual(self.said.next(), "gang GPU-b,GPU-d")
        none = self.submit("none")
        self.assertEqual(self.said.next(), "none ")
        parts = [self.submit(f"part{i}", "--gpus", "0.5") for i in range(2)]
        for _ in parts:
            self.assertEqual(self.said.next().split(" ")[1], "GPU-c")
        waits = self.submit("late", "--gpus", "1")
        self.assertIn("1 GPU\n  ", self.gangway("explain", waits).stdout)
        gpus = self.gpus()
        self.assertEqual([gpus[uuid]["state"] for uuid in GPUS],
                         ["used", "used", "shared", "used"])
        self.assertEqual(gpus["GPU-a"]["used_by"], [{"job": int(first), "task": 0}])
        self.assertEqual(gpus["GPU-d"]["used_by"], [{"job": int(gang), "task": 0, "rank": 1}])
        self.assertEqual(gpus["GPU-a"]["memory_bytes"], 16 << 30)
        self.assertIn(f"{first}/0", self.gangway("gpu", "list").stdout)
        while {use["power_w"] for use in self.gangway_json("status")["gpu_use"]} != {70}:
            pass  # they are checked once a second
        status = self.gangway("status").stdout
        self.assertRegex(status, r"GPU memory +64\.0 GiB")
        self.assertRegex(status, rf"\n *{gang} +0 +1 +worker-1 +3 +16\.0 GiB +0 B +5 +70 W\n")
        self.assertRegex(status, rf"\n *{parts[0]} +0 +- +worker-1 +1 \(0\.5 of it\) +")
        self.end("one")
        self.assertEqual(self.said.next(), "late GPU-a")
        refused = self.gangway("dispatch", "-n", "2", "--gpus-per-rank", "5", "--", "true",
                               rc=2).stderr
        self.assertIn("it needs 5 GPUs a rank; the largest worker has 4", refused)
        self.assertIn("a fraction of one (0.5)",
                      self.gangway("submit", "--gpus", "1.5", "--", "true", rc=2).stderr)

    def test_rank_with_several_gpus_sees_only_its_own(self):
        """cuda:0 and cuda:1 are the rank's own GPUs; LOCAL_RANK would be another rank's GPU.
        With one GPU per rank, or a single rank, all is as usual."""
        script = "echo sees $CUDA_VISIBLE_DEVICES own $GANGWAY_GPUS"

        def sees(*words):
            said = self.gangway("dispatch", *words, "--", "sh", "-c", script)
            return sorted(line.split("sees ")[1] for line in said.stdout.splitlines())
        self.assertEqual(sees("-n", "2", "--gpus", "2"),
                         ["GPU-a,GPU-c own 0,1", "GPU-b,GPU-d own 0,1"])
        self.assertEqual(sees("-n", "2", "--gpus", "1"), ["GPU-a,GPU-c own 0", "GPU-a,GPU-c own 1"])
        self.assertEqual(sees("-n", "1", "--gpus", "4"), ["GPU-a,GPU-c,GPU-b,GPU-d own 0,1,2,3"])
        self.assertEqual(sees("-n", "2", "--gpus", "0.5"), ["GPU-a own 0", "GPU-a own 0"])

    def test_held_gpus_that_are_idle_are_listed_with_their_user(self):
        """GPUs that no task has are not listed, nor GPUs that do something."""
        self.submit("one", "--gpus", "1")
        self.said.next()
        idle = ("gpu", "list", "--idle", "500ms")
        self.assertEqual(self.gangway_json(*idle), [])
        self.machine(busy=0)
        while not self.gangway_json(*idle):
            pass  # they are checked once a second
        (gpu,) = self.gangway_json(*idle)
        self.assertEqual((gpu["uuid"], gpu["users"]), ("GPU-a", getpass.getuser()))
        self.assertGreaterEqual(gpu["idle_ns"], 500e6)
        self.assertIn(getpass.getuser(), self.gangway(*idle).stdout)
        self.assertEqual(self.gangway_json("gpu", "list", "--idle", "1h"), [])
        self.assertEqual(self.gangway("gpu", "list", "--idle", "1h").stderr, "no GPUs to list\n")
        self.end("one")

    def bound(self, *words):
        """The CPUs that a task with a GPU may use."""
        return self.gangway("submit", *words, "--", "python3", "-c",
                            "import os; print(sorted(os.sched_getaffinity(0)))").stdout.strip()

    def test_tasks_are_bound_to_cpus_near_their_gpus(self):
        """A task is bound to the CPUs near its GPUs, if there are such CPUs and the task does
        not opt out."""
        all_cpus = sorted(os.sched_getaffinity(0))
        near = [self.near] if self.near in all_cpus else all_cpus
        self.assertEqual(self.bound("--gpus", "1"), str(near))
        self.assertEqual(self.bound("--gpus", "1", "--bind", "none"), str(all_cpus))
        self.assertEqual(self.bound(), str(all_cpus))
        self.assertIn("near (the CPUs near the GPUs) or none",
                      self.gangway("submit", "--bind", "far", "--", "true", rc=2).stderr)

    def test_function_ranks_see_their_own_gpus(self):
        """Each rank of a function gang sees its own GPU; a task with a part of a GPU learns the
        size of the part."""
        gang, alone = self.run_program(os.path.join(e2e.BUILD, "bin", "gpus")).stdout.split("] ")
        self.assertRegex(gang, r'^\["1:GPU-[abcd]:", "1:GPU-[abcd]:"$')
        ranks = sorted(part[2:7] for part in gang.split('"')[1::2])
        self.assertIn(ranks, [["GPU-a", "GPU-c"], ["GPU-b", "GPU-d"]])
        self.assertRegex(alone, r'^"1:GPU-[abcd]:" "1:GPU-[abcd]:4294967250" "0::" $')

    def test_drained_gpus_stay_drained_across_restarts(self):
        """This holds after a restart of the whole cluster, although the error is not visible
        any more."""
        self.machine(extra="xid GPU-a 48 1\n")
        while self.gpus()["GPU-a"]["state"] != "drained":
            pass
        said = self.gangway("gpu", "drain", "GPU-c").stderr
        self.assertIn("`gangway gpu undrain GPU-c` allows work on it again", said)
        self.assertIn("`worker gpus` is now called `gangway gpu list`",
                      self.gangway("worker", "gpus", "--drain", "GPU-a", rc=2).stderr)
        self.gangway("down")
        self.machine()
        self.up("--slots", "8")
        gpus = self.gpus()
        self.assertEqual([gpus[uuid]["state"] for uuid in GPUS],
                         ["drained", "free", "drained", "free"])
        self.assertRegex(gpus["GPU-a"]["drained"], "^Xid 48: ")
        self.assertRegex(gpus["GPU-c"]["drained"], "^by ")
        for uuid in ("GPU-a", "GPU-c"):
            self.assertIn("undrained", self.gangway("gpu", "undrain", uuid).stderr)
        self.assertEqual(self.gpus()["GPU-a"]["state"], "free")

    def test_next_task_waits_for_gpu_memory_and_survives_a_break(self):
        """The next task waits until the memory of the last one is freed. If its GPU falls off
        the bus, the task runs again on another GPU, and that does not count."""
        first = self.submit("one", "--gpus", "1")
        self.assertEqual(self.said.next(), "one GPU-a")
        self.machine(used=8 << 30)
        self.gangway("submit", "-q", "--gpus", "3", "--", "true")  # the others are used and free
        self.end("one")
        self.gangway("wait", first)
        job = self.submit("two", "--gpus", "1")
        self.assertEqual(self.gpus()["GPU-a"]["used_by"], [{"job": int(job), "task": 0}])
        self.gangway("submit", "-q", "--", "sh", "-c", 'echo other > "$SAID"')
        self.assertEqual(self.said.next(), "other")  # "two" is not there before it
        self.machine()  # the memory is freed
        self.assertEqual(self.said.next(), "two GPU-a")
        self.machine(extra="xid GPU-a 79 1\n")
        self.assertEqual(self.said.next(), "two GPU-c")  # of the NVLink domain that is in use
        gpu = self.gpus()["GPU-a"]
        self.assertEqual((gpu["state"], gpu["drained"]),
                         ("drained", "Xid 79: it fell off the bus"))
        self.assertIn("drained", self.gangway("gpu", "list").stdout)
        self.assertRegex(self.gangway("status").stdout, r"Drained GPUs +1")
        self.assertIn("GPU-x: `gangway gpu list` lists the UUIDs",
                      self.gangway("gpu", "undrain", "GPU-x", rc=2).stderr)
        self.assertIn("GPU-b is not drained",
                      self.gangway("gpu", "undrain", "GPU-b", rc=2).stderr)
        self.assertIn("undrained", self.gangway("gpu", "undrain", "GPU-a").stderr)
        gpu = self.gpus()["GPU-a"]
        self.assertEqual(gpu["state"], "free")
        self.assertRegex(gpu["by"], "^undrained by .*; it was drained because: Xid 79")
        with open(self.cluster("scheduler.log"),
                  encoding="utf-8") as log:
            self.assertRegex(log.read(), "GPU 0 of worker 1, which was drained, is undrained by ")
        self.end("two")
        self.gangway("wait", job)
        self.assertIn("its GPU GPU-a failed", self.gangway("events", f"{job}/0").stdout)


class Instances(e2e.Case):
    """A whole GPU, and two that are partitioned."""

    def setUp(self):
        super().setUp()
        self.env.update({"GANGWAY_NVML": FAKE, "FAKE_NVML": self.write("machine", "\n".join([
            "gpu GPU-a memory=17179869184", "gpu GPU-b memory=17179869184",
            "gpu GPU-c memory=17179869184", "mig GPU-b MIG-1 memory=5368709120",
            "mig GPU-b MIG-2 memory=5368709120", "mig GPU-c MIG-3 memory=5368709120"]) + "\n")})
        self.up("--slots", "8")

    def sees(self, *words, verb="submit", **options):
        """The GPUs that CUDA shows each process, in order."""
        said = self.gangway(verb, *words, "--", "sh", "-c", "echo sees $CUDA_VISIBLE_DEVICES",
                            **options)
        return sorted(line.split("sees ")[1] for line in said.stdout.splitlines())

    def test_mig_instances_and_whole_gpus_are_assigned_by_kind(self):
        """A task gets an instance if that is large enough. The ranks of a gang get whole GPUs,
        or an instance each. A request that CUDA could not show a process is refused."""
        self.assertEqual(self.sees("--gpus", "1"), ["MIG-1"])
        self.assertEqual(self.sees("--gpus", "1", "--gpu-memory", "6G"), ["GPU-a"])
        self.assertEqual(self.sees("-n", "1", "--gpus", "1", verb="dispatch"), ["GPU-a"])
        self.assertEqual(self.sees("-n", "2", "--gpus", "1", verb="dispatch"), ["MIG-1", "MIG-3"])
        self.assertEqual(self.sees("-n", "3", "--gpus", "1", verb="dispatch"),
                         ["MIG-1", "MIG-2", "MIG-3"])
        self.assertIn("3 MIG instances do not count: CUDA shows a process only one",
                      self.gangway("submit", "--gpus", "2", "--", "true", rc=2).stderr)
        self.assertIn("never some of both: for 4 ranks there are 1 GPU and 3 instances",
                      self.gangway("dispatch", "-n", "4", "--gpus", "1", "--", "true",
                                   rc=2).stderr)


class Workers(e2e.Case):
    """The workers of one machine started by `gangway up` divide its GPUs as they divide its
    slots."""

    def await_owners(self, wanted):
        """Each query waits for its answer."""
        while True:
            gpus = self.gangway_json("gpu", "list")
            owners = sorted((gpu["worker_name"], gpu["uuid"], gpu["state"]) for gpu in gpus)
            if owners == wanted:
                return
            self.assertLess(set(owners), set(wanted))

    def test_workers_of_a_host_divide_its_gpus(self):
        """Neighbours stay together, a task that wants more than any worker has is told so, and
        a restarted worker gets its GPUs back."""
        lines = [f"gpu GPU-{name} memory=17179869184 nvlink={1 + i % 2}\n"
                 for i, name in enumerate("abcde")]
        self.env.update({"GANGWAY_NVML": FAKE, "FAKE_NVML": self.write("machine", "".join(lines))})
        self.up("--slots", "8", "--workers", "2")
        wanted = [("worker-1", "GPU-a", "free"), ("worker-1", "GPU-c", "free"),
                  ("worker-1", "GPU-e", "free"), ("worker-2", "GPU-b", "free"),
                  ("worker-2", "GPU-d", "free")]
        self.await_owners(wanted)
        log = self.cluster("worker-1.log")
        with open(log, encoding="utf-8") as f:
            self.assertIn("this worker uses 2 of this machine's 5 GPUs: GPU-b, GPU-d", f.read())
        seen = self.gangway("dispatch", "-n", "2", "--on", "worker-2", "--gpus", "1", "--", "sh",
                            "-c", "echo sees $CUDA_VISIBLE_DEVICES").stdout
        self.assertEqual(seen.count("sees GPU-b,GPU-d"), 2)
        self.assertIn("the largest worker has 3",
                      self.gangway("submit", "--gpus", "4", "--", "true", rc=2).stderr)
        with open(log.replace("worker-1.log", "worker-2.lock"), encoding="utf-8") as f:
            os.kill(int(f.read()), signal.SIGKILL)
        while len(self.gangway_json("gpu", "list")) > 3:
            pass
        self.await_owners(wanted)


class Twins(e2e.Case):
    """Two workers of one machine, which offer the same two GPUs."""

    def second(self):
        path = self.cluster("address")
        token = self.gangway_json("token", "create", "--user", "w", "--role", "worker")["token"]
        with open(path, encoding="utf-8") as f:
            env = {"GANGWAY_ADDRESS": f.read().strip(), "GANGWAY_TOKEN": token}
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            env[name] = os.path.join(self.dir, f"second-{name.lower()}")
            os.mkdir(env[name], 0o700)
        worker = self.start(e2e.BINARY, "worker", "--connect", env["GANGWAY_ADDRESS"], "--name",
                            "second", "--slots", "4", "--trust-users", env=env)
        worker.wait_output("other workers reach this one")
        while self.gangway_json("status")["workers"] < 2:
            pass

    def test_gpu_offered_by_two_workers_is_used_by_the_first(self):
        """The first worker uses the GPU; a task for the other worker is told that it has
        none."""
        lines = [f"gpu GPU-{name} memory=17179869184\n" for name in "ab"]
        self.env.update({"GANGWAY_NVML": FAKE, "FAKE_NVML": self.write("machine", "".join(lines))})
        self.gangway("token", "create", "--user", "admin", "--role", "admin")
        self.up("--listen", "127.0.0.1", "--slots", "4", "--trust-users")
        self.second()
        states = [(gpu["uuid"], gpu["state"]) for gpu in self.gangway_json("gpu", "list")]
        self.assertEqual(sorted(states), [("GPU-a", "elsewhere"), ("GPU-a", "free"),
                                          ("GPU-b", "elsewhere"), ("GPU-b", "free")])
        self.assertIn("offered the GPU first", self.gangway("gpu", "list").stdout)
        self.assertIn("0 of 2", self.gangway("worker", "list").stdout)
        self.assertEqual(self.gangway_json("status")["gpus"], 2)
        said = e2e.Lines(self.fifo("said"))
        self.addCleanup(said.close)
        self.env["SAID"] = said.path
        script = 'echo "$CUDA_VISIBLE_DEVICES" > "$SAID"; read -r line < "$1"'
        go = self.fifo("go")
        for _ in range(3):
            last = self.gangway("submit", "-d", "--gpus", "1", "--", "sh", "-c", script, "sh",
                                go).stdout.strip()
        self.assertEqual(sorted([said.next(), said.next()]), ["GPU-a", "GPU-b"])
        self.assertIn("0 of 2 GPUs\n", self.gangway("explain", last).stdout)
        refused = self.gangway("submit", "--on", "second", "--gpus", "1", "--", "true", rc=2)
        self.assertIn("GPU", refused.stderr)
        with open(go, "w", encoding="utf-8") as fifo:
            fifo.write("end\n")
        said.next()  # the third, on the GPU that is free again


if __name__ == "__main__":
    e2e.main()
