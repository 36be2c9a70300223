"""Trials of Optuna that do nothing, by 2 processes that share a journal file.

    peer_optuna.py TRIALS random|tpe      prints trials a second, from the start of the processes"""
import multiprocessing
import os
import sys
import tempfile
import time

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

PROCESSES = 2


def work(path, trials, method):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler}
    study = optuna.load_study(study_name="bench", sampler=samplers[method](),
                              storage=JournalStorage(JournalFileBackend(path)))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=trials)


def main():
    trials, method = int(sys.argv[1]), sys.argv[2]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "journal")
        optuna.create_study(study_name="bench", storage=JournalStorage(JournalFileBackend(path)))
        start = time.monotonic()
        workers = [multiprocessing.Process(target=work, args=(path, trials // PROCESSES, method))
                   for _ in range(PROCESSES)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        print(trials / (time.monotonic() - start))


if __name__ == "__main__":
    main()
