#!/usr/bin/env python3
"""Runs a sweep of 6 trials in a cluster of its own, exports it, and opens the files with Optuna and
TensorBoard: values, parameters and reports must be those of `gangway sweep show` and of the trials.
Needs both: without ones that can be imported, a virtual environment in the cache folder gets them
from PyPI. ./check --full runs it."""
import json
import os
import subprocess
import sys
import tempfile

import compare

GANGWAY = os.environ.get("GANGWAY_BINARY") or os.path.join(compare.ROOT, "build", "release", "bin",
                                                           "gangway")
TRIAL = ("for step in 1 2 3; do {gangway} report step=$step loss={{x}} accuracy=0.$step; done; "
         "[ {{opt}} != c ]")


def gangway(*words, **options):
    return subprocess.run([GANGWAY, *words], check=options.pop("check", True), text=True,
                          stdout=subprocess.PIPE, **options).stdout


def run_sweep(folder):
    """The trials of a sweep, of which some fail, and the files of its exports."""
    gangway("sweep", "--name", "opened", "--param", "x=log:0.001..1", "--param", "n=int:1..9",
            "--param", "opt=a|b|c", "--derive", "twice=2*n", "--maximize", "loss", "--trials", "6",
            "--search", "random", "--seed", "1", "--", "sh", "-c", TRIAL.format(gangway=GANGWAY))
    journal, events = os.path.join(folder, "journal.log"), os.path.join(folder, "events")
    gangway("sweep", "export", "opened", "--format", "optuna", "-o", journal)
    gangway("sweep", "export", "opened", "--format", "tensorboard", "-o", events)
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
        assert sorted(opened.Tags()["scalars"]) == ["accuracy", "loss"]
        for tag, wanted in (("loss", [trial["params"]["x"]] * 3), ("accuracy", [.1, .2, .3])):
            rows = opened.Scalars(tag)
            assert [row.step for row in rows] == [1, 2, 3], rows
            assert all(abs(row.value - value) < 1e-6 for row, value in zip(rows, wanted)), rows
            assert all(row.wall_time > trial["began_ns"] / 1e9 for row in rows), rows


def main():
    optuna = compare.import_optuna("tensorboard")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):  # a cluster of its own
            os.environ[name] = os.path.join(folder, name)
            os.mkdir(os.environ[name], 0o700)
        gangway("up", "--slots", "2")
        try:
            trials, journal, events = run_sweep(folder)
        finally:
            gangway("down", check=False)
        check_optuna(optuna, trials, journal)
        check_tensorboard(trials, events)
    print(f"{len(trials)} trials: Optuna {optuna.__version__} and TensorBoard read what they "
          "reported")


if __name__ == "__main__":
    main()
