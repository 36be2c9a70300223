#!/usr/bin/env python3
"""Tests that the graphs are as described, and that a program that runs one wrongly is reported."""
import importlib.metadata
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import compare
import graphs

REPLAY = os.path.join(os.environ.get("GANGWAY_BUILD", ""), "bin", "replay")


class Shapes(unittest.TestCase):
    def test_rsds_graphs_have_the_published_counts(self):
        for name, (_, _, _, tasks, edges) in graphs.RSDS.items():
            graph = graphs.make(f"rsds:{name}", 1)
            self.assertLess(abs(graph.count / 1000 - tasks) / tasks, 0.02, name)
            self.assertLess(abs(graph.edges / 1000 - edges) / edges, 0.02, name)

    def test_rows_depend_only_on_earlier_rows(self):
        for name in graphs.NAMES:
            graph = graphs.make(name, 500, 0.01)
            for row in range(graph.count):
                self.assertTrue(all(dep < row for dep in graph.deps_of(row)), name)

    def test_equal_seeds_make_equal_graphs(self):
        for name in ("random", "rsds:join-1-1S-1T", "tb:random_nearest"):
            one, two = graphs.make(name, 500, 0.1), graphs.make(name, 500, 0.1)
            other = graphs.make(name, 500, 0.1, seed=2)
            self.assertEqual((one.deps, one.duration_ns), (two.deps, two.duration_ns))
            self.assertNotEqual((one.deps, one.duration_ns), (other.deps, other.duration_ns))

    def test_random_graph_has_three_edges_per_two_tasks(self):
        graph = graphs.make("random", 20000)
        self.assertAlmostEqual(graph.edges / graph.count, 1.5, delta=0.03)

    def test_wrong_value_of_any_row_changes_a_sink(self):
        """If the value of any row is wrong, the value of a sink is wrong."""
        for name in ("random", "tree", "tb:fft", "rsds:groupby-1440-1S-1H"):
            graph, right = graphs.make(name, 200, 0.0005), graphs.combine
            before = graph.expected()
            for row in range(0, graph.count, 7):
                with mock.patch.object(graphs, "combine", lambda index, values, row=row:
                                       right(index, values) ^ (index == row)):
                    self.assertTrue(graph.expected() != before, (name, row))

    def test_task_bench_patterns_match_the_published_ones(self):
        """The table maps a pattern to the inputs that some (step, column) of eight columns
        takes."""
        wanted = {
            "trivial": {(1, 3): [], (4, 7): []},
            "no_comm": {(1, 3): [3], (4, 7): [7]},
            "stencil_1d": {(1, 0): [0, 1], (2, 3): [2, 3, 4], (4, 7): [6, 7]},
            "fft": {(1, 3): [2, 3, 4], (2, 3): [1, 3, 5], (3, 3): [3, 7], (4, 3): [2, 3, 4]},
            "tree": {(1, 1): [0], (2, 3): [1], (3, 7): [3], (4, 7): [7]},
            "nearest": {(1, 0): [0, 1, 2], (2, 4): [2, 3, 4, 5, 6], (4, 7): [5, 6, 7]},
            "spread": {(1, 0): [0, 2, 4, 5, 7], (2, 0): [0, 3, 5, 6]},
        }
        self.assertEqual({*wanted, "random_nearest"}, set(graphs.TASK_BENCH))
        for pattern in graphs.TASK_BENCH:
            graph = graphs.task_bench(pattern, 8, 5, random.Random(1), 1000)
            wide = [min(8, 1 << t) if pattern == "tree" else 8 for t in range(5)]
            first = [sum(wide[:t]) for t in range(5)]
            self.assertEqual(graph.count, sum(wide), pattern)
            for (t, i), columns in wanted.get(pattern, {}).items():
                deps = [dep - first[t - 1] for dep in graph.deps_of(first[t] + i)]
                self.assertEqual(deps, columns, (pattern, t, i))
        taken, columns = 0, set()
        for row in range(8, 40):  # random_nearest, the last: some of the inputs of nearest
            deps = [dep - (row // 8 - 1) * 8 - row % 8 for dep in graph.deps_of(row)]
            self.assertTrue(deps and all(abs(dep) <= 2 for dep in deps), (row, deps))
            taken += len(deps)
            columns.update(deps)
        self.assertEqual(columns, {-2, -1, 0, 1, 2})
        self.assertTrue(48 < taken < 100, taken)  # of 144, half

    def test_graph_file_reads_back_and_truncation_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph")
            graph = graphs.make("rsds:join-1-1S-1T", 1, 0.01)
            graph.write(path)
            again = graphs.read(path)
            self.assertEqual((again.deps_at, again.deps, again.duration_ns, again.size),
                             (graph.deps_at, graph.deps, graph.duration_ns, graph.size))
            os.truncate(path, os.path.getsize(path) - 1)
            self.assertRaises(ValueError, graphs.read, path)


class Replay(unittest.TestCase):
    def run_replay(self, graph, damage=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph")
            graph.write(path)
            if damage:
                damage(path)
            return subprocess.run([REPLAY, path], capture_output=True, text=True, timeout=120)

    def test_replay_on_gangway_computes_every_value(self):
        for name in ("bag", "tree", "merge", "chain", "random", "rsds:numpy-50K-200", "tb:fft"):
            ran = self.run_replay(graphs.make(name, 400, 0.001))
            self.assertEqual(ran.returncode, 0, name + ran.stderr)
            self.assertIn("seconds", ran.stdout)

    def test_task_accepts_thirty_thousand_inputs(self):
        small = self.run_replay(graphs.merge(30001, None))
        self.assertEqual(small.returncode, 0, small.stderr)
        large = self.run_replay(graphs.merge(301, None, size=10000))  # each result is a descriptor
        self.assertEqual(large.returncode, 0, large.stderr)

    def test_truncated_graph_file_is_refused(self):
        ran = self.run_replay(graphs.make("bag", 100), lambda path: os.truncate(path, 700))
        self.assertEqual(ran.returncode, 2)
        self.assertIn("cut short", ran.stderr)

    def test_graph_with_a_backward_edge_is_refused(self):
        graph = graphs.make("chain", 10)
        graph.deps[0] = 9
        ran = self.run_replay(graph)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("damaged", ran.stderr)


class Compare(unittest.TestCase):
    def fails(self, *argv):
        ran = subprocess.run([sys.executable, compare.__file__, *argv], capture_output=True,
                             text=True, timeout=120)
        self.assertNotEqual(ran.returncode, 0)
        return ran.stderr

    def test_missing_program_fails_unless_it_is_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            said = self.fails("--replay", os.path.join(folder, "replay"))
            self.assertIn("is not built", said)
        everybody = ",".join(compare.PEERS)
        ran = subprocess.run([sys.executable, compare.__file__, "--skip", everybody, "--replay",
                              REPLAY, "--tasks", "200", "--graphs", "bag,commands", "--commands",
                              "4", "--repeats", "1"], capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("bag", ran.stdout)

    def test_killed_runner_loses_no_result(self):
        ran = subprocess.run([sys.executable, compare.__file__, "--kill", "--skip",
                              ",".join(compare.PEERS), "--replay", REPLAY, "--tasks", "3000",
                              "--graphs", "bag,random", "--repeats", "2", "--json"],
                             capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        said = json.loads(ran.stdout)
        self.assertTrue(said["about"]["kill"])
        self.assertEqual([row["graph"] for row in said["results"]], ["bag", "random"])
        self.assertTrue(all(row["seconds"]["gangway"] for row in said["results"]), said)

    def test_system_that_kills_no_worker_is_an_error(self):
        options = compare.parse(["--replay", REPLAY, "--kill"])
        mute = compare.System("mute", [sys.executable, "-c", "print('{\"seconds\": 1}')"])
        self.assertRaisesRegex(RuntimeError, "whom it killed", compare.run_once, mute, [], options)

    def test_version_of_a_peer_is_read_without_running_it(self):
        known = next(iter(importlib.metadata.distributions()), None)
        if known is None:
            self.skipTest("this Python has no package")
        asked = compare.driver("some", sys.executable, "peer_ray.py", known.metadata["Name"])
        self.assertEqual(asked.version, known.version)

    def test_missing_peer_fails_the_run(self):
        options = compare.parse(["--replay", REPLAY])

        def missing(_):
            raise compare.Missing("it is not here")
        peers, compare.PEERS = compare.PEERS, {"ray": missing}
        try:
            self.assertRaisesRegex(compare.Missing, "--skip ray", compare.make_systems, options)
        finally:
            compare.PEERS = peers

    def test_unknown_names_and_counts_are_refused(self):
        self.assertIn("the peers are", self.fails("--skip", "dusk"))
        self.assertIn("there are", self.fails("--graphs", "bush"))
        self.assertIn("at least 1", self.fails("--repeats", "0"))


if __name__ == "__main__":
    unittest.main()
