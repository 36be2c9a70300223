#!/usr/bin/env python3
"""`gangway bench`: every figure is reported, results are checked, and a killed runner costs only
time."""
import e2e

KEYS = ["noop_tasks_per_s", "noop_killed_tasks_per_s", "tree_tasks_per_s", "merge_tasks_per_s",
        "random_tasks_per_s", "submit_1m_s", "first_task_ms", "task_latency_us",
        "latency_ratio_one_cpu", "latency_ratio_unpinned", "trickle_scheduler_cpu_us",
        "trickle_scheduler_syscalls", "trickle_scheduler_switches", "chain_hop_us",
        "chain_hop_same_runner_us", "chain_hop_other_runner_us", "chain_hop_other_worker_us",
        "metg_stencil_1d_us", "handoff_64mib_us", "handoff_read_over_memcpy",
        "handoff_first_read_over_memcpy", "peer_tls_mb_per_s", "peer_tls_over_pump",
        "scheduler_bytes_per_task", "scheduler_bytes_per_edge", "scheduler_alone_tasks_per_s",
        "live_10m_bytes_per_task", "gang4_first_allreduce_ms", "allreduce_105mb_ms",
        "command_tasks_per_s", "command_over_spawn"]

# Counting system calls needs ptrace; the memory of so few tasks is less than a page.
MAY_LACK = {"trickle_scheduler_syscalls", "scheduler_bytes_per_task", "scheduler_bytes_per_edge"}


class Bench(e2e.Case):
    @e2e.in_release
    def test_bench_reports_every_figure(self):
        figures = self.gangway_json("bench", "--quick", timeout_s=170)
        self.assertEqual(list(figures), KEYS)
        bad = {key: figure for key, figure in figures.items()
               if key not in MAY_LACK and not (figure and figure > 0)}
        self.assertEqual(bad, {})

    def test_killed_runner_delays_the_result_but_does_not_change_it(self):
        """The bench kills a runner while tasks wait, and checks every result."""
        figures = self.gangway_json("bench", "--quick", "--only", "noop_killed_tasks_per_s")
        self.assertEqual(list(figures), ["noop_killed_tasks_per_s"])
        self.assertGreater(figures["noop_killed_tasks_per_s"], 0)

    def test_bench_prints_a_table_of_chosen_figures(self):
        lines = self.gangway("bench", "--quick", "--only",
                             "task_latency_us,merge_tasks_per_s").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["WHAT", "FIGURE", "UNIT", "REACH"])
        self.assertRegex(lines[1], r"^merge, 100k tasks +[\d.]+ tasks/s +>= 500000")
        self.assertRegex(lines[2], r"^one task, submit to result +[\d.]+ us")
        self.assertEqual(len(lines), 3)

    def test_bench_refuses_unknown_figures_and_options(self):
        for arguments, words in (
                (("--only", "noop_task_per_s"), "did you mean 'noop_tasks_per_s'?"),
                (("--only", ""), "no figure is called ''"),
                (("--only", "chain_hop_us,,"), "no figure is called ''"),
                (("--fast",), "unknown option --fast"),
                (("noop_tasks_per_s",), "unexpected argument")):
            self.assertIn(words, self.gangway("bench", *arguments, rc=2).stderr)


if __name__ == "__main__":
    e2e.main()
