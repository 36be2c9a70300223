#!/usr/bin/env python3
"""Compares the TPE of <gangway/search.h> with the univariate TPE of Optuna, with the same options,
on 10 functions. A regret is the best value of the trials minus the minimum of the function.

    tests/bench/search/compare.py --seeds 50                 minutes
    tests/bench/search/compare.py --method random            as a scale: random search

Prints for each function the geometric mean and the median of the regrets over the seeds. The ratio
of regrets is the geometric mean over the functions of the ratio of these geometric means, with its
95% interval by a bootstrap over seeds, which both searches share. FLOOR is added to each regret: a
seed that is this good counts as solved. Not the arithmetic means: regrets of one function spread
over four powers of ten, and the mean of 50 is that of the few that never leave a local minimum.

Then the same on two recorded tables (record_tables.py): small networks for pets' names and digits,
300 configurations each, 50 trials. On the tables, ASHA with promotion beside random search: the
epochs that it trains until a trial of all 16 epochs is as good as the best of 32 random trials in
the median of the seeds, as a part of the epochs of those 32 (more would find the best of the table
itself, and there ASHA has nothing to gain). At last, the time of a decision of TPE
after 10,000 trials with five parameters, ours through a pipe.

Ends with 1 if the upper end is over --limit, ASHA needs more than 40% of the epochs, or a decision
takes more than a tenth of Optuna's. Needs Optuna: without one that can be imported, a
virtual environment in the cache folder gets it from PyPI."""
import argparse
import contextlib
import importlib
import math
import os
import random
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
OPTUNA = "optuna==5.0.0"

