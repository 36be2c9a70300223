"""Task graphs that are the same for Gangway and for its peers.

A graph is a list of rows in topological order. Each row has its dependencies, its duration and the
size of its result. The value of a row is a 64-bit number that is computed from its index and the
values of its dependencies (`combine`). So the values of the sinks are right only if all rows before
them were right: a program that runs a graph fetches all sinks and compares them. Every generator
has a size and a seed as parameters and always makes the same graph."""
import array
import math
import random
import struct
import sys

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
MAGIC = b"GWGRAPH1"


def combine(index, values):
    """Returns the value of row `index`, like graph_file_combine."""
    x = (sum(values) + (index + 1) * GOLDEN) & MASK
    return x ^ (x >> 29)


class Graph:
    def __init__(self, name):
        self.name = name
        self.deps_at = array.array("I", [0])
        self.deps = array.array("I")
        self.duration_ns = array.array("I")
        self.size = array.array("I")  # bytes, at least 8

    @property
    def count(self):
        return len(self.size)

    @property
    def edges(self):
        return len(self.deps)

    def add(self, deps=(), duration_ns=0, size=8):
        row = self.count
        self.deps.extend(deps)
        self.deps_at.append(len(self.deps))
        self.duration_ns.append(int(duration_ns))
        self.size.append(max(8, int(size)))
        return row

    def deps_of(self, row):
        return self.deps[self.deps_at[row]:self.deps_at[row + 1]]

    def sinks(self):
        used = bytearray(self.count)
        for row in self.deps:
            used[row] = 1
        return [row for row in range(self.count) if not used[row]]

    def expected(self):
        """{sink: value}."""
        values = array.array("Q", bytes(8 * self.count))
        for row in range(self.count):
            values[row] = combine(row, [values[dep] for dep in self.deps_of(row)])
        return {sink: values[sink] for sink in self.sinks()}

    def work_s(self):
        return sum(self.duration_ns) / 1e9

    def longest_s(self):
        """Returns the length of the critical path, which no number of workers can beat."""
        end = array.array("Q", bytes(8 * self.count))
        for row in range(self.count):
            end[row] = self.duration_ns[row] + max((end[d] for d in self.deps_of(row)), default=0)
        return max(end, default=0) / 1e9

    def write(self, path):
        with open(path, "wb") as file:
            file.write(MAGIC + struct.pack("<II", self.count, self.edges))
            for column in (self.deps_at, self.deps, self.duration_ns, self.size):
                if sys.byteorder != "little":
                    column = array.array("I", column)
                    column.byteswap()
                file.write(column.tobytes())


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != MAGIC or len(data) < 16:
        raise ValueError(f"{path} is no graph")
    count, edges = struct.unpack_from("<II", data, 8)
    if len(data) != 16 + 4 * (count + 1 + edges + 2 * count):
        raise ValueError(f"{path} is cut short")
    graph, at = Graph(path), 16
    columns = []
    for length in (count + 1, edges, count, count):
        column = array.array("I", data[at:at + 4 * length])
        if sys.byteorder != "little":
            column.byteswap()
        columns.append(column)
        at += 4 * length
    graph.deps_at, graph.deps, graph.duration_ns, graph.size = columns
    return graph


# -- Shapes ----------------------------------------------------------------------------------------

def bag(n, rng, duration=lambda: 0, size=8):
    graph = Graph("bag")
    for _ in range(n):
        graph.add((), duration(), size)
    return graph


def reduce_rows(graph, rows, fan_in, duration=lambda: 0, size=8):
    """Rows that reduce `rows` to one, `fan_in` at a time."""
    while len(rows) > 1:
        rows = [graph.add(rows[i:i + fan_in], duration(), size)
                for i in range(0, len(rows), fan_in)]
    return rows[0]


