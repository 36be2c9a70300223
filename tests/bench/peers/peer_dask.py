"""Driver for Dask distributed: worker processes with one thread each, and a graph in the form that
Dask's collections use."""
import contextlib
import itertools

import distributed
from peer import pid, row, run

RUNS = itertools.count()  # new keys in each run, so that no earlier result is reused


@contextlib.contextmanager
def cluster(workers):
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True,
                                  dashboard_address=None) as local:
        with distributed.Client(local) as client:
            yield client


def run_graph(client, graph, submitted):
    prefix = f"row{next(RUNS)}"
    keys = [(prefix, i) for i in range(graph.count)]
    tasks = {keys[i]: (row, i, graph.duration_ns[i], graph.size[i],
                       *(keys[dep] for dep in graph.deps_of(i)))
             for i in range(graph.count)}
    sinks = graph.sinks()
    futures = client.get(tasks, [keys[sink] for sink in sinks], sync=False)
    submitted()
    return dict(zip(sinks, client.gather(futures)))


def find_pids(client, count):
    return client.gather([client.submit(pid, pure=False) for _ in range(count)])


if __name__ == "__main__":
    run(distributed.__version__, cluster, run_graph, find_pids=find_pids)
