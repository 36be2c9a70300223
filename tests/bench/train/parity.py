#!/usr/bin/env python3
"""Compares optimizers, schedules and the loss scaler (<gangway/optimizer.h>, schedule.h, plateau.h,
scaler.h) with those of PyTorch on the CPU, on the same random gradients; and the LSTM of the pet
names and the residual net of the digits (examples/nn) with those of torch.nn, in double.

    tests/bench/train/parity.py [--build build/release]

Prints for each optimizer the largest error of a parameter after 50 steps, relative to the largest
parameter, and at last a line `parity ...`. The models train for 50 steps of SGD with momentum from
the same parameters (double_steps.c); compared are parameters, running statistics and losses.
PyTorch has no LARS and LAMB: these are written here with its tensors, after Apex (LARC.py,
fused_lamb.py). Ends with 1 if an optimizer differs by more than 1e-6 in float or 1e-9 in double, if
a model differs by more than 1e-9, or if a schedule or the scaler differs by a bit. Needs PyTorch
2.3 or later: without one that can be imported, a virtual environment in the cache folder gets it
from PyPI."""
import argparse
import array
import ctypes as c
import math
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
STEPS, SHAPES = 50, (7000, 33, 20000, 1)
SGD, ADAM, ADAMW, LARS, LAMB = range(1, 6)
F32, F64 = 1, 2


def import_torch():
    """PyTorch, in this Python or in that of a virtual environment, which then runs this script."""
    try:
        import torch
        torch.amp.GradScaler("cpu")
        return torch
    except (ImportError, AttributeError):
        pass
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(cache, "gangway-peers", "torch")
    python = os.path.join(folder, "bin", "python")
    if sys.executable == python:
        sys.exit("PyTorch 2.3 cannot be imported")
    if not os.path.exists(os.path.join(folder, "ready")):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "-q", "install", "torch", "numpy"], check=True)
        open(os.path.join(folder, "ready"), "w").close()
    return os.execv(python, [python] + sys.argv)


class Options(c.Structure):
    """An options struct, which begins with its size."""
    def __init__(self, **fields):
        super().__init__(struct_size=c.sizeof(self), **fields)


class OptimizerOptions(Options):
    _fields_ = [("struct_size", c.c_size_t), ("kind", c.c_int), ("lr", c.c_double),
                ("weight_decay", c.c_double), ("momentum", c.c_double), ("dampening", c.c_double),
                ("nesterov", c.c_bool), ("beta1", c.c_double), ("beta2", c.c_double),
                ("eps", c.c_double), ("trust", c.c_double), ("trust_clips", c.c_bool),
                ("gradient_norm_max", c.c_double), ("stream", c.c_void_p)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("gradient", c.c_void_p), ("count", c.c_size_t),
                ("no_decay", c.c_bool), ("dtype", c.c_int)]


class ScheduleOptions(Options):
    _fields_ = [("struct_size", c.c_size_t), ("kind", c.c_int), ("lr", c.c_double),
                ("ranks", c.c_int), ("warm_up_steps", c.c_int64), ("warm_up_factor", c.c_double),
                ("period", c.c_int64), ("factor", c.c_double), ("lr_min", c.c_double)]


class PlateauOptions(Options):
    _fields_ = [("struct_size", c.c_size_t), ("is_max", c.c_bool), ("is_absolute", c.c_bool),
                ("factor", c.c_double), ("patience", c.c_uint32), ("cooldown", c.c_uint32),
                ("threshold", c.c_double), ("lr_min", c.c_double), ("eps", c.c_double)]


class ScalerOptions(Options):
    _fields_ = [("struct_size", c.c_size_t), ("scale", c.c_double), ("growth", c.c_double),
                ("backoff", c.c_double), ("interval", c.c_uint32), ("scale_max", c.c_double)]


class Library:
    def __init__(self, path):
        self.calls = c.CDLL(path)
        for name in ("schedule_lr", "schedule_next", "plateau_next", "scaler_scale"):
            getattr(self.calls, "gw_" + name).restype = c.c_double

    def new(self, noun, *args):
        made = c.c_void_p()
        assert getattr(self.calls, f"gw_{noun}_new")(*args, c.byref(made), None) == 0, noun
        return made

    def call(self, name, *args):
        return getattr(self.calls, "gw_" + name)(*args)