HARTMANN_A = [[10, 3, 17, 3.5, 1.7, 8], [.05, 10, 17, .1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
              [17, 8, .05, 10, .1, 14]]
HARTMANN_P = [[.1312, .1696, .5569, .0124, .8283, .5886],
              [.2329, .4135, .8307, .3736, .1004, .9991],
              [.2348, .1451, .3522, .2883, .3047, .6650],
              [.4047, .8828, .8732, .5743, .1091, .0381]]


def xs(p):
    return [p[name] for name in sorted(p, key=lambda name: int(name[1:])) if name[0] == "x"]


def branin(p):
    x, y = p["x0"], p["x1"]
    return ((y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6)**2 +
            10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def hartmann(p):
    x = xs(p)
    return -sum(c * math.exp(-sum(a * (v - q)**2 for a, v, q in zip(row, x, at)))
                for c, row, at in zip((1, 1.2, 3, 3.2), HARTMANN_A, HARTMANN_P))


def rosenbrock(p):
    x = xs(p)
    return sum(100 * (b - a * a)**2 + (1 - a)**2 for a, b in zip(x, x[1:]))


def ackley(p):
    x = xs(p)
    return (20 + math.e - 20 * math.exp(-.2 * math.sqrt(sum(v * v for v in x) / len(x))) -
            math.exp(sum(math.cos(2 * math.pi * v) for v in x) / len(x)))


def log_bowl(p):
    return sum((math.log10(v) - at)**2 for v, at in zip(xs(p), (-3, -4.5, -1.5)))


def int_bowl(p):
    return sum((v - at)**2 for v, at in zip(xs(p), (17, 61, 40, 5))) / 100


def int_log(p):
    return sum((math.log2(v / at))**2 for v, at in zip(xs(p), (48, 300, 7)))


def stepped(p):
    return sum((v - at)**2 + .1 * math.sin(20 * v)**2 for v, at in zip(xs(p), (.3, .7, .5, .1)))


def conditional(p):
    base = (math.log10(p["lr"]) + 2.5)**2
    if p["opt"] == "sgd":
        return base + 4 * (p["m"] - .85)**2
    return base + (.3 if p["opt"] == "adam" else 1) + 2 * (p.get("b", .5) - .5)**2


def choices(p):
    cost = {"a": .8, "b": 0, "c": .4, "d": 1.2, "e": .2}
    return sum(cost[p[f"c{i}"]] * (i + 1) for i in range(4)) + (p["x0"] - .6)**2


def box(low, high, count):
    return [f"x{i}={low}..{high}" for i in range(count)]


# name: function, parameters as the command line takes them, minimum
FUNCTIONS = {
    "Branin": (branin, ["x0=-5..10", "x1=0..15"], 0.39788735772973816),
    "Hartmann-6": (hartmann, box(0, 1, 6), -3.32236801141551),
    "Rosenbrock-5": (rosenbrock, box(-2, 2, 5), 0),
    "Ackley-10": (ackley, box(-5, 10, 10), 0),
    "log": (log_bowl, ["x0=log:1e-6..1", "x1=log:1e-6..1", "x2=log:1e-6..1"], 0),
    "int": (int_bowl, [f"x{i}=int:0..100" for i in range(4)], 0),
    "int-log": (int_log, [f"x{i}=int-log:1..1024" for i in range(3)], 0),
    "stepped": (stepped, [f"x{i}=0..1:0.05" for i in range(4)], None),
    "conditional": (conditional, ["lr=log:1e-6..1", "opt=adam|sgd|none", "m=0..1 if opt=sgd",
                                  "b=0..1 if opt=adam"], 0),
    "choices": (choices, [f"c{i}=a|b|c|d|e" for i in range(4)] + ["x0=0..1"], 0),
}
FUNCTIONS["stepped"] = FUNCTIONS["stepped"][:2] + (sum(
    min((i / 20 - at)**2 + .1 * math.sin(i)**2 for i in range(21)) for at in (.3, .7, .5, .1)),)
FLOOR = 1e-3

EPOCHS, TABLE_TRIALS, RANDOM_TRIALS = 16, 50, 32
ASHA_LIMIT = .4  # of the epochs of random search
DECISION_TRIALS, DECISION_LIMIT = 10000, .1  # of the time of Optuna


class Table:
    """Losses of a grid of configurations, which parameters choose by index."""

    def __init__(self, name):
        with open(os.path.join(HERE, name + ".csv"), encoding="ascii") as file:
            next(file)
            rows = [[float(field) for field in line.split(",")] for line in file]
        levels = [sorted({row[i] for row in rows}) for i in range(3)]
        self.params = [f"x{i}=int:0..{len(level) - 1}" for i, level in enumerate(levels)]
        self.losses = {tuple(level.index(x) for level, x in zip(levels, row)): row[3:]
                       for row in rows}
        self.minimum = min(losses[-1] for losses in self.losses.values())

    def loss(self, point, epoch=EPOCHS):
        return self.losses[tuple(int(point[f"x{i}"]) for i in range(3))][epoch - 1]


TABLES = {name: Table(name) for name in ("petnames", "digits")}
PROBLEMS = FUNCTIONS | {name: (table.loss, table.params, table.minimum)
                        for name, table in TABLES.items()}


def trials_of(options, name):
    return TABLE_TRIALS if name in TABLES else options.trials


def parse_value(text):
    try:
        return float(text)
    except ValueError:
        return text


def read_point(line):
    return {name: parse_value(text) for name, text in (field.split("=") for field in line.split())}


@contextlib.contextmanager
def search_gangway(options, method, seed, trials, params, **settings):
    """A function that answers with a value, or with nothing first, and returns the next line."""
    environment = {**os.environ, **{f"GANGWAY_{key}": str(n) for key, n in settings.items()}}
    pipe = subprocess.PIPE
    with subprocess.Popen([options.program, method, str(seed), str(trials)] + params, stdin=pipe,
                          stdout=pipe, text=True, env=environment) as search:

        def turn(value=None):
            if value is not None:
                search.stdin.write(f"{value!r}\n")
                search.stdin.flush()
            return search.stdout.readline()

        yield turn
        search.communicate()  # ends the input, and reads what is left
    if search.returncode:
        sys.exit(f"{options.program} ended with {search.returncode}")


def run_gangway(options, name, seed, method=None, trials=None):
    function, params, _ = PROBLEMS[name]
    best = math.inf
    trials = trials or trials_of(options, name)
    with search_gangway(options, method or options.method, seed, trials, params) as turn:
        line = turn()
        while line:
            value = function(read_point(line))
            best = min(best, value)
            line = turn(value)
    return best


def suggest(trial, text, point):
    name, values = text.split("=", 1)
    values, _, condition = values.partition(" if ")
    if condition and point[condition.split("=")[0]] != condition.split("=")[1]:
        return
    if "|" in values:
        point[name] = trial.suggest_categorical(name, values.split("|"))
        return
    kind, _, ends = values.rpartition(":")
    step = None
    if kind and ".." in kind:  # LOW..HIGH:STEP
        kind, ends, step = "", kind, float(ends)
    low, high = map(float, ends.split(".."))
    if kind.startswith("int"):
        point[name] = trial.suggest_int(name, int(low), int(high), log="log" in kind)
    else:
        point[name] = trial.suggest_float(name, low, high, log=kind == "log", step=step)


def run_optuna(optuna, options, name, seed):
    function, params, _ = PROBLEMS[name]

    def objective(trial):
        point = {}
        for text in params:
            suggest(trial, text, point)
        return function(point)

    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=False)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=trials_of(options, name))
    return study.best_value


def ratio(regrets, seeds):
    """The geometric mean over the functions and these seeds of the ratios of the regrets."""
    logs = [math.log((ours[s] + FLOOR) / (theirs[s] + FLOOR))
            for ours, theirs in regrets.values() for s in seeds]
    return math.exp(sum(logs) / len(logs))


def bootstrap(regrets, count):
    rng = random.Random(0)
    drawn = sorted(ratio(regrets, [rng.randrange(count) for _ in range(count)])
                   for _ in range(2000))
    return drawn[49], drawn[1949]


def report(regrets, names, count):
    """Prints the ratio of regrets over some functions; returns the upper end of its interval."""
    chosen = {name: regrets[name] for name in names}
    low, high = bootstrap(chosen, count)
    print(f"ratio {ratio(chosen, range(count)):.3f}, 95% interval {low:.3f} to {high:.3f}, "
          f"{len(chosen)} functions, {count} seeds", flush=True)
    return high


