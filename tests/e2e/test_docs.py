#!/usr/bin/env python3
"""What README.md and the pages of docs/ show: each command runs, and prints what its page says.

A page is one shell session, in a new folder, with the installed Gangway. Its blocks run in order:

    ```sh             commands; each must succeed
    ```console        `$ COMMAND` (its further lines: `> LINE`), then what the command prints. `...`
                      stands for any text in a line; a line of only `...` for any lines. A command
                      may fail if `$ echo $?` follows.
    ```c main.c       a file of this name is written (any language)
    ```sh norun       needs other hosts, GPUs or packages: only commands and options are checked
    ```console torch  is run only if Python has this module
    ```text           is not looked at

Commands in a text, like `gangway jobs --all`, are checked as in a block that does not run."""
import glob
import os
import re
import shlex
import subprocess
import sys

import e2e

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ["README.md", *sorted(glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True))]
SHARE = os.path.join("share", "doc", "gangway")
PAGE_S = 300  # a page may take this long
# Runs one command of a page in the page's shell, so that `cd`, `export` and `&` have their effect.
STEP = """
( exit $rc )
{
%s
} >"$docs/%d.out" 2>&1 </dev/null
rc=$?
echo $rc >"$docs/%d.rc"
"""


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def blocks(text):
    """(line number, words after the fence, text) of each fenced block."""
    pattern = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.M | re.S)
    return [(text[:match.start()].count("\n") + 1, match.group(1).split(), match.group(2))
            for match in pattern.finditer(text)]


def console(text):
    """(command, output) of a console block."""
    steps = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append([line[2:], []])
        elif line.startswith(">") and steps and not steps[-1][1] and line[1:2] in ("", " "):
            steps[-1][0] += "\n" + line[2:]
        else:
            steps[-1][1].append(line)
    return steps


def as_pattern(lines):
    """The regular expression of shown output. Widths of columns and durations may differ."""
    parts = [r"(?:.*\n)*?" if line.strip() == "..." else
             re.escape(line.rstrip()).replace(r"\.\.\.", ".*") + r"\n" for line in lines]
    return re.sub(r"(?:\\ ){2,}", " +", re.sub(r"\b\d+(?:\\\.\d+)?m?s\b", r"[\\d.]+m?s",
                                              "".join(parts))) + r"\Z"


