#!/usr/bin/env python3
"""The same 200 small jobs of four accounts with the shares 4:2:1:1 on the same two cores: on a
Slurm of this machine (multifactor priority, backfill), then on Gangway. Gangway must end them
earlier, and start the accounts' jobs in the order of their shares on average. Slurm's order is
printed and not required: Slurm computes priorities once a minute, from the jobs that it counts at
that moment, so its order differs from run to run.

Ends with 77 if this is not root, or if Slurm or MariaDB of Debian is missing. The daemons get
folders, keys and ports of their own and end with this script."""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SHARES = {"ada": 4, "bob": 2, "cid": 1, "dee": 1}
CORES = 2
WAIT_S = 120
NEEDED = ("slurmctld", "slurmd", "slurmdbd", "sbatch", "sacctmgr", "scontrol", "munged", "mungekey",
          "mariadbd", "mariadb-install-db")
JOB = 'date +%s%N >"$1"; sleep "$2"; date +%s%N >>"$1"'


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Daemons:
    """Processes that end, last first, when this object is closed."""
    def __init__(self, folder):
        self.folder, self.running = folder, []

    def start(self, *words, **more):
        name = os.path.basename(words[0]) + ".out"
        with open(os.path.join(self.folder, name), "ab") as log:
            self.running.append(subprocess.Popen(words, stdout=log, stderr=log,
                                                 stdin=subprocess.DEVNULL, **more))

    def pause(self):
        """Gives the daemons a moment. Ends this script if the last one has ended."""
        last = self.running[-1]
        try:
            last.wait(0.1)
        except subprocess.TimeoutExpired:
            return
        with open(os.path.join(self.folder, os.path.basename(last.args[0]) + ".out"), "rb") as f:
            sys.exit(f"{last.args} has ended: {f.read().decode(errors='replace')[-2000:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run(*words, env=None):
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=WAIT_S,
                          check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def retry(daemons, *words, env=None, until=None):
    """Repeats a command until it succeeds, and `until` is in its output."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False,
                              timeout=WAIT_S)
        if done.returncode == 0 and (until is None or until in done.stdout):
            return done.stdout
        daemons.pause()
    sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")


def job_words(folder, user, number, seconds):
    return ["sh", "-c", JOB, "sh", os.path.join(folder, f"{user}-{number}"), str(seconds)]


def results(daemons, folder, jobs, released_ns):
    """Waits for all jobs. Returns the makespan and each user's mean start, in seconds."""
    end = time.monotonic() + 900
    while True:
        times = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="ascii") as f:
                times[name] = [int(line) for line in f]
        if len(times) == jobs and all(len(both) == 2 for both in times.values()):
            break
        if time.monotonic() > end:
            sys.exit(f"only {len(times)} of {jobs} jobs have started")
        daemons.pause()
    starts = {user: [both[0] for name, both in times.items() if name.startswith(user)]
              for user in SHARES}
    return {"makespan_s": (max(both[1] for both in times.values()) - released_ns) / 1e9,
            "mean_start_s": {user: (sum(all_) / len(all_) - released_ns) / 1e9
                             for user, all_ in starts.items()}}


# -- Slurm -----------------------------------------------------------------------------------------

def write(path, text, mode=0o600):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def start_munge(daemons, folder):
    key, path = os.path.join(folder, "munge.key"), os.path.join(folder, "munge.socket")
    run("mungekey", "--create", "--keyfile", key)
    daemons.start("munged", "--foreground", "--force", "--key-file", key, "--socket", path,
                  "--pid-file", os.path.join(folder, "munged.pid"), "--seed-file",
                  os.path.join(folder, "munged.seed"), "--log-file",
                  os.path.join(folder, "munged.log"))
    while not os.path.exists(path):
        daemons.pause()
    return path


def start_database(daemons, folder, port):
    data, path = os.path.join(folder, "data"), os.path.join(folder, "mariadb.socket")
    run("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}",
        "--auth-root-authentication-method=normal", "--skip-test-db")
    daemons.start("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}",
                  f"--socket={path}", "--bind-address=127.0.0.1", f"--port={port}",
                  f"--pid-file={folder}/mariadb.pid")
    sql = "CREATE USER slurm@127.0.0.1 IDENTIFIED BY 'slurm'; GRANT ALL ON *.* TO slurm@127.0.0.1"
    retry(daemons, "mariadb", "--no-defaults", f"--socket={path}", "-e", sql)


def start_slurm(daemons, folder):
    """Starts a cluster whose only node is down. Returns the environment of its commands."""
    host = socket.gethostname().split(".")[0]
    database, dbd, ctld, slurmd = free_ports(4)
    munge = start_munge(daemons, folder)
    start_database(daemons, folder, database)
    write(f"{folder}/slurmdbd.conf", f"""
AuthType=auth/munge
AuthInfo=socket={munge}
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={dbd}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
""")
    write(f"{folder}/slurm.conf", f"""
ClusterName=peer
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmdPort={slurmd}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={munge}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
PriorityType=priority/multifactor
PriorityWeightFairshare=100000
PriorityCalcPeriod=1
PriorityDecayHalfLife=7-0
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={munge}
AccountingStorageEnforce=associations
ReturnToService=2
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs={CORES} State=UNKNOWN
PartitionName=all Nodes=node1 Default=YES MaxTime=INFINITE State=UP
""", 0o644)
    os.makedirs(f"{folder}/state")
    os.makedirs(f"{folder}/spool")
    env = dict(os.environ, SLURM_CONF=f"{folder}/slurm.conf")
    daemons.start("slurmdbd", "-D", env=env)
    retry(daemons, "sacctmgr", "-n", "list", "cluster", env=env)
    run("sacctmgr", "-i", "add", "cluster", "peer", env=env)
    for user, shares in SHARES.items():
        run("sacctmgr", "-i", "add", "account", user, "cluster=peer", f"fairshare={shares}",
            env=env)
        run("sacctmgr", "-i", "add", "user", "root", f"account={user}", "cluster=peer", env=env)
    daemons.start("slurmctld", "-D", env=env)
    daemons.start("slurmd", "-D", "-N", "node1", env=env)
    retry(daemons, "sinfo", "-h", "-o", "%T", env=env, until="idle")
    run("scontrol", "update", "nodename=node1", "state=drain", "reason=not yet", env=env)
    return env