def lars(torch, options):
    """A function that steps parameters as LARC of Apex around torch.optim.SGD."""
    def make(parameters):
        inner = torch.optim.SGD(parameters, lr=options["lr"], momentum=options["momentum"],
                                nesterov=options.get("nesterov", False))

        def step():
            for p in parameters:
                weight, gradient = p.norm(), p.grad.norm()
                decay, ratio = options["weight_decay"], 1
                if weight and gradient:
                    ratio = options["trust"] * weight / (gradient + decay * weight + options["eps"])
                    if options.get("trust_clips"):
                        ratio = min(ratio / options["lr"], 1)
                p.grad.add_(p, alpha=decay).mul_(ratio)
            inner.step()
        return step
    return make


def lamb(torch, options):
    """A function that steps parameters as FusedLAMB of Apex does."""
    def make(parameters):
        state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
        beta1, beta2, count = options["beta1"], options["beta2"], [0]

        def step():
            torch.nn.utils.clip_grad_norm_(parameters, options["gradient_norm_max"])
            count[0] += 1
            for p, (m, v) in zip(parameters, state):
                m.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                u = m / (1 - beta1**count[0]) / (
                    (v / (1 - beta2**count[0])).sqrt() + options["eps"])
                u += options["weight_decay"] * p.data
                ratio = p.norm() / u.norm() if p.norm() and u.norm() else 1
                p.data.add_(u * ratio, alpha=-options["lr"])
        return step
    return make


def cases(torch):
    """(name, options of ours, function of parameters that returns the step of theirs)"""
    def of(make):
        return lambda parameters: make(parameters).step
    adam = dict(lr=1e-3, beta1=.9, beta2=.999, eps=1e-8)
    betas = dict(lr=1e-3, betas=(.9, .999), eps=1e-8)
    o = torch.optim
    yield "SGD", dict(kind=SGD, lr=.1, weight_decay=.01), of(
        lambda p: o.SGD(p, lr=.1, weight_decay=.01))
    yield "SGD momentum", dict(kind=SGD, lr=.1, momentum=.9, dampening=.1), of(
        lambda p: o.SGD(p, lr=.1, momentum=.9, dampening=.1))
    yield "SGD Nesterov", dict(kind=SGD, lr=.1, momentum=.9, nesterov=True, weight_decay=1e-4), of(
        lambda p: o.SGD(p, lr=.1, momentum=.9, nesterov=True, weight_decay=1e-4))
    yield "Adam", dict(kind=ADAM, weight_decay=.01, **adam), of(
        lambda p: o.Adam(p, weight_decay=.01, **betas))
    yield "AdamW", dict(kind=ADAMW, weight_decay=.01, **adam), of(
        lambda p: o.AdamW(p, weight_decay=.01, **betas))
    options = dict(lr=1., momentum=.9, trust=.01, weight_decay=1e-4, eps=1e-8)
    yield "LARS", dict(kind=LARS, **options), lars(torch, options)
    options = dict(options, lr=.01, trust_clips=True, nesterov=True)
    yield "LARC", dict(kind=LARS, **options), lars(torch, options)
    options = dict(adam, eps=1e-6, weight_decay=.01, gradient_norm_max=1)
    yield "LAMB", dict(kind=LAMB, **options), lamb(torch, options)


def optimizer_error(torch, library, options, make, dtype):
    """The largest difference of a parameter, relative to the largest parameter. Gradients are
    clipped in the odd steps."""
    torch.manual_seed(7)
    kind = {torch.float32: F32, torch.float64: F64}[dtype]
    ours = [torch.randn(n, dtype=dtype) for n in SHAPES]
    theirs = [torch.nn.Parameter(p.clone()) for p in ours]
    gradients = [torch.empty_like(p) for p in ours]
    table = (Tensor * len(ours))(*(Tensor(p.data_ptr(), g.data_ptr(), p.numel(), False, kind)
                                   for p, g in zip(ours, gradients)))
    optimizer = library.new("optimizer", c.byref(OptimizerOptions(**options)), table,
                            c.c_size_t(len(ours)))
    step = make(theirs)
    for t in range(STEPS):
        for p, g in zip(theirs, gradients):
            g.copy_(torch.randn(g.shape, dtype=dtype) * 10**random.Random(t).uniform(-3, 1))
            p.grad = g.clone()
        if t % 2:
            torch.nn.utils.clip_grad_norm_(theirs, 2.)
            assert library.call("clip_norm", optimizer, c.c_double(2.), None, None, None) == 0
        with torch.no_grad():
            step()
        assert library.call("optimizer_step", optimizer, None) == 0
    library.call("optimizer_free", optimizer)
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(ours, theirs))


