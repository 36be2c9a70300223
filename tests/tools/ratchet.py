"""Numbers that may only fall, until they are 0. A measure is a name and the things that it counts;
the file `ratchets` has the names whose number is not 0, each with its number. `layers` and `tidy`
measure; the first word of a name says which of them."""
import os

FILE = "tests/tools/ratchets"
SHOWN_MAX = 100  # things that a violation names


def read(root):
    path = os.path.join(root, FILE)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        lines = [line.rsplit(None, 1) for line in f if line.strip() and line[0] != "#"]
    return {name: int(number) for name, number in lines}


def check(root, kinds, measured, partial=()):
    """Violations, as lines of text. kinds: the first words of the names that the caller measures;
    partial: names of which this build shows too little, so that a smaller number says nothing."""
    limits, found = read(root), []
    for name in sorted(measured.keys() | {n for n in limits if n.split()[0] in kinds}):
        things, limit = sorted(measured.get(name, [])), limits.get(name, 0)
        if len(things) > limit:
            listed = ", ".join(things) if len(things) <= SHOWN_MAX else "see --numbers NAME"
            found.append(f"{name}: {len(things)}, at most {limit}, and it may only fall: {listed}")
        elif len(things) < limit and name not in partial:
            found.append(f"{name}: lower the number in {FILE} to {len(things)} (--lower does it)")
    return found


def lower(root, kinds, measured, partial=()):
    """Writes each number that has fallen. A number that has risen stays."""
    path, kept = os.path.join(root, FILE), []
    limits = read(root)
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    for line in lines:
        name = line.rsplit(None, 1)[0] if line.strip() and line[0] != "#" else None
        if name and name.split()[0] in kinds and name not in partial:
            number = min(limits[name], len(measured.get(name, [])))
            line = f"{name} {number}" if number else None
        if line is not None:
            kept.append(line)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(kept) + "\n")


def show(measured, names):
    """All numbers, or, of the names that are given, what they count."""
    for name in sorted(n for n in measured if measured[n]):
        if not names:
            print(name, len(measured[name]))
        elif name in names:
            print("\n".join(sorted(measured[name])))


def unit(path):
    """The first two folders of a path: a file that moves to a room of them stays in its unit."""
    return "/".join(os.path.dirname(path).split("/")[:2])
