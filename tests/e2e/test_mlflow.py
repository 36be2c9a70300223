#!/usr/bin/env python3
"""Sweeps send their trials to an MLflow server, whatever the server does meanwhile."""
import collections
import fcntl
import json
import math
import os
import random

import e2e
from fake_mlflow import FakeMlflow

TRIAL = ('for step in 1 2 3; do "$GANGWAY" report step=$step loss={x} "acc %"=0.$step >/dev/null; '
         "done")
# Many reports over one connection: the loss of step N is N/8.
MANY = r'''import os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect(os.environ["GANGWAY_REPORT"])
answers = link.makefile()
for step in range(int(sys.argv[1])):
    link.sendall(b'{"step": %d, "loss": %g}\n' % (step, step / 8))
    answers.readline()
'''


class Mlflow(e2e.Case):
    def setUp(self):
        super().setUp()
        self.env["GANGWAY"] = e2e.BINARY
        for name in list(self.env):
            if name.startswith("MLFLOW_"):
                del self.env[name]

    def serve(self, **options):
        fake = FakeMlflow(**options)
        self.addCleanup(fake.stop)
        return fake

    def words(self, fake, *words, trial=TRIAL):
        return ["sweep", "--name", "s", "--param", "x=0..1", "--search", "random", "--minimize",
                "loss", "--mlflow", fake.url, *words, "--", "sh", "-c", trial]

    def sweep(self, fake, *words, trial=TRIAL, **options):
        return self.gangway(*self.words(fake, "--trials", "6", *words, trial=trial), timeout_s=100,
                            **options)

    def assert_whole(self, fake, count=6):
        """Each value of each trial is at the server, once, and equals what was reported."""
        shown = self.gangway_json("sweep", "show", "s")["trials"]
        trials = fake.trials()
        self.assertEqual(sorted(trials), list(range(count)))
        for trial in shown:
            run = trials[trial["number"]]
            self.assertEqual(run.status, {"done": "FINISHED", "failed": "FAILED"}[trial["state"]])
            self.assertEqual({name: float(value) for name, value in run.params.items()},
                             trial["params"])
            wanted = [("loss", step, trial["params"]["x"]) for step in (1, 2, 3)]
            wanted += [("acc _25", step, step / 10) for step in (1, 2, 3)]
            self.assertEqual(collections.Counter(run.metrics), collections.Counter(wanted))

    def test_trials_are_child_runs_with_all_their_values(self):
        fake = self.serve()
        self.up("--slots", "2")
        self.sweep(fake, "--experiment", "größe & co")
        self.assert_whole(fake)
        self.assertIn("größe & co", fake.experiments)
        parent, = [run for run in fake.runs.values() if run.tags["gangway.trial"] == "sweep"]
        self.assertEqual((parent.name, parent.status), ("s", "FINISHED"))
        self.assertIn("best trial: ", parent.tags["mlflow.note.content"])
        for run in fake.trials().values():
            self.assertEqual(run.tags["mlflow.parentRunId"], parent.id)
        requests = len(fake.requests)
        self.gangway("sweep", "export", "s", "--format", "mlflow", "--experiment", "größe & co")
        self.assert_whole(fake)  # nothing is sent again
        self.assertNotIn("mlflow/runs/log-batch", fake.requests[requests:])
        self.assertNotIn("mlflow/runs/create", fake.requests[requests:])

    def test_program_that_was_found_in_path_has_the_module(self):
        fake = self.serve()
        self.up("--slots", "2")
        folder = os.path.dirname(os.path.abspath(e2e.BINARY))
        self.run_program("gangway", *self.words(fake, "--trials", "2"),
                         env={"PATH": f"{folder}:{self.env['PATH']}"})
        self.assert_whole(fake, 2)

    def test_export_sends_a_sweep_that_was_not_sent(self):
        fake = self.serve()
        self.up("--slots", "2")
        self.gangway("sweep", "--name", "s", "--param", "x=0..1", "--search", "random",
                     "--minimize", "loss", "--trials", "6", "--", "sh", "-c", TRIAL)
        said = self.gangway("sweep", "export", "s", "--format", "mlflow", rc=2)
        self.assertIn("add -o URL", said.stderr)
        self.gangway("sweep", "export", "s", "--format", "mlflow", "-o", fake.url + "/")
        self.assert_whole(fake)

    def test_answers_that_are_lost_make_nothing_twice(self):
        faults = random.Random(1)
        fake = self.serve(fault=lambda path, number: faults.choice(["500", "lost"] + 3 * [None]))
        self.up("--slots", "2")
        self.sweep(fake)
        self.assert_whole(fake)

    def test_server_that_refused_gets_the_rest_later(self):
        fake = self.serve()
        fake.stop()
        self.up("--slots", "2")
        said = self.sweep(fake)
        self.assertIn("best loss", said.stdout)
        self.assertIn("the sweep goes on", said.stderr)
        self.assertIn("gangway sweep export", said.stderr)
        fake.start(fake.port)
        self.gangway("sweep", "export", "s", "--format", "mlflow")
        self.assert_whole(fake)

    def test_values_come_once_over_an_outage_and_a_killed_controller(self):
        """The server gets trial 0, goes away, the controller is killed, and both come back."""
        fake = self.serve()
        self.up("--slots", "1")
        trial = TRIAL + "; [ {trial} = 0 ] || flock go true"
        go = open(self.write("go", ""), encoding="utf-8")
        self.addCleanup(go.close)
        fcntl.flock(go, fcntl.LOCK_EX)  # the other trials wait for it
        controller = self.start(e2e.BINARY, *self.words(fake, "--trials", "4", trial=trial))
        controller.wait_output("trial 0 done")
        fake.wait(lambda: 0 in fake.trials() and fake.trials()[0].status == "FINISHED")
        fake.stop()
        controller.kill()
        fake.start(fake.port)
        fcntl.flock(go, fcntl.LOCK_UN)
        self.gangway("sweep", "resume", "s", timeout_s=100)
        self.assert_whole(fake, 4)

    def test_server_that_hangs_delays_no_trial(self):
        fake = self.serve(fault=lambda path, number: "hang")
        self.up("--slots", "2")
        said = self.sweep(fake)
        self.assertIn("6 of 6 trials", said.stdout)
        self.assertIn("the server does not answer", said.stderr)

    def test_token_of_the_environment_is_sent_and_a_wrong_one_is_said(self):
        fake = self.serve(token="secret")
        self.up("--slots", "2")
        said = self.sweep(fake)
        self.assertIn("it refuses the login (HTTP status 401): set MLFLOW_TRACKING_TOKEN",
                      said.stderr)
        self.env["MLFLOW_TRACKING_TOKEN"] = "secret"
        self.gangway("sweep", "export", "s", "--format", "mlflow")
        self.assert_whole(fake)

    def test_batches_stay_within_the_limits_of_the_server(self):
        """998 reports are one batch, 999 and 1001 are two; 101 params, infinity and NaN pass."""
        fake = self.serve()
        self.up("--slots", "1")
        self.write("many.py", MANY)
        space = self.write("space.json", json.dumps({f"p{i}": [i] for i in range(100)}))
        for reports in (998, 999, 1001):
            self.gangway("sweep", "--name", f"n{reports}", "--space", space, "--param", "x=1",
                         "--minimize", "loss", "--mlflow", fake.url, "--", "python3", "many.py",
                         str(reports))
        for name, reports in (("n998", 998), ("n999", 999), ("n1001", 1001)):
            run, = [run for run in fake.runs.values() if run.name == name + "-0"]
            self.assertEqual(len(run.params), 101)
            self.assertEqual(run.metrics, [("loss", i, i / 8) for i in range(reports)])
        self.sweep(fake, trial="$GANGWAY report step=1 loss=nan; $GANGWAY report step=2 loss=-inf")
        for run in fake.trials("s").values():
            (_, _, first), second = run.metrics
            self.assertTrue(math.isnan(first))
            self.assertEqual(second, ("loss", 2, -math.inf))

    def test_checkpoint_of_the_best_trial_is_an_artifact(self):
        fake = self.serve()
        self.up("--slots", "2")
        trial = TRIAL + ('; mkdir -p "$GANGWAY_CHECKPOINT_DIR/a b"; '
                         'echo {x} >"$GANGWAY_CHECKPOINT_DIR/a b/model"')
        self.sweep(fake, trial=trial)
        best = self.gangway_json("sweep", "show", "s")["best"]
        x = self.gangway_json("sweep", "show", "s")["trials"][best]["params"]["x"]
        for number, run in fake.trials().items():
            self.assertEqual(run.artifacts,
                             {"checkpoint/a b/model": b"%r\n" % x} if number == best else {})

    def test_detached_sweep_sends_from_the_cluster(self):
        fake = self.serve(token="secret")
        self.env["MLFLOW_TRACKING_TOKEN"] = "secret"
        self.up("--slots", "2")
        self.sweep(fake, "-d")
        self.gangway("wait", "s-controller", timeout_s=100)
        self.assert_whole(fake)

    def test_url_that_is_none_is_an_error_before_a_trial_runs(self):
        self.up("--slots", "1")
        said = self.gangway("sweep", "--param", "x=0..1", "--trials", "1", "--minimize", "loss",
                            "--mlflow", "localhost:5000", "--", "true", rc=2)
        self.assertIn("give the URL of an MLflow server", said.stderr)
        self.assertEqual(self.gangway_json("jobs", "--all"), [])


if __name__ == "__main__":
    e2e.main()