def count_schedules(torch, library):
    """How many schedules were compared; all of their rates have the same bits."""
    from torch.optim import lr_scheduler
    dice, count = random.Random(3), 0
    for kind in (0, 1, 2):
        for _ in range(40):
            base, warm, period = dice.uniform(1e-4, 2), dice.randrange(0, 30), dice.randrange(1, 50)
            start, gamma, low = dice.uniform(.01, 1), dice.uniform(.05, .95), dice.uniform(0, 1e-4)
            inner = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=base)
            then = [lambda o: lr_scheduler.ConstantLR(o, 1.),
                    lambda o: lr_scheduler.StepLR(o, period, gamma),
                    lambda o: lr_scheduler.CosineAnnealingLR(o, period, low)][kind]
            theirs = then(inner) if not warm else lr_scheduler.SequentialLR(
                inner, [lr_scheduler.LinearLR(inner, start, 1., warm), then(inner)], [warm])
            ours = library.new("schedule", c.byref(ScheduleOptions(
                kind=kind, lr=base, warm_up_steps=warm, warm_up_factor=start, period=period,
                factor=gamma, lr_min=low)))
            for t in range(200):
                lr = library.call("schedule_next", ours) if t else library.call(
                    "schedule_lr", ours)
                if lr != inner.param_groups[0]["lr"]:
                    sys.exit(f"schedule {kind}, step {t}: {lr!r}, {inner.param_groups[0]['lr']!r}")
                inner.step()
                theirs.step()
            library.call("schedule_free", ours)
            count += 1
    return count


def count_plateaus(torch, library):
    dice, count = random.Random(4), 0
    for _ in range(60):
        mode, kind = dice.choice(("min", "max")), dice.choice(("rel", "abs"))
        options = dict(factor=dice.uniform(.05, .95), cooldown=dice.randrange(4),
                       threshold=dice.choice((1e-4, .01)))
        patience, low = dice.randrange(5), dice.choice((0, 1e-3))
        inner = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=.3)
        theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(
            inner, mode=mode, threshold_mode=kind, min_lr=low, patience=patience, **options)
        ours = library.new("plateau", c.byref(PlateauOptions(
            is_max=mode == "max", is_absolute=kind == "abs", lr_min=low,
            patience=patience or 2**32 - 1, **options)))
        lr = .3
        for t in range(100):
            metric = math.nan if t % 17 == 5 else math.exp(-t / 30) + dice.uniform(0, .3)
            lr = library.call("plateau_next", ours, c.c_double(metric), c.c_double(lr))
            theirs.step(metric)
            if lr != inner.param_groups[0]["lr"]:
                sys.exit(f"plateau, step {t}: {lr!r}, {inner.param_groups[0]['lr']!r}")
        library.call("plateau_free", ours)
        count += 1
    return count


def count_scaler_steps(torch, library):
    """Steps with random infinities: the same scale, the same steps skipped, the same parameters."""
    dice = random.Random(5)
    p, w = torch.nn.Parameter(torch.ones(4)), torch.ones(4)
    g, inner = torch.zeros(4), torch.optim.SGD([p], lr=.5)
    options = dict(growth=1.7, backoff=.3, interval=5)
    table = (Tensor * 1)(Tensor(w.data_ptr(), g.data_ptr(), 4, False, F32))
    optimizer = library.new("optimizer", c.byref(OptimizerOptions(kind=SGD, lr=.5)), table,
                            c.c_size_t(1))
    ours = library.new("scaler", c.byref(ScalerOptions(scale=1000., **options)))
    theirs = torch.amp.GradScaler("cpu", init_scale=1000., growth_factor=1.7, backoff_factor=.3,
                                  growth_interval=5)
    for t in range(500):
        factor = math.inf if dice.random() < .1 else dice.uniform(-1, 1)
        inner.zero_grad()
        theirs.scale((p * factor).sum()).backward()
        g.copy_(p.grad)
        theirs.step(inner)
        theirs.update()
        assert library.call("scaler_step", ours, optimizer, None, None, None) == 0
        scale = library.call("scaler_scale", ours)
        if scale != theirs.get_scale() or not torch.equal(w, p.detach()):
            sys.exit(f"scaler, step {t}: {scale!r}, {theirs.get_scale()!r}, {w}, {p}")
    library.call("scaler_free", ours)
    library.call("optimizer_free", optimizer)
    return t + 1


def lstm_of_torch(torch):
    """Layers, a list of their parameters in our order (whether as the transpose), and forward."""
    hidden, nn = 24, torch.nn
    lstm, dense = nn.LSTM(29, hidden, 4, batch_first=True), nn.Linear(hidden, 30)
    order = []
    for k in range(4):
        torch.nn.init.zeros_(getattr(lstm, f"bias_hh_l{k}")).requires_grad_(False)
        order += [(getattr(lstm, f"{name}_l{k}"), name != "bias_ih")
                  for name in ("weight_ih", "weight_hh", "bias_ih")]

    def forward(symbols):
        one_hot = nn.functional.one_hot(symbols.view(-1, 10).long(), 29).to(torch.float64)
        return dense(lstm(one_hot)[0][:, -1])
    return [lstm, dense], order + [(dense.weight, True), (dense.bias, False)], forward