def commands(text):
    """The commands of gangway in shell text, without what they run."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"[|;&]|\$\(", line):
            try:
                words = shlex.split(part.removeprefix("$ "), comments=True)
            except ValueError:
                words = part.split()
            if "gangway" in words[:2]:
                words = words[words.index("gangway") + 1:]
                yield words[:words.index("--")] if "--" in words else words


class Docs(e2e.Case):
    helps = {}

    def setUp(self):
        super().setUp()
        self.prefix = os.path.join(self.dir, "installed")
        self.run_program("cmake", "--install", e2e.BUILD, "--prefix", self.prefix)
        lib = os.path.dirname(glob.glob(self.prefix + "/lib/**/libgangway.a", recursive=True)[0])
        del self.env["GANGWAY_BINARY"]
        self.env.update({"PATH": f"{self.prefix}/bin:{os.environ['PATH']}",
                         "LD_LIBRARY_PATH": lib, "PKG_CONFIG_PATH": lib + "/pkgconfig",
                         "CMAKE_PREFIX_PATH": self.prefix, "LC_ALL": "C", "NO_COLOR": "1"})

    def help_of(self, *words):
        """The help of a command, or of a verb; "" if there is none."""
        if words not in self.helps:
            said = self.run_program("gangway", "help", *words, rc=None)
            self.helps[words] = said.stdout if said.returncode == 0 else ""
        return self.helps[words]

    def wrong_words(self, words):
        """What a command line of gangway names that does not exist."""
        if not words or not re.fullmatch(r"[a-z]+", words[0]):
            return  # `gangway COMMAND`, `gangway --help`
        text = self.help_of(words[0])
        if not text:
            yield words[0]
        if words[1:2] and re.search(rf"^  {re.escape(words[1])} ", text, re.M):
            text = self.help_of(*words[:2])
        for word in words[1:]:
            option = re.match(r"--?[a-z][a-z-]*", word)
            if option and not re.search(rf"(?<![\w-]){option.group()}(?![\w-])", text):
                yield word

    def has_modules(self, names):
        return all(self.run_program("python3", "-c", f"import {name}", rc=None).returncode == 0
                   for name in names)

    def run_page(self, page):
        """Runs the commands of a page; returns what is wrong, as lines of text."""
        docs = os.path.join(self.dir, "docs")
        folder = os.path.join(self.dir, "page")
        script, steps = "rc=0\n", []
        os.mkdir(docs)
        os.mkdir(folder)
        for line, info, text in blocks(read(os.path.join(self.prefix, SHARE, page))):
            if info[:1] == ["console"]:
                new = console(text) if self.has_modules(info[1:]) else []
            elif info == ["sh"]:
                new = [[f"set -e\n{text}\nset +e", None]]
            elif len(info) == 2 and info[1] != "norun":
                new = [[f"cp {docs}/{len(steps)}.text {info[1]}", []]]
                with open(f"{docs}/{len(steps)}.text", "w", encoding="utf-8") as file:
                    file.write(text)
            else:
                new = []
            for command, output in new:
                script += STEP % (command, len(steps), len(steps))
                steps.append((line, command, output))
        if not steps:
            return
        env = dict(self.env, docs=docs)
        with open(os.path.join(docs, "script"), "w", encoding="utf-8") as file:
            file.write(script)
        try:
            subprocess.run(["bash", os.path.join(docs, "script")], env=env, cwd=folder,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=PAGE_S, check=False)
        except subprocess.TimeoutExpired:
            yield f"{page}: runs after {PAGE_S} s"
        for i, (line, command, output) in enumerate(steps):
            said = read(f"{docs}/{i}.out") if os.path.exists(f"{docs}/{i}.out") else "(did not run)"
            rc = read(f"{docs}/{i}.rc").strip() if os.path.exists(f"{docs}/{i}.rc") else "none"
            may_fail = i + 1 < len(steps) and steps[i + 1][1] == "echo $?"
            if rc != "0" and not may_fail:
                yield f"{page}:{line}: exit code {rc}: {command}\n{said}"
                if rc == "none":
                    return
            said = "".join(part.rstrip() + "\n" for part in said.splitlines())
            if output is not None and not re.match(as_pattern(output), said):
                shown = "\n".join(output)
                yield f"{page}:{line}: {command}\nprints\n{said}\nand not\n{shown}\n"

    def check_page(self, page):
        self.is_up = True  # a page that fails may leave its cluster, which tearDown ends
        found = list(self.run_page(page))
        text = read(os.path.join(self.prefix, SHARE, page))
        self.assertTrue(text.startswith("# "), page)
        shown = [text for _, info, text in blocks(text) if "norun" in info]
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        shown += [" ".join(code.split()) for code in re.findall(r"`(gangway [^`]+)`", prose)]
        for words in (words for part in shown for words in commands(part)):
            found += [f"{page}: gangway {' '.join(words)}: there is no {word}"
                      for word in self.wrong_words(words)]
        for line, info, _ in blocks(text):
            if not info or len(info) == 1 and info[0] not in ("sh", "console", "text"):
                found.append(f"{page}:{line}: the kind of the block is missing: see test_docs.py")
        found += [f"{page}: not in a block: {line}"
                  for line in re.findall(r"^ {4}(gangway .*)", prose, re.M)]
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose):
            path = os.path.join(self.prefix, SHARE, os.path.dirname(page), link)
            if not os.path.exists(path):
                found.append(f"{page}: there is no {link}")
        if found:
            self.fail("\n" + "\n".join(found))

    def test_reference_names_every_header(self):
        text = read(os.path.join(self.prefix, SHARE, "docs", "reference", "c-api.md"))
        headers = os.listdir(os.path.join(self.prefix, "include", "gangway"))
        self.assertEqual([name for name in headers if f"`{name}`" not in text], [])


def add_page(page):
    name = re.sub(r"\W+", "_", page.removesuffix(".md")).lower()
    setattr(Docs, f"test_{name}", lambda self: self.check_page(page))


for each in PAGES:
    add_page(each)

if __name__ == "__main__":
    if not e2e.BUILD:
        sys.exit("GANGWAY_BUILD must name the build folder")
    e2e.main()