def on_slurm(folder, each, seconds):
    jobs = os.path.join(folder, "jobs")
    os.makedirs(jobs)
    with Daemons(folder) as daemons:
        env = start_slurm(daemons, folder)
        script = write(f"{folder}/job", f"#!/bin/sh\n{JOB}\n", 0o755)
        for number in range(each):
            for user in SHARES:
                run("sbatch", "-A", user, "-n", "1", "-t", "1", "-o", "/dev/null", "-D", "/",
                    script, os.path.join(jobs, f"{user}-{number}"), str(seconds), env=env)
        released_ns = time.time_ns()
        run("scontrol", "update", "nodename=node1", "state=resume", env=env)
        return results(daemons, jobs, each * len(SHARES), released_ns)


# -- Gangway ---------------------------------------------------------------------------------------

def on_gangway(gangway, folder, each, seconds):
    jobs = os.path.join(folder, "jobs")
    for name in ("jobs", "run", "home"):
        os.makedirs(os.path.join(folder, name), mode=0o700)
    tokens = os.path.join(folder, "tokens")
    base = {"PATH": os.environ["PATH"], "HOME": f"{folder}/home",
            "XDG_RUNTIME_DIR": f"{folder}/run"}

    def token(user, role):
        return json.loads(run(gangway, "token", "create", "--user", user, "--role", role,
                              "--tokens", tokens, "--json", env=base))["token"]

    entries = ",\n".join(f'  {{ name = "{user}-lab"; shares = {shares}; users = ["{user}"]; }}'
                         for user, shares in SHARES.items())
    config = write(f"{folder}/gangway.conf", f"""
policy = {{ half-life = "7d"; gpu-weight = 1; slot-weight = 1; default-account = "ada-lab"; }};
accounts = (
{entries}
);
""")
    secrets = {user: token(user, "user") for user in SHARES}
    worker = token("w", "worker")
    with Daemons(folder) as daemons:
        daemons.start(gangway, "scheduler", "--config", config, "--dir",
                      f"{folder}/cluster", "--state", f"{folder}/state", "--listen", "127.0.0.1",
                      "--tokens", tokens, env=base)
        while not os.path.exists(f"{folder}/cluster/address"):
            daemons.pause()
        with open(f"{folder}/cluster/address", encoding="utf-8") as f:
            base["GANGWAY_ADDRESS"] = f.readline().strip()
        for number in range(each):
            for user, secret in secrets.items():
                run(gangway, "submit", "--detach", "--quiet", "--cwd", "/", "--",
                    *job_words(jobs, user, number, seconds),
                    env=dict(base, GANGWAY_TOKEN=secret))
        released_ns = time.time_ns()
        daemons.start(gangway, "worker", "--connect", base["GANGWAY_ADDRESS"], "--slots",
                      str(CORES), "--trust-users", "--dir", f"{folder}/worker",
                      env=dict(base, GANGWAY_TOKEN=worker))
        return results(daemons, jobs, each * len(SHARES), released_ns)


def order(result):
    """The users by their mean start. Users with equal shares have no order."""
    starts = result["mean_start_s"]
    return [SHARES[user] for user in sorted(starts, key=starts.get)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gangway", default="build/release/bin/gangway")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1, help="how long a job sleeps")
    parser.add_argument("--only", choices=("slurm", "gangway"), help="for a try of one of them")
    given = parser.parse_args()
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing or os.geteuid():
        print("not compared with Slurm: this needs root, and of Debian's packages slurmctld, "
              f"slurmd, slurmdbd, slurm-client, munge and mariadb-server; missing: {missing}")
        return 77
    each = given.jobs // len(SHARES)
    gangway = os.path.abspath(given.gangway)
    with tempfile.TemporaryDirectory(prefix="gw-slurm-") as folder:
        ran = {}
        for name, function in (("slurm", on_slurm),
                               ("gangway", lambda *rest: on_gangway(gangway, *rest))):
            if given.only in (None, name):
                os.makedirs(f"{folder}/{name}", mode=0o755)
                ran[name] = function(f"{folder}/{name}", each, given.seconds)
                print(name, json.dumps(ran[name]), flush=True)
    if given.only:
        return 0
    faster = ran["gangway"]["makespan_s"] < ran["slurm"]["makespan_s"]
    fair = order(ran["gangway"]) == sorted(SHARES.values(), reverse=True)
    print(f"makespan {'shorter' if faster else 'NOT shorter'} than Slurm's; shares in the order of "
          f"mean starts: Gangway {order(ran['gangway'])}, Slurm {order(ran['slurm'])}")
    return 0 if faster and fair else 1


if __name__ == "__main__":
    sys.exit(main())
