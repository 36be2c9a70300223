"""Driver for HyperQueue: only commands (its tasks are processes). The server and one worker run in
this process."""
import contextlib
import importlib.metadata
import os
import tempfile

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
from peer import run


@contextlib.contextmanager
def cluster(workers):
    with tempfile.TemporaryDirectory(prefix="hq-") as folder:
        os.chdir(folder)
        with LocalCluster(folder, WorkerConfig(cores=workers)) as local:
            yield local.client()


def run_commands(client, count):
    job = Job(default_workdir=os.getcwd())
    for i in range(count):
        job.program(["true", str(i)], stdout=None, stderr=None)
    submitted = client.submit(job)
    if client.connection.wait_for_jobs((submitted.id,), lambda jobs: None):
        raise SystemExit("a command failed")


if __name__ == "__main__":
    run(importlib.metadata.version("hyperqueue"), cluster, run_commands=run_commands)