def residual_of_torch(torch):
    """The same of the residual net of examples/06_digits/model.c."""
    nn, layers = torch.nn, []

    def normalised(inputs, outputs, kernel, stride):
        layers.append(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2))
        layers.append(nn.BatchNorm2d(outputs))
        return nn.Sequential(*layers[-2:])

    def block(inputs, outputs, stride):
        first, second = normalised(inputs, outputs, 3, stride), normalised(outputs, outputs, 3, 1)
        shortcut = normalised(inputs, outputs, 1, stride) if stride > 1 else nn.Identity()
        return lambda x: torch.relu(shortcut(x) + second(torch.relu(first(x))))
    stem = normalised(1, 8, 3, 1)
    blocks = [block(8, 16, 2), block(16, 16, 1), block(16, 32, 2)]
    layers.append(nn.Linear(32, 10))

    def forward(images):
        x = torch.relu(stem(images.view(-1, 1, 28, 28)))
        for each in blocks:
            x = each(x)
        return layers[-1](x.mean((2, 3)))
    return layers, [(p, False) for layer in layers for p in layer.parameters()], forward


def model_error(torch, build, name, make):
    """The largest difference of parameters, statistics and losses after STEPS steps, each relative
    to the largest of its kind."""
    raw = subprocess.run([os.path.join(build, "bin", "double_steps"), name], check=True,
                         stdout=subprocess.PIPE).stdout
    arrays, at = [], 0
    while at < len(raw):
        count = int.from_bytes(raw[at:at + 8], sys.byteorder)
        arrays.append(torch.tensor(array.array("d", raw[at + 8:at + 8 + 8 * count]),
                                   dtype=torch.float64))
        at += 8 + 8 * count
    inputs, labels, before, after, statistics, losses = arrays
    layers, order, forward = make(torch)
    for layer in layers:
        layer.double().train()
    at = 0
    for p, transposed in order:
        part = before[at:at + p.numel()].clone()
        p.data = part.view(p.shape[::-1]).t().contiguous() if transposed else part.view(p.shape)
        at += p.numel()
    assert at == len(before), f"{name}: {at} parameters in PyTorch, {len(before)} here"
    sgd = torch.optim.SGD([p for p, _ in order], lr=.05, momentum=.9)
    theirs = []
    for _ in range(STEPS):
        sgd.zero_grad()
        loss = torch.nn.functional.cross_entropy(forward(inputs), labels.long())
        loss.backward()
        sgd.step()
        theirs.append(loss.detach())
    flat = torch.cat([(p.t() if transposed else p).reshape(-1) for p, transposed in order]).detach()
    running = [getattr(layer, key) for layer in layers if isinstance(layer, torch.nn.BatchNorm2d)
               for key in ("running_mean", "running_var")]
    pairs = [(after, flat), (losses, torch.stack(theirs))]
    if running:
        pairs.append((statistics, torch.cat(running)))
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    options = parser.parse_args()
    torch = import_torch()
    library, worst = Library(os.path.join(options.build, "lib", "libgangway.so")), {}
    print(f"{'optimizer':14}{'float':>12}{'double':>12}")
    for name, fields, make in cases(torch):
        errors = {dtype: optimizer_error(torch, library, fields, make, dtype)
                  for dtype in (torch.float32, torch.float64)}
        print(f"{name:14}" + "".join(f"{error:12.1e}" for error in errors.values()))
        worst = {dtype: max(error, worst.get(dtype, 0)) for dtype, error in errors.items()}
    models = {name: model_error(torch, options.build, name, make) for name, make in (
        ("lstm", lstm_of_torch), ("residual", residual_of_torch))}
    print(f"parity PyTorch {torch.__version__}: optimizers {worst[torch.float32]:.1e} in float, "
          f"{worst[torch.float64]:.1e} in double; LSTM {models['lstm']:.1e}, residual net "
          f"{models['residual']:.1e}; {count_schedules(torch, library)} schedules, "
          f"{count_plateaus(torch, library)} plateaus and {count_scaler_steps(torch, library)} "
          "steps of the scaler exact")
    return worst[torch.float32] > 1e-6 or max(worst[torch.float64], *models.values()) > 1e-9


if __name__ == "__main__":
    sys.exit(main())
