"""A trial: a gang beside ordinary tasks, and faults at random times; a seed determines all of it.
The outcome is checked against the faults: the gang ends well with the right result if its budgets
allow for the faults, or fails with the reason, and nothing of it is left."""
import contextlib
import os
import random
import re
import select
import shutil
import signal
import time

import cluster
import e2e
from cluster import Daemon, Failed

GANG = os.path.join(e2e.BUILD, "bin", "chaos_gang")
END_S = 90  # of a job, in addition to faults: partitions of 15 s, workers in quarantine
HANG_MS = 1500
SLOW = 4 if e2e.SANITIZED else 1


class Fault:
    """A fault: its time, the budget that it counts against, and the text that a failure by it may
    have."""

    def __init__(self, name, at_s, trial):
        self.name, self.at_s, self.trial = name, at_s, trial
        self.random = trial.random
        self.charges, self.causes, self.said = 0, [], "nothing to do it to"
        self.until = None  # when the fault is over, and what ends it
        self.over = lambda: None

    def lasts(self, seconds, over):
        self.until, self.over = time.monotonic() + seconds, over

    def hit(self):
        getattr(self, self.name)()

    def rank(self):
        """(rank, pid) of a living rank, or None."""
        alive = [(rank, pid) for (rank, _), (pid, _) in self.trial.ranks().items()
                 if "chaos_gang" in e2e.command_of(pid)]
        return self.random.choice(sorted(alive)) if alive else None

    def length(self):
        """Usually shorter than a partition, sometimes longer."""
        if self.trial.long and self.random.random() < .5:
            return self.random.uniform(11, 17)
        return self.random.uniform(.05, 3)

    def stop(self, pid, seconds):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)

        def go_on():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.lasts(seconds, go_on)

    # -- Ranks -------------------------------------------------------------------------------------

    def rank_kill(self):
        found = self.rank()
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(found[1], signal.SIGKILL)
                self.charges, self.said = 1, f"rank {found[0]}"
                self.causes = [rf"rank {found[0]}\b.*(signal 9|SIGKILL|killed)"]

    def rank_stop(self):
        found = self.rank()
        if found:
            self.charges, self.said = 1, f"rank {found[0]} for ever"
            self.causes = [rf"rank {found[0]} hangs: it is stopped",
                           rf"rank {found[0]}\b.* the rank did not become ready",
                           rf"rank [\d, ]*\b{found[0]}\b[\d, ]* hang: they are stopped"]
            self.stop(found[1], 3600)

    def rank_pause(self):
        found = self.rank()
        if found:
            self.said = f"rank {found[0]} for less than its hang limit"
            self.stop(found[1], self.random.uniform(.05, HANG_MS / 3000))

    # -- Daemons -----------------------------------------------------------------------------------

    def worker(self):
        worker = self.random.choice(self.trial.cluster.workers)
        self.said = worker.name
        return worker

    def worker_kill(self):
        self.worker().process.kill()

    def worker_told(self):
        """An operator ends the worker: no budget counts it."""
        self.worker().process.kill(signal.SIGTERM)

    def worker_group(self):
        """A service manager or a node shutdown ends all its processes at once."""
        top = self.worker().process.pid
        for pid in [top] + [pid for pid in self.trial.cluster.pids()
                            if pid != top and cluster.descends(pid, top)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def worker_stop(self):
        worker, seconds = self.worker(), self.length()
        self.said += f" for {seconds:.1f} s"
        self.stop(worker.process.pid, seconds)

    def supervisor_kill(self):
        pid = self.worker().supervisor()
        if pid:
            os.kill(pid, signal.SIGKILL)

    def supervisor_stop(self):
        worker, seconds = self.worker(), self.random.uniform(.05, 2)
        pid = worker.supervisor()
        if pid:
            self.said += f" for {seconds:.1f} s"
            self.stop(pid, seconds)

    def reaper_kill(self):
        """Kills the process between the supervisor and a rank."""
        found = self.rank()
        if found:
            pid = cluster.ppid_of(found[1])
            if " supervisor" in e2e.command_of(pid):
                os.kill(pid, signal.SIGKILL)
                # Only the supervisor can report its rank, and other ranks may be reported before.
                self.charges, self.said = 1, f"rank {found[0]}"
                self.causes = [rf"rank {found[0]}\b.*signal 9", "the others are gone"]

    def scheduler_stop(self):
        seconds = self.length()
        self.said = f"for {seconds:.1f} s"
        self.stop(self.trial.cluster.scheduler.pid, seconds)

    def scheduler_kill(self):
        """Detached jobs continue; attached jobs end with the scheduler."""
        if self.trial.cluster.is_headless():
            return False
        seconds = self.length()
        self.said = f"for {seconds:.1f} s"
        self.trial.abandoned = not self.trial.detached
        self.causes = ["scheduler"]
        self.trial.cluster.kill_scheduler()
        self.lasts(seconds, self.trial.cluster.revive_scheduler)
        return True

    def scheduler_torn(self):
        """The next scheduler finds all commits, and a partial write."""
        if self.scheduler_kill():
            self.said += f", {self.trial.cluster.tear_log(self.random)} bytes torn"

    def disk_full(self):
        """The scheduler's disk is full: running tasks continue, and durable requests are refused
        or committed."""
        at = self.trial.cluster
        if at.is_headless() or not at.fill_disk():
            return
        seconds = self.length()
        kept = [job for job in (at.submit_one(), at.submit_one(), at.submit_one()) if job]
        self.trial.kept += kept
        self.said = f"for {seconds:.1f} s, {3 - len(kept)} of 3 refused"
        self.lasts(seconds, self.room_again)

    def room_again(self):
        """Until its scheduler has noticed that; it checks once a second."""
        at, deadline = self.trial.cluster, time.monotonic() + 10 * SLOW
        at.free_disk()
        if at.is_headless():
            self.lasts(.1, self.room_again)
            return
        while not (job := at.submit_one()):
            if time.monotonic() > deadline:
                raise Failed("there is room again, and its scheduler says that there is none")
        self.trial.kept.append(job)

    # -- Links -------------------------------------------------------------------------------------

    def link_cut(self):
        self.worker().link.cut()

    def link_silent(self):
        self.worker().link.silence()

    def link_stall(self):
        worker, seconds = self.worker(), self.length()
        self.said += f" for {seconds:.1f} s"
        worker.link.stall()
        self.lasts(seconds, worker.link.flow)

    def link_slow(self):
        worker, seconds = self.worker(), self.random.uniform(.5, 3)
        rate = self.random.choice((4000, 20000, 100000))
        self.said += f" for {seconds:.1f} s, {rate} bytes/s"
        worker.link.slow(rate)
        self.lasts(seconds, worker.link.flow)

    def links_stall(self):
        """The scheduler is alone on its side of a partition."""
        seconds = self.length()
        self.said = f"for {seconds:.1f} s"
        links = [worker.link for worker in self.trial.cluster.workers]
        for link in links:
            link.stall()
        self.lasts(seconds, lambda: [link.flow() for link in links])

    # -- Users -------------------------------------------------------------------------------------

    def client_kill(self):
        if self.trial.client.popen.poll() is None:
            self.said = "in time"
            self.trial.client.kill()
            self.causes = ["client", "cancelled", "was lost", "session"]
            self.trial.abandoned = not self.trial.detached

    def client_stop(self):
        if self.trial.client.popen.poll() is None:
            seconds = self.random.uniform(.05, 2)
            self.said = f"for {seconds:.1f} s"
            self.stop(self.trial.client.pid, seconds)

    def act(self, verb):
        if self.trial.cluster.is_headless():
            return False  # it would wait for the end of the partition, and the end for it
        job = self.trial.job()
        if job:
            done = self.trial.cluster.gangway(verb, str(job["id"]), well=False)
            self.said = (done.stdout + done.stderr).strip()
            return done.returncode == 0
        return False

    def user_cancel(self):
        if self.act("cancel"):
            self.charges, self.causes = 100, ["cancelled"]

    def user_restart(self):
        self.act("restart")

    def user_pause(self):
        if self.act("pause"):
            self.lasts(self.random.uniform(.05, 1), self.resume)

    def resume(self):
        if self.trial.cluster.is_headless():
            self.lasts(.1, self.resume)
        else:
            self.act("resume")

    def gpu_late(self):
        """Memory that is not freed for a while."""
        worker = self.worker()
        worker.gpus_used(8 << 30)
        self.lasts(self.random.uniform(.1, 2), lambda: worker.gpus_used(0))


FAULTS = {"rank_kill": 20, "rank_stop": 8, "rank_pause": 4, "worker_kill": 12, "worker_stop": 6,
          "supervisor_kill": 6, "supervisor_stop": 3, "reaper_kill": 4, "scheduler_stop": 3,
          "scheduler_kill": 4, "link_cut": 8, "link_silent": 3, "link_stall": 6, "link_slow": 6,
          "client_kill": 6, "client_stop": 3, "user_cancel": 4, "user_restart": 4, "user_pause": 3,
          "gpu_late": 4, "scheduler_torn": 0, "disk_full": 0, "links_stall": 0,
          "worker_told": 0, "worker_group": 0}
# drawn separately, so that older trials stay the same
LATER = ["scheduler_torn", "disk_full", "links_stall"]
LAST = ["worker_told", "worker_group"]  # and these once more
LATER_PERCENT = LAST_PERCENT = 25


class Trial:
    def __init__(self, of, seed, short=False):
        self.cluster, self.seed, self.name = of, seed, f"trial-{seed}"
        self.random = random.Random(seed)
        self.long = not short and self.random.random() < .08
        self.dir = os.path.join(of.dir, self.name)
        self.draw()

    def draw(self):
        pick = self.random
        self.function = pick.random() < .5
        self.gpus = pick.choice(("0", "0", "0", "1", "0.5"))
        self.ranks_count = pick.randint(1, 5 if self.gpus == "0" else cluster.SLOTS)
        self.steps, self.step_ms = pick.randint(1, 12), pick.choice((5, 20, 60, 120))
        self.restarts = pick.choice((0, 0, 1, 3))
        # The children of a function belong to its runner, which stays; they are not the gang's.
        kinds = "dcs" if self.function else "docs"
        self.traits = "".join(c for c in kinds if pick.random() < .35) or "-"
        self.detached = not self.function and pick.random() < .5
        self.beside = pick.randint(0, 4)
        names = pick.choices(list(FAULTS), list(FAULTS.values()), k=pick.choice((1, 1, 1, 2, 3)))
        span = .15 * SLOW + 1.3 * self.steps * self.step_ms / 1000
        self.faults = [Fault(name, pick.uniform(0, span), self) for name in names]
        later = random.Random(f"later {self.seed}")
        if later.random() * 100 < LATER_PERCENT:
            self.faults.append(Fault(later.choice(LATER), later.uniform(0, span), self))
        last = random.Random(f"last {self.seed}")
        if last.random() * 100 < LAST_PERCENT:
            self.faults.append(Fault(last.choice(LAST), last.uniform(0, span), self))
        self.faults.sort(key=lambda fault: fault.at_s)

    def describe(self):
        faults = ", ".join(f"{fault.name} at {fault.at_s:.2f} s ({fault.said})"
                           for fault in self.faults)
        return (f"{'function' if self.function else 'command'} of {self.ranks_count}, "
                f"{self.steps} steps of {self.step_ms} ms, traits {self.traits}, "
                f"{self.gpus} GPUs, {self.restarts} restarts"
                f"{', detached' if self.detached else ''}, {self.beside} tasks beside; {faults}")

    # -- What runs ---------------------------------------------------------------------------------

    def begin(self):
        os.mkdir(self.dir)
        env = dict(self.cluster.client_env, CHAOS_DIR=self.dir, CHAOS_NAME=self.name)
        numbers = [str(self.steps), str(self.step_ms), self.traits]
        if self.function:
            words = [GANG, "function", *numbers, str(self.ranks_count), str(self.restarts),
                     str(HANG_MS), self.gpus]
        else:
            words = [e2e.BINARY, "dispatch", *(["-d"] if self.detached else []), "-n",
                     str(self.ranks_count), "--name", self.name, "--max-restarts",
                     str(self.restarts), "--hang-timeout", f"{HANG_MS}ms", "--grace", "500ms",
                     "--gpus-per-rank", self.gpus, "--", GANG, "rank", *numbers]
        self.abandoned, self.kept = False, []
        self.client = Daemon(words, env=env, cwd=self.dir)
        self.others = None
        if self.beside:
            self.others = self.cluster.gangway(
                "submit", "-d", "--array", f"1-{self.beside}", "--", "sh", "-c",
                "sleep 0.$(({index} * 7)); echo {index}", env=env).stdout.split()[-1]

    def ranks(self):
        """{(rank, try): (pid, port)} of the newest reported attempt."""
        found = {}
        for name in os.listdir(self.dir):
            match = re.fullmatch(r"rank-(\d+)-(\d+)", name)
            if match:
                with open(os.path.join(self.dir, name), encoding="utf-8") as f:
                    pid, port = f.read().split()
                found[int(match.group(1)), int(match.group(2))] = (int(pid), int(port))
        newest = max((attempt for _, attempt in found), default=0)
        return {key: value for key, value in found.items() if key[1] == newest}

    def job(self):
        """The gang's row of `jobs`; None: it is not known yet."""
        return next((job for job in self.cluster.ask("jobs") if job["name"] == self.name), None)

    def ended(self):
        """Whether the client has printed everything."""
        return self.client.popen.poll() is not None

    def run(self):
        """Applies all faults at their times, and ends them; returns when all have ended."""
        began = time.monotonic()
        self.begin()
        pending, running = list(self.faults), []
        while pending or running:
            now = time.monotonic()
            if pending and now >= began + pending[0].at_s:
                fault = pending.pop(0)
                fault.hit()
                running += [fault] if fault.until else []
                continue
            for fault in [fault for fault in running if now >= fault.until]:
                running.remove(fault)
                fault.until = None
                fault.over()
                running += [fault] if fault.until else []  # it cannot end yet
            self.cluster.restart_gone()
            # A fault without an end lasts until the gang has ended.
            if not pending and all(fault.until > now + 60 for fault in running):
                break
            next_s = min([began + fault.at_s for fault in pending[:1]] +
                         [fault.until for fault in running], default=now) - now
            # Waits until the next fault is due, and reads the client's output meanwhile.
            pipe = [] if self.ended() else [self.client.popen.stdout]
            select.select(pipe, [], [], max(0, min(next_s, .05)))
            self.client.drain()
        self.finish(running)

    def finish(self, running):
        """Waits for the end; daemons that die are restarted meanwhile."""
        deadline = time.monotonic() + END_S
        while not self.ended():
            self.client._read(time.monotonic() + .1)
            self.cluster.restart_gone()
            if time.monotonic() > deadline:
                raise Failed(f"the gang has not ended within {END_S} s")
        self.client.drain()
        self.code, self.text = self.client.popen.wait(), self.client.text
        job = self.job()
        while job and job["state"] not in ("done", "failed", "cancelled"):
            self.cluster.restart_gone()
            job = self.job()
            if time.monotonic() > deadline:
                raise Failed(f"job {job['id']} has not ended within {END_S} s: {job['state']}")
        self.row = job
        for fault in running:
            fault.over()
        if job and (self.detached or self.abandoned):
            logs = self.cluster.gangway("logs", str(job["id"]), well=False)
            self.text = logs.stdout + logs.stderr
        if self.others:
            while True:
                self.cluster.restart_gone()
                done = self.cluster.gangway("wait", self.others, "--timeout", "1s", well=False)
                if done.returncode != 124 or time.monotonic() > deadline + END_S:
                    break
            if done.returncode:
                raise Failed(f"the tasks beside it: exit code {done.returncode}: {done.stderr}")

        for job in self.kept:
            done = self.cluster.gangway("wait", job, "--timeout", f"{END_S}s", timeout_s=END_S + 30,
                                        well=False)
            if done.returncode:
                raise Failed(f"job {job}, kept on a full disk: {done.returncode}: {done.stderr}")

    # -- What became of it -------------------------------------------------------------------------

    def judge(self):
        ranks, steps = self.ranks_count, self.steps
        wanted = f"sum {steps * (steps + 1) // 2 * (ranks * (ranks + 1) // 2)} from"
        if not self.row:
            if re.search("does not fit this cluster: it has|no worker has any", self.text):
                return "refused: a worker was away"
            if "no room" in self.text and any(fault.name == "disk_full" for fault in self.faults):
                return "refused: the scheduler's disk was full"
            if self.abandoned or any(fault.name == "client_kill" for fault in self.faults):
                return "never submitted"
            if self.code == 3 and any(fault.name == "scheduler_kill" for fault in self.faults):
                return "never submitted, and its client said so"
            raise Failed(f"there is no such job: {self.code} {self.text}")
        why = self.row.get("text", "")
        if self.row["state"] == "done":
            if "together with its output" in self.text:
                return "well, its output lost"
            if wanted not in self.text and not self.abandoned and not self.client_gone():
                raise Failed(f"no {wanted!r} in: {self.text} (exit code {self.code})")
            return "well" if self.row["tries"] <= 1 else "well, again"
        charges = sum(fault.charges for fault in self.faults)
        if self.abandoned:
            return "its client went"
        if charges <= self.restarts:
            raise Failed(f"it may start again: {why}")
        causes = [cause for fault in self.faults for cause in fault.causes]
        # The reaction of a rank to another's death may be reported before that death, if that
        # report comes from a worker with another fault.
        if causes and any(fault.name.startswith(("worker", "supervisor", "link", "scheduler"))
                          for fault in self.faults):
            causes.append("the others are gone")
        if not any(re.search(cause, why) for cause in causes):
            raise Failed(f"not the cause: {why}")
        if not self.detached and not self.client_gone() and self.code == 0:
            raise Failed("its client ended with 0")
        return "failed"

    def client_gone(self):
        return any(fault.name == "client_kill" and fault.said == "in time"
                   for fault in self.faults)

    def left(self):
        """What is left of its processes: idle runners of functions may stay, without
        descendants."""
        mark = f"CHAOS_NAME={self.name}".encode()
        for pid in self.cluster.pids():
            with contextlib.suppress(OSError):
                if mark not in e2e.environment_of(pid):
                    continue
                idle = self.function and " supervisor" in e2e.command_of(cluster.ppid_of(pid))
                if not idle and pid != self.client.pid:
                    return f"process {pid}: {e2e.command_of(pid)}"
        return None

    def close(self):
        self.client.popen.kill()
        self.client.popen.wait()
        self.client.popen.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)
