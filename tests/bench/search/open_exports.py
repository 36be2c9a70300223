#!/usr/bin/env python3
"""Runs a sweep of 6 trials in a cluster of its own, exports it, and opens the files with Optuna and
TensorBoard; meanwhile the sweep sends its trials to a server of MLflow, which is asked for them.
Values, parameters and reports must be those of `gangway sweep show` and of the trials. Needs all
three: without ones that can be imported, a virtual environment in the cache folder gets them from
PyPI. ./check --full runs it."""
import contextlib
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request

import compare

GANGWAY = os.environ.get("GANGWAY_BINARY") or os.path.join(compare.ROOT, "build", "release", "bin",
                                                           "gangway")
TRIAL = ("for step in 1 2 3; do {gangway} report step=$step loss={{x}} accuracy=0.$step; done; "
         "{gangway} report step=3 'odd %'=nan; echo {{x}} >$GANGWAY_CHECKPOINT_DIR/model; "
         "[ {{opt}} != c ]")
SERVER_S = 300  # it imports a lot


def gangway(*words, **options):
    return subprocess.run([GANGWAY, *words], check=options.pop("check", True), text=True,
                          stdout=subprocess.PIPE, **options).stdout


@contextlib.contextmanager
def mlflow_server(folder):
    """The URL of a server of MLflow that keeps all in the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with open(os.path.join(folder, "mlflow.log"), "w+", encoding="utf-8") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port",
             url.rsplit(":", 1)[1], "--workers", "1", "--backend-store-uri",
             f"sqlite:///{folder}/mlflow.db", "--artifacts-destination",
             os.path.join(folder, "artifacts")], stdout=log, stderr=log, start_new_session=True)
        try:
            for _ in range(SERVER_S * 5):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(url + "/health", timeout=5).close()
                    break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(timeout=0.2)
                    sys.exit("the server of MLflow has ended:\n" + open(log.name).read())
            yield url
        finally:
            os.killpg(server.pid, 15)
            server.wait()


def run_sweep(folder, url):
    """The trials of a sweep, of which some fail, and the files of its exports."""
    gangway("sweep", "--name", "opened", "--param", "x=log:0.001..1", "--param", "n=int:1..9",
            "--param", "opt=a|b|c", "--derive", "twice=2*n", "--maximize", "loss", "--trials", "6",
            "--search", "random", "--seed", "1", "--mlflow", url, "--experiment", "größe",
            "--", "sh", "-c", TRIAL.format(gangway=GANGWAY))
    journal, events = os.path.join(folder, "journal.log"), os.path.join(folder, "events")
    gangway("sweep", "export", "opened", "--format", "optuna", "-o", journal)
    gangway("sweep", "export", "opened", "--format", "tensorboard", "-o", events)
    gangway("sweep", "export", "opened", "--format", "mlflow")  # which has all already
    return json.loads(gangway("sweep", "show", "opened", "--json"))["trials"], journal, events


def check_optuna(optuna, trials, journal):
    backend = optuna.storages.journal.JournalFileBackend(journal)
    study = optuna.load_study(study_name="opened",
                              storage=optuna.storages.JournalStorage(backend))
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    assert len(study.trials) == len(trials)
    states = {"done": "COMPLETE", "failed": "FAIL"}
    for ours, theirs in zip(trials, study.trials):
        params = {name: value for name, value in ours["params"].items() if name != "twice"}
        assert theirs.state.name == states[ours["state"]], (ours, theirs)
        assert theirs.params == params, (ours, theirs)
        assert theirs.user_attrs == {"twice": ours["params"]["twice"]}, (ours, theirs)
        assert theirs.value == (ours["value"] if ours["state"] == "done" else None), (ours, theirs)
        assert theirs.intermediate_values == {step: ours["params"]["x"] for step in (1, 2, 3)}
        assert theirs.duration.total_seconds() > 0
    best = max((t for t in trials if t["state"] == "done"), key=lambda t: t["value"])
    assert study.best_trial.number == best["number"]


def check_tensorboard(trials, events):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    folders = sorted(os.listdir(events))
    assert len(folders) == len(trials)
    for trial, folder in zip(trials, folders):
        opened = EventAccumulator(os.path.join(events, folder))
        opened.Reload()
        assert sorted(opened.Tags()["scalars"]) == ["accuracy", "loss", "odd %"]
        for tag, wanted in (("loss", [trial["params"]["x"]] * 3), ("accuracy", [.1, .2, .3])):
            rows = opened.Scalars(tag)
            assert [row.step for row in rows] == [1, 2, 3], rows
            assert all(abs(row.value - value) < 1e-6 for row, value in zip(rows, wanted)), rows
            assert all(row.wall_time > trial["began_ns"] / 1e9 for row in rows), rows


def check_mlflow(trials, url, folder):
    import mlflow
    client = mlflow.MlflowClient(url)
    experiment = client.get_experiment_by_name("größe").experiment_id
    runs = {run.data.tags["gangway.trial"]: run for run in client.search_runs([experiment])}
    assert sorted(runs) == sorted([str(trial["number"]) for trial in trials] + ["sweep"])
    states = {"done": "FINISHED", "failed": "FAILED"}
    for trial in trials:
        run = runs[str(trial["number"])]
        assert run.data.tags["mlflow.parentRunId"] == runs["sweep"].info.run_id
        assert run.info.status == states[trial["state"]]
        assert run.info.start_time <= run.info.end_time
        assert run.data.params.pop("opt") == trial["params"]["opt"]
        assert all(float(value) == trial["params"][name] for name, value in run.data.params.items())
        assert set(run.data.params) == {"x", "n", "twice"}
        for name, wanted in (("loss", [trial["params"]["x"]] * 3), ("accuracy", [.1, .2, .3])):
            rows = client.get_metric_history(run.info.run_id, name)
            assert [(row.step, row.value) for row in rows] == list(zip((1, 2, 3), wanted)), rows
        odd, = client.get_metric_history(run.info.run_id, "odd _25")
        assert math.isnan(odd.value)
    best = max((t for t in trials if t["state"] == "done"), key=lambda t: t["value"])
    path = client.download_artifacts(runs[str(best["number"])].info.run_id, "checkpoint/model",
                                     folder)
    with open(path, encoding="utf-8") as file:
        assert float(file.read()) == best["params"]["x"]
    return mlflow.__version__


def main():
    optuna = compare.import_optuna("tensorboard", "mlflow")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):  # a cluster of its own
            os.environ[name] = os.path.join(folder, name)
            os.mkdir(os.environ[name], 0o700)
        with mlflow_server(folder) as url:
            gangway("up", "--slots", "2")
            try:
                trials, journal, events = run_sweep(folder, url)
            finally:
                gangway("down", check=False)
            version = check_mlflow(trials, url, folder)
        check_optuna(optuna, trials, journal)
        check_tensorboard(trials, events)
    print(f"{len(trials)} trials: Optuna {optuna.__version__}, TensorBoard and MLflow {version} "
          "read what they reported")


if __name__ == "__main__":
    main()
