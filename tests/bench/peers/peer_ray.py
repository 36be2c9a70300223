"""Driver for Ray: one node with as many CPUs as workers, and one remote function call per row."""
import contextlib
import logging

import ray
from peer import pid, row, run

remote_row, remote_pid = ray.remote(row), ray.remote(pid)


@contextlib.contextmanager
def cluster(workers):
    ray.init(num_cpus=workers, include_dashboard=False, logging_level=logging.ERROR,
             log_to_driver=False, object_store_memory=2 << 30)
    try:
        yield None
    finally:
        ray.shutdown()


def run_graph(_, graph, submitted):
    refs = []
    for i in range(graph.count):
        refs.append(remote_row.remote(i, graph.duration_ns[i], graph.size[i],
                                      *(refs[dep] for dep in graph.deps_of(i))))
    submitted()
    sinks = graph.sinks()
    wanted = [refs[sink] for sink in sinks]
    return dict(zip(sinks, ray.get(wanted)))


def find_pids(_, count):
    return ray.get([remote_pid.remote() for _ in range(count)])


if __name__ == "__main__":
    run(ray.__version__, cluster, run_graph, find_pids=find_pids)
