"""Driver for TaskVine: commands. The manager runs in this process, with vine_worker processes of
one core each."""
import contextlib
import os
import subprocess
import tempfile

import ndcctools.taskvine as vine
from peer import run


@contextlib.contextmanager
def cluster(workers):
    with tempfile.TemporaryDirectory(prefix="vine-") as folder:
        manager = vine.Manager(port=0, run_info_path=folder)
        started = [subprocess.Popen(
            ["vine_worker", "--cores", "1", "--timeout", "600", "--workdir", folder,
             "127.0.0.1", str(manager.port)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) for _ in range(workers)]
        try:
            yield manager
        finally:
            for process in started:
                process.kill()
                process.wait()


def run_commands(manager, count):
    for i in range(count):
        task = vine.Task(f"true {i}")
        task.set_cores(1)
        manager.submit(task)
    left = count
    while left:
        task = manager.wait(5)
        if task:
            if not task.successful():
                raise SystemExit(f"command {task.command} failed: {task.result}")
            left -= 1


if __name__ == "__main__":
    run(getattr(vine, "__version__", os.popen("vine_worker --version").readline().strip()),
        cluster, run_commands=run_commands)