def tree(n, rng, duration=lambda: 0, size=8):
    graph = Graph("tree")
    leaves = max(1, (n + 1) // 2)
    reduce_rows(graph, [graph.add((), duration(), size) for _ in range(leaves)], 2, duration, size)
    return graph


def merge(n, rng, duration=lambda: 0, size=8):
    graph = Graph("merge")
    graph.add([graph.add((), duration(), size) for _ in range(max(1, n - 1))], duration(), size)
    return graph


def chain(n, rng, duration=lambda: 0, size=8):
    graph = Graph("chain")
    row = graph.add((), duration(), size)
    for _ in range(n - 1):
        row = graph.add((row,), duration(), size)
    return graph


def random_graph(n, rng, duration=lambda: 0, size=8):
    """Each task has one or two inputs (1.5 on average) among the thousand rows before it."""
    graph = Graph("random")
    for row in range(n):
        first = max(0, row - 1000)
        deps = {rng.randrange(first, row) for _ in range(rng.choice((1, 2)))} if row else ()
        graph.add(sorted(deps), duration(), size)
    return graph


# -- The graphs of the RSDS paper ------------------------------------------------------------------
#
# The paper gives, for each graph, the numbers of tasks and edges, the mean duration and the mean
# size of the outputs. The shapes here follow the Dask programs with those names and have the
# published numbers of tasks and edges. Durations have an exponential distribution with the
# published mean.

def rsds_merge(scale, rng, duration, size):
    return merge(int(100000 * scale) + 1, rng, duration, size)


def rsds_tree(scale, rng, duration, size):
    return tree(int(32768 * scale) * 2 // 2 - 1 or 1, rng, duration, size)


def rsds_bag(scale, rng, duration, size):
    """200 partitions, their product with themselves, a map over that, a fold eight at a time."""
    graph, parts = Graph("bag"), max(2, round(200 * math.sqrt(scale)))
    rows = [graph.add((), duration(), size) for _ in range(parts)]
    mapped = []
    for a in rows:
        for b in rows:
            pair = graph.add((a, b) if a != b else (a,), duration(), size)
            mapped.append(graph.add((pair,), duration(), size))
    reduce_rows(graph, mapped, 8, duration, size)
    return graph


def rsds_numpy(scale, rng, duration, size):
    """(x + x.T)[::2, n/2:].mean(axis=1) over blocks: only the right half of the sum is needed."""
    graph, side = Graph("numpy"), max(4, round(200 * math.sqrt(scale)))
    half, blocks = side // 2, {}

    def block(i, j):
        if (i, j) not in blocks:
            blocks[i, j] = graph.add((), duration(), size)
        return blocks[i, j]

    for i in range(side):
        chunks = []
        for j in range(half, side):
            both = sorted({block(i, j), block(j, i)})
            total = graph.add(both, duration(), size)
            chunks.append(graph.add((total,), duration(), size))
        reduce_rows(graph, chunks, 4, duration, size)
    return graph


def rsds_groupby(scale, rng, duration, size):
    """A row a partition, two columns of it, two partial aggregates, two trees of them."""
    graph, partitions = Graph("groupby"), max(8, round(34560 * scale))
    first, second = [], []
    for _ in range(partitions):
        part = graph.add((), duration(), size)
        key = graph.add((part,), duration(), size)
        column = graph.add((part,), duration(), size)
        first.append(graph.add((key, column), duration(), size))
        second.append(graph.add((column,), duration(), size))
    reduce_rows(graph, first, 8, duration, size)
    reduce_rows(graph, second, 8, duration, size)
    return graph


def rsds_join(scale, rng, duration, size):
    """A shuffle in three stages of k branches (group, split in k, gather from k), then a map."""
    k = max(2, round(12 * scale ** (1 / 4)))
    graph, parts = Graph("join"), k ** 3
    real = max(1, parts * 1440 // 1728)
    rows = [graph.add((), duration(), size) if i < real else None for i in range(parts)]
    for stage in range(3):
        step, pieces = k ** (2 - stage), []
        for row in rows:
            group = graph.add((row,), duration(), size) if row is not None else None
            pieces.append([graph.add((group,), duration(), size) for _ in range(k)]
                          if group is not None else None)
        gathered = []
        for i in range(parts):
            digit, base = i // step % k, i - (i // step % k) * step
            inputs = [pieces[base + j * step][digit] for j in range(k)
                      if pieces[base + j * step] is not None]
            gathered.append(graph.add(inputs, duration(), size) if inputs else None)
        rows = gathered
    for row in rows:
        if row is not None:
            graph.add((row,), duration(), size)
    return graph


# name: generator, mean ms, mean KiB, published tasks, published edges (thousands)
RSDS = {
    "merge-100K": (rsds_merge, 0.006, 0.03, 100, 100),
    "tree-15": (rsds_tree, 0.007, 0.03, 33, 33),
    "bag-25K-200": (rsds_bag, 3.6, 0.8, 86, 166),
    "numpy-50K-200": (rsds_numpy, 0.9, 191, 77, 87),
    "groupby-1440-1S-1H": (rsds_groupby, 3.8, 64, 183, 252),
    "join-1-1S-1T": (rsds_join, 1.7, 3.7, 72, 126),
}


# -- Task Bench ------------------------------------------------------------------------------------
#
# The tasks are the points (t, i) of a grid that is `width` wide. A published relation says on which
# points of step t - 1 the point (t, i) depends.

def taskbench_inputs(pattern, width, t, i, rng):
    if pattern == "trivial":
        return []
    if pattern == "no_comm":
        return [i]
    if pattern == "stencil_1d":
        return [j for j in (i - 1, i, i + 1) if 0 <= j < width]
    if pattern == "fft":
        step = 1 << ((t - 1) % max(1, (width - 1).bit_length()))
        return [j for j in (i - step, i, i + step) if 0 <= j < width]
    if pattern == "tree":  # the width doubles each step, until it is reached
        return [i // 2] if (1 << t) <= width else [i]
    if pattern == "nearest":  # five around it
        return [j for j in range(i - 2, i + 3) if 0 <= j < width]
    if pattern == "spread":  # five, far apart, other ones each step
        return sorted({(i + j * width // 5 + (t if j else 0)) % width for j in range(5)})
    if pattern == "random_nearest":
        near = [j for j in range(i - 2, i + 3) if 0 <= j < width and rng.random() < 0.5]
        return near or [i]
    raise ValueError(f"no pattern {pattern}")


TASK_BENCH = ("trivial", "no_comm", "stencil_1d", "fft", "tree", "nearest", "spread",
              "random_nearest")


def task_bench(pattern, width, steps, rng, duration_ns):
    graph, last = Graph(pattern), []
    for t in range(steps):
        wide = min(width, 1 << t) if pattern == "tree" else width
        row = []
        for i in range(wide):
            inputs = taskbench_inputs(pattern, width, t, i, rng) if t else []
            row.append(graph.add([last[j] for j in inputs], duration_ns))
        last = row
    return graph


# -- All, by name ----------------------------------------------------------------------------------

SIMPLE = {"bag": bag, "tree": tree, "merge": merge, "chain": chain, "random": random_graph}
NAMES = (*SIMPLE, *(f"rsds:{name}" for name in RSDS), *(f"tb:{name}" for name in TASK_BENCH))


def make(name, tasks, scale=1.0, seed=1):
    """The graph with this name: `tasks` rows (simple and tb:), or a published one times `scale`."""
    rng = random.Random(seed)
    if name in SIMPLE:
        graph = SIMPLE[name](tasks, rng)
    elif name.startswith("rsds:") and name[5:] in RSDS:
        generator, mean_ms, mean_kib, _, _ = RSDS[name[5:]]
        graph = generator(scale, rng, lambda: min(4e9, rng.expovariate(1 / (mean_ms * 1e6))),
                          int(mean_kib * 1024))
    elif name.startswith("tb:") and name[3:] in TASK_BENCH:
        width = 16
        graph = task_bench(name[3:], width, max(2, tasks // width), rng, 0)
    else:
        raise ValueError(f"no graph {name}; there are: {', '.join(NAMES)}")
    graph.name = name
    return graph