def count_epochs(options, name, seed, target):
    """Epochs that ASHA trains until a trial of all epochs has reached the target."""
    table, epochs = TABLES[name], 0
    with search_gangway(options, "random", seed, 100000, table.params, ASHA=EPOCHS) as turn:
        line = turn()
        while line:
            point = read_point(line)
            epoch, answer = int(point["step"]), "continue"
            while answer == "continue":
                epoch, epochs = epoch + 1, epochs + 1
                loss = table.loss(point, epoch)
                answer = turn(loss).strip()
            if epoch == EPOCHS and loss <= target:
                break
            line = turn()
    return epochs


def compare_asha(options):
    """Returns whether ASHA needs few of the epochs of random search, on each table."""
    good = True
    for name in TABLES:
        target = statistics.median(run_gangway(options, name, seed, "random", RANDOM_TRIALS)
                                   for seed in range(options.seeds))
        epochs = sorted(count_epochs(options, name, seed, target) for seed in range(options.seeds))
        part = statistics.median(epochs) / (RANDOM_TRIALS * EPOCHS)
        print(f"ASHA on {name}: loss {target:g} after {part:.1%} of the epochs of random search in "
              f"the median", flush=True)
        good &= part <= ASHA_LIMIT
    return good


def time_decisions(optuna, options):
    """Returns whether a decision is fast beside one of Optuna, with as many trials before it."""
    names = [f"x{i}" for i in range(5)]
    rng = random.Random(0)
    ours = []
    with search_gangway(options, "tpe", 0, DECISION_TRIALS + 20, [f"{name}=0..1" for name in names],
                        STARTUP=DECISION_TRIALS) as turn:
        line = turn()
        while line:
            start = time.monotonic()
            line = turn(rng.random())
            ours.append(time.monotonic() - start)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, multivariate=False))
    space = {name: optuna.distributions.FloatDistribution(0, 1) for name in names}
    study.add_trials([optuna.trial.create_trial(params={name: rng.random() for name in names},
                                                distributions=space, value=rng.random())
                      for _ in range(DECISION_TRIALS)])
    theirs = []
    for _ in range(5):
        start = time.monotonic()
        study.tell(study.ask(space), rng.random())
        theirs.append(time.monotonic() - start)
    ours, theirs = statistics.median(ours[-20:-1]), statistics.median(theirs)
    print(f"a decision after {DECISION_TRIALS} trials: {ours * 1e3:.2f} ms, Optuna "
          f"{theirs * 1e3:.0f} ms")
    return ours <= theirs * DECISION_LIMIT


def import_optuna(*others):
    """Optuna, in this Python or in that of a virtual environment, which then runs this script.
    Others are packages that must be there, too."""
    try:
        import optuna
        for other in others:
            importlib.import_module(other.partition("[")[0])
        return optuna
    except ImportError:
        pass
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(cache, "gangway-peers", "-".join(("optuna", *others)))
    python = os.path.join(folder, "bin", "python")
    if sys.executable == python:
        sys.exit(f"{' and '.join(('optuna', *others))} cannot be imported")
    if not os.path.exists(os.path.join(folder, "ready")):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "-q", "install", OPTUNA, *others], check=True)
        open(os.path.join(folder, "ready"), "w").close()
    return os.execv(python, [python] + sys.argv)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--seeds", type=int, default=50)
    add("--trials", type=int, default=100)
    add("--method", default="tpe", choices=("tpe", "random", "sobol"), help="Gangway's")
    add("--limit", type=float, default=1.10, help="the upper end of the interval that is allowed")
    add("--program", help="the program ask_tell",
        default=os.path.join(os.environ.get("GANGWAY_BUILD") or
                             os.path.join(ROOT, "build", "release"), "bin", "ask_tell"))
    options = parser.parse_args()
    optuna = import_optuna()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    regrets, took = {}, [0, 0]
    heads = ["Gangway", "Optuna", "ratio", "median", "Optuna"]
    print(f"{'function':14}" + "".join(f"{head:>12}" for head in heads))
    for name, (_, _, minimum) in PROBLEMS.items():
        start = time.monotonic()
        ours = [run_gangway(options, name, seed) - minimum for seed in range(options.seeds)]
        middle = time.monotonic()
        theirs = [run_optuna(optuna, options, name, seed) - minimum
                  for seed in range(options.seeds)]
        took = [took[0] + middle - start, took[1] + time.monotonic() - middle]
        regrets[name] = ours, theirs
        columns = [statistics.geometric_mean([value + FLOOR for value in values])
                   for values in (ours, theirs)]
        columns += [columns[0] / columns[1], statistics.median(ours), statistics.median(theirs)]
        print(f"{name:14}" + "".join(f"{value:12.4f}" for value in columns), flush=True)
    print(f"{took[0]:.1f} s, Optuna {optuna.__version__} {took[1]:.1f} s")
    report(regrets, TABLES, options.seeds)
    high = report(regrets, FUNCTIONS, options.seeds)
    few, fast = compare_asha(options), time_decisions(optuna, options)
    return high > options.limit or not few or not fast


if __name__ == "__main__":
    sys.exit(main())
