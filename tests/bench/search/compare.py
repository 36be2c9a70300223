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
Ends with 1 if the upper end is over --limit. Needs Optuna: without one that can be imported, a
virtual environment in the cache folder gets it from PyPI."""
import argparse
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


def parse_value(text):
    try:
        return float(text)
    except ValueError:
        return text


def run_gangway(options, name, seed):
    function, params, _ = FUNCTIONS[name]
    command = [options.program, options.method, str(seed), str(options.trials)] + params
    best = math.inf
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as search:
        for line in search.stdout:
            point = dict(field.split("=", 1) for field in line.split())
            value = function({key: parse_value(text) for key, text in point.items()})
            best = min(best, value)
            search.stdin.write(f"{value!r}\n")
            search.stdin.flush()
    if search.returncode:
        sys.exit(f"{options.program} ended with {search.returncode}")
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
    function, params, _ = FUNCTIONS[name]

    def objective(trial):
        point = {}
        for text in params:
            suggest(trial, text, point)
        return function(point)

    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=False)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=options.trials)
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


def import_optuna():
    """Optuna, in this Python or in that of a virtual environment, which then runs this script."""
    try:
        import optuna
        return optuna
    except ImportError:
        pass
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(cache, "gangway-peers", "optuna")
    python = os.path.join(folder, "bin", "python")
    if sys.executable == python:
        sys.exit("Optuna cannot be imported")
    if not os.path.exists(os.path.join(folder, "ready")):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "-q", "install", OPTUNA], check=True)
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
    for name, (_, _, minimum) in FUNCTIONS.items():
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
    low, high = bootstrap(regrets, options.seeds)
    mean = ratio(regrets, range(options.seeds))
    print(f"ratio {mean:.3f}, 95% interval {low:.3f} to {high:.3f}, {options.seeds} seeds; "
          f"{took[0]:.1f} s, Optuna {optuna.__version__} {took[1]:.1f} s")
    return high > options.limit


if __name__ == "__main__":
    sys.exit(main())
