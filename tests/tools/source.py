"""The files of the tree, for the programs that check it."""
import os
import re

SKIP_DIRS = {".git", "build", ".cache", "__pycache__"}


class File:
    """One text file: its path from the root, its lines, and for C its lines without comments."""

    def __init__(self, root, path):
        self.root, self.path = root, path
        with open(os.path.join(root, path), encoding="utf-8") as f:
            self.text = f.read()
        self.lines = self.text.split("\n")
        self._code = None

    @property
    def code(self):
        """Lines with comments and the contents of strings blanked out."""
        if self._code is None:
            def blank(match):
                s = match.group(0)
                if s[0] in "\"'":
                    return s[0] + re.sub(r"[^\n]", " ", s[1:-1]) + s[-1]
                return re.sub(r"[^\n]", " ", s)
            pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
            self._code = re.sub(pattern, blank, self.text, flags=re.S).split("\n")
        return self._code

    def head_of(self, start):
        """The first line of the head of the function whose opening brace is at start."""
        while start and self.code[start - 1].strip() and self.code[start - 1][0] not in "}#" and \
                not self.code[start - 1].rstrip().endswith(";"):
            start -= 1
        return start

    def functions(self):
        """(name, static?, first line, last line) of each function that is defined here."""
        start = None
        for i, line in enumerate(self.code):
            if line == "{":
                start = i
            elif line == "}" and start is not None:
                head = " ".join(self.code[self.head_of(start):start])
                text = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", head)
                name = re.search(r"(\w+)\s*\(", text)
                if name:
                    yield name.group(1), re.search(r"\bstatic\b", text) is not None, start, i
                start = None


def find_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in SKIP_DIRS)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not os.path.islink(os.path.join(root, path)) and name != ".git":
                yield path
