#!/usr/bin/env python3
"""Sweeps, as users run them: from C, from the command line, over kills of everything."""
import json
import os
import re
import shlex
import signal
import sys
import time

import e2e

SWEEPS = os.path.join(e2e.BUILD, "bin", "sweeps")
BENCH = os.path.join(e2e.BUILD, "bin", "sweep_bench")


def trials_of(text):
    """{number: (state, value, x)} and the number of the best trial."""
    trials = {int(number): (state, float(value), float(x)) for number, state, value, x in
              re.findall(r"^(\d+) (\w+) (\S+) x=(\S+)", text, re.M)}
    best = re.search(r"^best (\d+)$", text, re.M)
    return trials, best and int(best[1])


class Functions(e2e.Case):
    def sweep(self, kind, name, count):
        done = self.run_program(SWEEPS, kind, name, str(count), timeout_s=100)
        return done.stdout

    def test_last_report_or_result_of_each_trial_is_its_value(self):
        self.up("--slots", "2")
        trials, best = trials_of(self.sweep("metric", "m", 12))
        self.assertEqual(sorted(trials), list(range(12)))
        for state, value, x in trials.values():
            self.assertEqual(state, "done")
            self.assertAlmostEqual(value, (x - 0.3) ** 2 + 1 / 16)
        self.assertEqual(best, min(trials, key=lambda number: trials[number][1]))
        results, same_best = trials_of(self.sweep("result", "r", 12))
        self.assertEqual([x for _, _, x in results.values()], [x for _, _, x in trials.values()])
        self.assertEqual(same_best, best)
        self.assert_idle()

    def test_sweep_runs_in_a_private_cluster(self):
        trials, _ = trials_of(self.sweep("metric", "attached", 6))
        self.assertEqual([state for state, _, _ in trials.values()], ["done"] * 6)

    def test_failed_trials_do_not_end_the_sweep(self):
        self.up("--slots", "2")
        said = self.sweep("fails", "f", 12)
        trials, best = trials_of(said)
        far = {number for number, (_, _, x) in trials.items() if (x - 0.3) ** 2 > 0.04}
        self.assertEqual({n for n, (state, _, _) in trials.items() if state == "failed"}, far)
        self.assertIn("x is too far away", said)
        self.assertNotIn(best, far)

    def test_metric_that_is_never_reported_ends_the_sweep_after_the_first_trial(self):
        self.up("--slots", "1")
        said = self.sweep("silent", "s", 1000)
        self.assertIn("GW_EINVAL: trial 0 (job ", said)
        self.assertIn("never reported the metric loss", said)
        self.assertLess(len(trials_of(said)[0]), 10)
        self.assert_idle()

    def test_asha_stops_the_worse_trials(self):
        self.up("--slots", "4")
        trials, _ = trials_of(self.sweep("asha", "a", 8))
        states = [state for state, _, _ in trials.values()]
        self.assertEqual(len(states), 8)
        self.assertLessEqual(set(states), {"done", "pruned"})
        self.assertGreaterEqual(states.count("pruned"), 3)
        self.assert_idle()

    def test_sweep_made_again_runs_no_trial_again(self):
        self.up("--slots", "2")
        first = self.sweep("metric", "again", 6)
        jobs = self.gangway_json("jobs", "--all")
        self.assertEqual(self.sweep("metric", "again", 6), first)
        self.assertEqual(len(self.gangway_json("jobs", "--all")), len(jobs))
        more, _ = trials_of(self.sweep("metric", "again", 8))
        self.assertEqual(len(more), 8)

    def test_sweep_that_the_cluster_has_forgotten_is_not_continued(self):
        self.up("--slots", "2", "--history", "6")
        six = self.sweep("metric", "six", 6)
        self.assertEqual(self.sweep("metric", "six", 6), six)
        self.sweep("metric", "seven", 7)
        again = self.sweep("metric", "seven", 7)
        self.assertIn("GW_ELOST: the cluster has forgotten start 0", again)
        self.sweep("result", "results", 2)
        self.assertIn("GW_ELOST: the result of job", self.sweep("result", "results", 2))

    def test_refused_start_in_a_batch_is_made_up_for_when_the_sweep_continues(self):
        """The cluster refuses trial 2, and accepts trial 3 of the same batch."""
        self.up("--slots", "3")
        refused = self.sweep("refused", "r", 8)
        self.assertIn("GW_ENOENT", refused)
        self.assertIn("\n3 ", refused)
        self.write("accept", "")
        trials, _ = trials_of(self.sweep("refused", "r", 8))
        self.assertEqual([state for state, _, _ in trials.values()], ["done"] * 8)
        self.assertEqual([x for _, _, x in trials.values()],
                         [x for _, _, x in trials_of(self.sweep("metric", "m", 8))[0].values()])

    def test_pure_task_that_trials_share_runs_once(self):
        for name in "attached", "durable":
            if name == "durable":
                self.up("--slots", "2")
            said = self.sweep("shared", name, 12)
            self.assertEqual(len(trials_of(said)[0]), 12)
            with open(os.path.join(self.dir, "prepared"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "x")
            os.unlink(os.path.join(self.dir, "prepared"))

    def load(self, trials):
        """Runs a sweep of so many trials, and makes it again from the events of their jobs."""
        self.up("--slots", "2", "--history", "20000")
        self.assertIn("load_seconds", self.run_program(BENCH, trials, "0", "random", "durable",
                                                       timeout_s=200).stdout)

    @e2e.in_release
    def test_sweep_of_as_many_jobs_as_one_query_has_is_loaded(self):
        self.load("10000")

    @e2e.in_release
    def test_sweep_of_more_jobs_than_one_query_has_is_loaded(self):
        self.load("10001")


REPORT = [e2e.BINARY, "report", "step=1", "loss={x}"]


class Commands(e2e.Case):
    def sweep(self, *words, trial=REPORT, **options):
        return self.gangway("sweep", "--param", "x=0..1", "--minimize", "loss", *words, "--",
                            *trial, timeout_s=100, **options)

    def show(self, name):
        return self.gangway_json("sweep", "show", name)

    def test_command_line_runs_shows_and_extends_a_sweep(self):
        self.up("--slots", "2")
        said = self.sweep("--name", "s", "--trials", "6", "--out", "out").stdout
        self.assertIn("s: 6 of 6 trials, best loss", said)
        shown = self.show("s")
        values = [trial["value"] for trial in shown["trials"]]
        self.assertEqual([trial["params"]["x"] for trial in shown["trials"]], values)
        self.assertEqual(shown["best"], values.index(min(values)))
        best = repr(min(values))  # Python prints as few digits as it needs
        with open(os.path.join(self.dir, "out", "trials.csv"), encoding="utf-8") as file:
            rows = file.read().splitlines()
        self.assertEqual(len(rows), 7)
        self.assertRegex(rows[1 + shown["best"]], f",{best},.*,{best}$")
        self.assertIn(f"best loss {best}\n", said)
        self.assertRegex(self.gangway("sweep", "show", "s").stdout, f"done  +{best} .*x={best}")
        self.assertIn("timeline.svg", os.listdir(os.path.join(self.dir, "out")))
        shortened = self.gangway("sweep", "show", "s", "--limit", "1").stdout
        self.assertRegex(shortened, f"done  +{best} (.*\n)*\\(5 more\\)")
        command = self.gangway("sweep", "best", "s", "--command").stdout
        row = self.gangway_json("sweep", "best", "s")
        self.assertEqual((row["value"], row["command"] + "\n"), (min(values), command))
        self.assertEqual(float(command.split("loss=")[1]), min(values))
        self.assertIn("has a sweep s", self.sweep("--name", "s", "--trials", "6", rc=2).stderr)
        # Nothing runs: this must not stop what comes later.
        self.assertIn("no trial of it runs", self.gangway("sweep", "stop", "s").stderr)
        self.gangway("sweep", "extend", "s", "--trials", "8")
        self.assertEqual([trial["value"] for trial in self.show("s")["trials"]][:6], values)
        self.assertEqual(len(self.show("s")["trials"]), 8)
        self.assertEqual([row["name"] for row in self.gangway_json("sweep", "list")],
                         ["s"])

    def test_ended_sweep_is_removed_as_a_whole_or_not_at_all(self):
        self.up("--slots", "2")
        hold = self.fifo("hold")
        self.sweep("--name", "kept", "--trials", "2")
        self.sweep("--name", "s", "-d", "--trials", "2",
                   trial=["sh", "-c", f"{e2e.BINARY} report loss={{x}}; cat {hold}"])
        self.wait_said("running", "sweep", "show", "last")
        self.assertIn("`gangway sweep stop s`", self.gangway("sweep", "rm", "s", rc=2).stderr)
        self.gangway("sweep", "stop", "last")
        self.gangway("wait", "s-controller", rc=130)
        self.assertIn("`gangway sweep rm s`", self.gangway("rm", "s", rc=2).stderr)
        self.gangway("sweep", "rm", "last")
        self.assertIn("no sweep s", self.gangway("sweep", "rm", "s", rc=2).stderr)
        self.assertEqual([job["name"] for job in self.gangway_json("jobs", "--all")],
                         ["kept"] * 2)
        self.assertIn("kept: 2 of 2", self.gangway("sweep", "show", "last").stdout)
        self.assertIn("--name \"last\"", self.sweep("--name", "last", rc=2).stderr)

    def test_limits_of_failures_and_time_end_running_trials_too(self):
        self.up("--slots", "4")
        hold = self.fifo("hold")
        words = ("sweep", "--param", "x=1,2,3,4,5,6", "--search", "grid", "--minimize", "loss")
        trial = ("--", "sh", "-c", f"{e2e.BINARY} report loss={{x}}; [ {{x}} = 2 ] || cat {hold}; "
                 "exit 1")
        for name, limit in (("f", ("--max-failures", "1")), ("t", ("--time-budget", "1"))):
            self.gangway(*words, "--name", name, *limit, *trial, rc=1, timeout_s=60)
            self.assert_idle()
            starts = [trial["starts"] for trial in self.show(name)["trials"]]
            states = [trial["state"] for trial in self.show(name)["trials"]]
            self.assertEqual(states.count("failed"), 1)
            self.assertEqual(states.count("cancelled"), len(states) - 1)
            self.gangway("sweep", "resume", name, rc=1, timeout_s=60)
            self.assertEqual([trial["starts"] for trial in self.show(name)["trials"]], starts)

    def test_extension_that_adds_nothing_says_so(self):
        self.up("--slots", "2")
        words = ("sweep", "--minimize", "loss", "--param")
        self.gangway(*words, "x=1,2", "--name", "g", "--", *REPORT)
        self.gangway(*words, "x=0..1", "--name", "s", "--trials", "2", "--", *REPORT)
        for typed, code, said in ((["g"], 2, "--trials N is missing"),
                                  (["g", "--trials", "5"], 0,
                                   "2 of 5 trials: the grid has no more"),
                                  (["s"], 2, "has 2 trials: give --trials N with more"),
                                  (["s", "--trials", "2"], 2, "`gangway sweep resume s`")):
            with self.subTest(typed):
                self.assertIn(said, self.gangway("sweep", "extend", *typed, rc=code).stderr)

    def test_bad_folder_of_out_is_an_error_before_the_first_trial(self):
        self.up("--slots", "1")
        said = self.sweep("--name", "o", "--trials", "3", "--out", "/proc/x", rc=2).stderr
        self.assertIn("/proc/x", said)
        self.assertEqual(self.gangway_json("jobs", "--all"), [])

    def test_command_of_the_best_trial_has_the_params_that_no_word_has(self):
        self.up("--slots", "1")
        trial = self.write("trial.py", "import json, os\n"
                           "print('loss=%r' % json.loads(os.environ['GANGWAY_PARAMS'])['x'])\n")
        self.sweep("--name", "v", "--trials", "3", "--metric", "loss",
                   trial=[sys.executable, trial])
        words = shlex.split(self.gangway("sweep", "best", "v", "--command").stdout)
        values = [trial["value"] for trial in self.show("v")["trials"]]
        self.assertEqual(self.gangway(*words[1:]).stdout, f"loss={min(values)}\n")

    def test_exports_have_what_the_trials_reported(self):
        self.up("--slots", "2")
        report = f"{e2e.BINARY} report step="
        self.sweep("--name", "e", "--trials", "3",
                   trial=["sh", "-c", f"{report}1 loss=8 && {report}2 loss={{x}} acc=1"])
        journal = [json.loads(line) for line in
                   self.gangway("sweep", "export", "e", "--format", "optuna").stdout.splitlines()]
        values = [trial["value"] for trial in self.show("e")["trials"]]
        reported = [(row["trial_id"], row["step"], row["intermediate_value"]) for row in journal
                    if row["op_code"] == 7]
        self.assertEqual(reported, [(trial, step, value) for trial in range(3)
                                    for step, value in ((1, 8), (2, values[trial]))])
        self.assertEqual([row["values"] for row in journal if row["op_code"] == 6],
                         [[value] for value in values])
        self.gangway("sweep", "export", "e", "--format", "tensorboard", "-o", "a/b")
        folders = sorted(os.listdir(os.path.join(self.dir, "a", "b")))
        self.assertEqual([folder[:7] for folder in folders], [f"000{n}-x=" for n in range(3)])
        self.gangway("sweep", "export", "e", "--format", "json", "-o", "e.json")
        with open(os.path.join(self.dir, "e.json"), encoding="utf-8") as file:
            self.assertEqual([trial["value"] for trial in json.load(file)["trials"]], values)
        self.gangway("sweep", "plot", "e", "-o", "pictures")
        with open(os.path.join(self.dir, "pictures", "values-by-step.svg"),
                  encoding="utf-8") as file:
            self.assertEqual(len(re.findall("<title>trial [0-9]</title>", file.read())), 3)
        for words, said in ((["plot", "e"], "-o DIR"),
                            (["export", "e", "--format", "tensorboard"], "-o DIR"),
                            (["export", "e", "--format", "xml"], "give csv, json")):
            self.assertIn(said, self.gangway("sweep", *words, rc=2).stderr)

    def test_printed_metric_is_read_and_a_missing_one_ends_the_sweep(self):
        self.up("--slots", "1")
        trial = ["sh", "-c", "echo epoch=1 loss={x}"]
        self.assertIn("p: 3 of 3 trials, best loss",
                      self.sweep("--name", "p", "--trials", "3", "--metric", "loss",
                                 trial=trial).stdout)
        said = self.sweep("--name", "q", "--trials", "100", trial=trial, rc=2).stderr
        self.assertIn("never reported the metric loss: use `gangway report`", said)

    def test_parameter_sets_the_size_of_the_gang(self):
        self.up("--slots", "4")
        done = self.gangway(
            "sweep", "--name", "g", "--param", "ranks=1,2,4", "--derive", "batch=64/ranks",
            "--minimize", "batch", "-n", "{ranks}", "--", "sh", "-c",
            f"{e2e.BINARY} report step=1 batch={{batch}} size=$WORLD_SIZE", timeout_s=100)
        self.assertIn("g: 3 trials", done.stdout)
        jobs = {job["ranks"]: job["metrics"] for job in self.gangway_json("jobs", "--all")}
        self.assertEqual(jobs, {ranks: {"batch": 64 / ranks, "size": ranks}
                                for ranks in (1, 2, 4)})

    def test_trial_that_no_worker_can_run_fails_alone(self):
        """Also if it is the first one, and if the sweep is made again."""
        self.up("--slots", "2")
        words = ("sweep", "--name", "u", "--param", "n=9,1,2,3", "--minimize", "loss", "--continue",
                 "-n", "{n}", "--", e2e.BINARY, "report", "step=1", "loss={n}")
        for _ in range(2):
            self.assertIn("u: 4 trials, 2 failed, best loss 1",
                          self.gangway(*words, timeout_s=60).stdout)
            trials = self.show("u")["trials"]
            self.assertEqual([(trial["state"], trial["starts"]) for trial in trials],
                             [("failed", 1), ("done", 1), ("done", 1), ("failed", 1)])
            for trial in (trials[0], trials[3]):
                self.assertIn("does not fit this cluster", trial["text"])
                self.assertIn("does not fit", self.gangway("logs", str(trial["job"])).stderr)
        self.gangway("sweep", "--name", "w", "--param", "n=9,8,7", "--minimize", "loss",
                     "--max-failures", "2", *words[-7:], rc=1, timeout_s=60)
        states = [trial["state"] for trial in self.show("w")["trials"]]
        self.assertGreaterEqual(states.count("failed"), 2)

    def test_stopped_sweep_runs_its_cancelled_trials_again_when_it_is_resumed(self):
        self.up("--slots", "2")
        hold = self.fifo("hold")
        controller = self.start(
            e2e.BINARY, "sweep", "--name", "h", "--param", "x=1,2,3,4,5,6,7,8", "--minimize",
            "loss", "--", "sh", "-c",
            f"{e2e.BINARY} report step=1 loss={{x}}; [ {{x}} = 1 -o -e go ] || cat {hold}",
            cwd=self.dir)
        controller.wait_output("trial 0 done")
        self.gangway("sweep", "stop", "h")
        self.assertEqual(controller.wait(), 130)
        self.assert_idle()
        states = [trial["state"] for trial in self.show("h")["trials"]]
        self.assertEqual(states[0], "done")
        self.assertIn("cancelled", states)
        self.write("go", "")
        self.assertIn("h: 8 trials", self.gangway("sweep", "resume", "h", timeout_s=60).stdout)
        trials = self.show("h")["trials"]
        self.assertEqual([trial["state"] for trial in trials], ["done"] * 8)
        self.assertEqual([trial["starts"] for trial in trials][0], 1)
        self.assertEqual(max(trial["starts"] for trial in trials), 2)

    def test_trial_that_ends_is_followed_by_one_of_its_size(self):
        """The trial that is named next is larger, and is held, also over a kill of the controller.
        """
        self.up("--slots", "2")
        hold = self.fifo("hold")
        words = ("sweep", "--name", "q", "--param", "x=1,2,3,4", "--param", "n=1,2", "--minimize",
                 "loss", "--continue", "-n", "{n}", "--", "sh", "-c",
                 f"{e2e.BINARY} report step=1 loss={{x}}; "
                 f"[ -e go -o {{x}}{{n}} = 11 ] || cat {hold}")
        controller = self.start(e2e.BINARY, *words, cwd=self.dir)
        self.wait_said('"trial": "4"', "jobs", "--all", "--json")
        started = sorted(int(job["annotations"]["trial"])
                         for job in self.gangway_json("jobs", "--all"))
        self.assertEqual(started, [0, 1, 2, 4])
        controller.kill()
        self.write("go", "")
        with open(hold, "w", encoding="utf-8"):
            pass
        self.assertIn("q: 8 trials", self.gangway(*words, timeout_s=60).stdout)
        self.assertEqual([(trial["params"], trial["state"], trial["starts"])
                          for trial in self.show("q")["trials"]],
                         [({"x": x, "n": n}, "done", 1) for x in range(1, 5) for n in (1, 2)])

    def outcome(self, name):
        return [(trial["number"], trial["state"], trial["value"], trial["params"])
                for trial in self.show(name)["trials"]]

    def test_killed_controller_loses_no_trial(self):
        self.up("--slots", "2")
        self.sweep("--name", "whole", "--trials", "30", "--search", "random", "--seed", "3")
        wanted = self.outcome("whole")
        words = ("sweep", "--name", "cut", "--param", "x=0..1", "--minimize", "loss", "--trials",
                 "30", "--search", "random", "--seed", "3", "--continue", "--", *REPORT)
        for trial in (3, 11, 19):
            controller = self.start(e2e.BINARY, *words)
            later = "|".join(str(other) for other in range(trial, 30))
            controller.wait_output(f"trial ({later}) done")  # this one may have ended before
            controller.kill()
        self.gangway(*words, timeout_s=100)
        self.assertEqual(self.outcome("cut"), wanted)
        starts = [job for job in self.gangway_json("jobs", "--all") if job["name"] == "cut"]
        self.assertEqual(len(starts), 30)

    def test_notify_runs_after_the_sweep_here_or_in_the_cluster(self):
        self.up("--slots", "2")
        lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(lines.close)
        tell = ["--notify", f'echo "$GANGWAY_SWEEP $GANGWAY_OUTCOME" > {lines.path}', "--param",
                "x=1,2", "--minimize", "loss"]
        for where in ([], ["-d"]):
            self.gangway("sweep", *where, "--name", f"good{len(where)}", *tell, "--", e2e.BINARY,
                         "report", "step=1", "loss={x}")
            self.assertEqual(lines.next(), f"good{len(where)} done")
        self.gangway("sweep", "--name", "bad", *tell, "--", "false", rc=1)
        self.assertEqual(lines.next(), "bad failed")
        self.assertEqual(lines.text, "")

    def test_detached_sweep_runs_in_the_cluster(self):
        self.up("--slots", "2")
        self.assertEqual(self.sweep("--name", "d", "-d", "--trials", "4").stdout, "d\n")
        self.gangway("wait", "d-controller", timeout_s=100)
        self.assertEqual([trial["state"] for trial in self.show("d")["trials"]], ["done"] * 4)
        self.assertIn("d: 4 of 4 trials", self.gangway("logs", "d-controller").stdout)

    def steps(self, *words):
        """Runs a sweep of a script that counts steps in its checkpoint and reports x / step."""
        script = self.write("count.py", """
import os, subprocess, sys
path, step = os.environ["GANGWAY_CHECKPOINT_DIR"] + "/step", 0
if os.path.exists(path):
    step = int(open(path).read())
while step < 8:
    step += 1
    open(path + ".new", "w").write(str(step))
    os.replace(path + ".new", path)
    print(step, file=open("steps", "a"))
    answer = subprocess.run([sys.argv[1], "report", f"step={step}",
                             "loss=%r" % (float(sys.argv[2]) / step)], stdout=subprocess.PIPE)
    if answer.stdout.strip() == b"stop":
        break
""")
        self.sweep("--name", "c", "--search", "random", "--max-steps", "8", "--trial-dirs", "dirs",
                   *words, trial=["python3", script, e2e.BINARY, "{x}"])
        with open(os.path.join(self.dir, "steps"), encoding="utf-8") as file:
            return self.show("c")["trials"], [int(line) for line in file]

    def test_paused_trials_continue_from_their_checkpoints(self):
        self.up("--slots", "2")
        trials, steps = self.steps("--trials", "8", "--asha", "eta=2,promote")
        best = min(trials, key=lambda trial: trial["params"]["x"])
        self.assertEqual(best["state"], "done")
        self.assertEqual(best["starts"], 4)
        self.assertLess(steps.count(8), 8)
        self.assertLessEqual(max(steps.count(step) for step in steps), 8)  # none ran twice

    def test_detached_sweep_survives_its_scheduler(self):
        self.up("--slots", "2")
        self.sweep("--name", "whole", "--trials", "40", "--search", "random", "--seed", "4")
        self.sweep("--name", "d", "-d", "--trials", "40", "--search", "random", "--seed", "4")
        self.wait_said(r" d +done", "jobs", "--all")
        for pid in e2e.pids_marked(self.mark):
            if " scheduler" in e2e.command_of(pid):
                os.kill(pid, signal.SIGKILL)
                e2e.wait_gone(pid, e2e.TIMEOUT_S)
        self.up("--slots", "2")
        self.gangway("wait", "d-controller", timeout_s=100)
        self.assertEqual(self.outcome("d"), self.outcome("whole"))

    def test_files_of_a_sweep_are_those_of_its_folder(self):
        """Files are shipped with each trial. The sweep is shown and extended in another folder."""
        self.up("--slots", "1")
        self.write("space.json", '{"x": [1, 2, 3]}')
        self.write("trial.sh", "echo loss=$1; ls\n")
        self.gangway("sweep", "--name", "f", "--space", "space.json", "--minimize", "loss",
                     "--metric", "loss", "--trials", "2", "--out", "out", "--ship", "trial.sh",
                     "--", "sh", "trial.sh", "{x}", timeout_s=60)
        other = os.path.join(self.dir, "other")
        os.mkdir(other)
        self.gangway("sweep", "show", "f", cwd=other)
        self.gangway("sweep", "extend", "f", "--trials", "3", cwd=other, timeout_s=60)
        self.assertEqual([trial["state"] for trial in self.show("f")["trials"]], ["done"] * 3)
        self.assertIn("trial.sh\n", self.gangway("logs", "last").stdout)
        self.assertEqual(os.listdir(other), [])

    def test_parameters_are_in_the_environment_if_no_word_has_them(self):
        self.up("--slots", "1")
        script = self.write("read.sh",
                            """echo "${GANGWAY_PARAMS}" | tr -dc 0-9 | sed 's/^/loss=/'""")
        words = ("sweep", "--param", "x=3,4", "--minimize", "loss", "--metric", "loss")
        done = self.gangway(*words, "--", "sh", script, timeout_s=60)
        self.assertIn("no word of the command has {x}", done.stderr)
        self.assertIn("2 trials, best loss 3", done.stdout)
        self.assertNotIn("no word", self.gangway(*words, "--dry-run", "--", "sh", "-c",
                                                 f". {script} # GANGWAY_PARAMS").stderr)

    def test_parameter_that_nothing_uses_is_named(self):
        said = self.gangway("sweep", "--param", "x=0..1", "--param", "lr=1,2", "--param",
                            "a=1,2", "--param", "z=1", "--param", "b=1,2 if a=1", "--derive",
                            "y=2*x", "--trials", "3", "--minimize", "loss", "--dry-run", "--",
                            "echo", "{y}", "--b={b}").stderr
        self.assertIn("no word of the command has {lr}, {z}: ", said)

    def test_bad_input_says_what_to_type(self):
        for words, said in (
                (["--param", "x=0..1", "--", "true"], "--minimize METRIC"),
                (["--minimize", "loss", "--", "true"], "--param lr=log:1e-4..1e-1"),
                (["--param", "x=0..1", "--minimize", "loss"], "-- COMMAND"),
                (["--param", "x=0..1", "--minimize", "l", "--trials", "3", "--", "echo", "{y}"],
                 "there is no parameter y"),
                (["--param", "x=1..0", "--minimize", "l", "--trials", "3", "--", "true"], "x"),
                (["--param", "x=0..1", "--minimize", "l", "--", "true"],
                 "or give --trials N: without it, the sweep is a grid"),
                (["--param", "x=1-8", "--minimize", "l", "--", "true"], "write 1..8"),
                (["--param", "x = 1,2", "--minimize", "l", "--", "echo", "{x}"],
                 "'x = 1,2' is no parameter: write NAME=VALUES"),
                (["--param", "x=1,2", "--minimize", "l", "-d", "--slots", "a", "--", "true"],
                 "--slots a: not a whole number"),
                (["--param", "x=0..1", "--minimize", "l", "--asha", "eta=1", "--trials", "3", "--",
                  "true"], "eta"),
                (["--param", "x=0..1", "--minimize", "l", "--asha", "foo=1", "--trials", "3", "--",
                  "true"], "give eta=N"),
                (["--param", "x=0..1", "--minimize", "l", "--asha", "e=3", "--trials", "3", "--",
                  "true"], "give eta=N"),
                (["--param", "x=0..1", "--minimize", "l", "--target", "abc", "--", "true"],
                 "give a number")):
            with self.subTest(words=words):
                self.assertIn(said, self.gangway("sweep", *words, rc=2).stderr)


class Detached(e2e.Case):
    def test_detached_sweep_needs_no_slot_and_its_trials_are_not_forgotten(self):
        self.up("--slots", "1", "--history", "1")
        fifo = self.fifo()
        trial = (f"if [ {{trial}} = 5 ]; then cat {fifo}; fi; "
                 f"{e2e.BINARY} report loss={{x}}")
        said = self.gangway("sweep", "-d", "--json", "--name", "s", "-P", "x=0..1", "--search",
                            "random", "--minimize", "loss", "--trials", "6", "--", "sh", "-c",
                            trial).stdout
        job = str(json.loads(said)["job"])
        with open(fifo, "w", encoding="utf-8"):  # the last trial runs
            trials = self.gangway_json("sweep", "show", "s")["trials"]
        self.assertEqual([trial["number"] for trial in trials], list(range(6)))
        self.assertEqual({trial["state"] for trial in trials[:5]}, {"done"})
        self.gangway("wait", job)
        self.assertEqual([str(job["id"]) for job in self.gangway_json("jobs", "--all")], [job])

    def controller(self, killed=0):
        """The process of the controller after the one that was killed."""
        deadline = time.monotonic() + e2e.TIMEOUT_S
        while time.monotonic() < deadline:
            for pid in e2e.pids_marked(self.mark):
                if pid != killed and "sweep --continue" in e2e.command_of(pid):
                    return pid
            e2e.pause()
        raise AssertionError("the controller does not start")

    def test_controller_waits_for_another_process_that_runs_its_sweep(self):
        self.up("--slots", "1")
        fifo = self.fifo()
        words = ("--name", "s", "--continue", "-P", "x=1,2,3,4", "--minimize", "loss", "--", "sh",
                 "-c", f"[ {{trial}} != 2 ] || cat {fifo}; {e2e.BINARY} report loss={{x}}")
        here = self.start(e2e.BINARY, "sweep", *words)
        with open(fifo, "w", encoding="utf-8"):  # trial 2 runs
            self.gangway("sweep", "-d", *words)
            logs = self.start(e2e.BINARY, "logs", "-f", "s-controller")
            logs.wait_output("waiting for another process")
            here.kill()
        self.gangway("wait", "s-controller", timeout_s=100)
        trials = self.gangway_json("sweep", "show", "s")["trials"]
        self.assertEqual([(trial["state"], trial["starts"]) for trial in trials], [("done", 1)] * 4)

    def test_killed_controller_of_a_detached_sweep_starts_again(self):
        self.up("--slots", "1")
        fifo = self.fifo()
        self.gangway("sweep", "-d", "--name", "s", "-P", "x=1,2,3,4", "--minimize", "loss", "--",
                     "sh", "-c", f"[ {{trial}} != 2 ] || cat {fifo}; "
                     f"{e2e.BINARY} report loss={{x}}")
        with open(fifo, "w", encoding="utf-8"):  # trial 2 runs
            killed = self.controller()
            os.kill(killed, signal.SIGKILL)
            os.kill(self.controller(killed), signal.SIGTERM)
        self.gangway("wait", "s-controller", timeout_s=100)
        trials = self.gangway_json("sweep", "show", "s")["trials"]
        self.assertEqual([(trial["state"], trial["starts"]) for trial in trials], [("done", 1)] * 4)


if __name__ == "__main__":
    e2e.main()
