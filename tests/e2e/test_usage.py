#!/usr/bin/env python3
"""What a user types, right or wrong: help, options, words of other tools, completion."""
import json
import os
import re

import e2e


class Usage(e2e.Case):
    def test_every_command_has_help_within_80_columns(self):
        listed = re.findall(r"^  (\w+) ", self.gangway("--help").stdout, re.M)
        self.assertIn("dispatch", listed)
        for command in listed:
            with self.subTest(command=command):
                self.assertIn("Usage: gangway", self.gangway("help", command).stdout)
                text = self.gangway(command, "--help").stdout
                self.assertIn("Usage: gangway", text)
                self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
            # Commands whose subcommands have options of their own.
            behind = text.partition("\nCommands:\n")[2]
            for verb in re.findall(r"^  (\w+) ", behind, re.M):
                with self.subTest(command=command, verb=verb):
                    text = self.gangway(command, verb, "--help").stdout
                    self.assertEqual(self.gangway("help", command, verb).stdout, text)
                    self.assertIn(f"Usage: gangway {command} {verb}", text)
                    self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        self.assertIn("has no verbs", self.gangway("help", "submit", "ls", rc=2).stderr)
        self.assertRegex(self.gangway("--version").stdout, r"^gangway \d+\.\d+\.\d+$")
        self.assertIn("did you mean 'status'?", self.gangway("stauts", rc=2).stderr)
        self.gangway(rc=2)

    def test_commands_of_other_tools_suggest_the_gangway_command(self):
        """Commands of other tools are answered with the Gangway command; no typing error is
        answered with a command that ends work."""
        self.assertIn("unknown command 'run': did you mean submit (one task) or dispatch (a gang)?",
                      self.gangway("run", rc=2).stderr)
        for word, meant in (("srun", "dispatch"), ("sbatch", "submit -d"),
                            ("torchrun", "dispatch"), ("mpirun", "dispatch"), ("squeue", "jobs"),
                            ("ps", "jobs"), ("htop", "top"), ("cp", "get"),
                            ("scancel", "cancel"), ("kill", "cancel"), ("start", "up")):
            self.assertIn(f"`gangway {meant}", self.gangway(word, rc=2).stderr)
        for word in ("tpo", "cp", "kil", "stp", "step", "ups", "pu", "dow", "own", "cancle",
                     "stopp"):
            said = self.gangway(word, rc=2).stderr
            for verb in ("stop", "up", "down", "cancel", "restart"):
                self.assertNotRegex(said, rf"(?:'|gangway ){verb}\b")

    def test_commands_typed_as_in_other_tools_work_or_get_a_hint(self):
        """What users of Slurm, kubectl, Docker, gh, torchrun, Ray and HyperQueue type: it works
        (exit code 0), or the error says what to type instead (2)."""
        self.up("--slots", "4")
        self.gangway("submit", "-d", "--name", "train", "--", "echo", "a line")
        self.gangway("wait", "train")
        lines = self.write("lines", "a\nb\n")
        for typed, code, said in (
            # Slurm
            ("sbatch job.sh", 2, "`gangway submit -d"),
            ("squeue", 2, "`gangway jobs`"),
            ("scancel 1", 2, "`gangway cancel JOB`"),
            ("srun -n 4 hostname", 2, "`gangway dispatch -n N"),
            ("salloc", 2, "`gangway submit --pty"),
            ("sinfo", 2, "`gangway worker list`"),
            ("sacct -j 1", 2, "`gangway events JOB`"),
            ("scontrol show job 1", 2, "`gangway explain JOB`"),
            ("scontrol hold 1", 2, "`gangway explain JOB`"),
            ("hold 1", 2, "`gangway pause JOB`"),
            ("requeue 1", 2, "`gangway retry JOB`"),
            ("submit -J nap -c 2 --time 1:30:00 -- true", 0, ""),
            ("submit --time 90 -- true", 2, "--time 90: give a unit"),
            ("dispatch -N 1 --ntasks-per-node 2 -- true", 0, ""),
            ("submit --mem 4G -- true", 2, "did you mean --memory SIZE"),
            ("submit --partition gpu -- true", 2, "no accounts and queues"),
            ("submit -o out.txt -- true", 2, "`gangway logs JOB -o DIR`"),
            ("submit --gres=gpu:1 -- true", 2, "--gpus N"),
            ("submit -a 1-3 -- true", 2, "--array FIRST-LAST"),
            ("submit --array=1-3 -- true", 0, ""),
            ("submit --dependency afterok:1 -- true", 2, "--after JOB"),
            ("submit -w node1 -- true", 2, "--on HOST"),
            ("jobs -t RUNNING", 2, "--state STATE"),
            ("jobs -u nobody-here", 0, "no jobs"),
            ("jobs -j 1", 2, "as arguments"),
            # kubectl
            ("get pods", 2, "`gangway jobs`"),
            ("describe job 1", 2, "`gangway explain JOB`"),
            ("delete pod train", 2, "`gangway cancel JOB`"),
            ("apply -f job.yaml", 2, "--from-json FILE"),
            ("logs -f train", 0, "a line"),
            ("logs --tail 1 train", 0, "a line"),
            ("logs --tail=1 train", 0, "a line"),
            ("logs -p train", 2, "--attempt N"),
            ("logs --since 1h train", 0, "a line"),
            ("logs -t train", 2, "type --timestamps"),
            ("logs --timestamps train", 0, "T.*Z a line"),
            ("exec -it train -- sh", 2, "--pty"),
            ("port-forward train 8080:80", 2, "`gangway forward JOB PORT`"),
            ("cordon worker-1", 2, "`gangway gpu drain UUID`"),
            ("cluster-info", 2, "`gangway status`"),
            # Docker
            ("run ubuntu", 2, "submit \\(one task\\) or dispatch \\(a gang\\)"),
            ("ps -a", 2, "`gangway jobs`"),
            ("top", 0, "no unfinished jobs"),
            ("stats", 2, "`gangway top`"),
            ("inspect train", 2, "`gangway explain JOB`"),
            ("rm nobody", 2, "there is no job"),
            ("remove train", 2, "`gangway rm JOB`"),
            ("cp train:file .", 2, "`gangway get JOB PATH`"),
            ("attach train", 2, "`gangway logs -f JOB`"),
            ("pull ubuntu", 2, "--container IMAGE"),
            ("submit -v /data:/data -- true", 2, "--ship FILE"),
            ("logs -n 5 train", 2, "--tail N"),
            ("version", 0, "gangway [0-9]"),
            # gh
            ("auth login", 2, "`gangway token store`"),
            ("jobs -L 5", 2, "--limit N"),
            ("jobs --limit 5", 0, "train"),
            ("rerun 1", 2, "`gangway retry JOB`"),
            # torchrun
            ("torchrun --nproc_per_node=4 train.py", 2, "`gangway dispatch -n N -- python3"),
            ("dispatch --nnodes 1 --nproc_per_node=2 --max_restarts=1 -- true", 0, ""),
            ("dispatch --standalone -- true", 2, "leave it out"),
            # Ray
            ("start --head", 2, "`gangway up`"),
            ("job submit -- python3 x.py", 2, "`gangway submit -- COMMAND`"),
            ("submit --num-cpus 2 -- true", 0, ""),
            ("timeline", 2, "`gangway events JOB`"),
            ("memory", 2, "`gangway status`"),
            # HyperQueue
            ("server start", 2, "`gangway up`"),
            ("alloc add slurm", 2, "`gangway up --hosts"),
            ("task list 1", 2, "`gangway tasks JOB`"),
            (f"submit --each-line {lines} -- echo {{line}}", 0, ""),
            ("submit --cpus=2 -- true", 0, ""),
            ("dashboard", 2, "`gangway top`"),
            # Optuna, Ray Tune, W&B
            ("sweep create", 2, "`gangway sweep --name NAME --param"),
            ("sweep --n-trials 4 --param x=0..1 --minimize l -- true", 2, "mean --trials N"),
            ("sweep --num-samples=4 --param x=0..1 --minimize l -- true", 2, "mean --trials N"),
            ("sweep --sampler tpe", 2, "--search METHOD"),
            ("sweep --pruner median", 2, "--asha"),
            ("sweep --study-name x", 2, "mean --name"),
            ("sweep --direction minimize", 2, "--minimize METRIC"),
            ("sweep --param x=0..1 --minimize l --trails 4 -- true", 2, "mean --trials"),
            ("sweep --param x=0..1 --minimize l python3 x.py", 2, "write -- before the command"),
            ("sweep status", 2, "did you mean 'show'"),
            ("sweep results", 2, "did you mean 'show'"),
            ("sweep importance", 2, "did you mean 'plot'"),
            ("sweep show s --csv", 2, "`gangway sweep export NAME`"),
            ("sweep show s -n 3", 2, "--limit N"),
            ("study create", 2, "`gangway sweep --param"),
            ("tune run x.py", 2, "`gangway sweep --param"),
            ("agent x/y/z", 2, "`gangway sweep --param"),
            ("tensorboard --logdir x", 2, "`gangway sweep export NAME --format"),
            # again
            ("get jobs", 2, "`gangway jobs` lists jobs"),
            ("up --num-cpus x", 2, "--slots x: not a whole number"),
            ("up --head", 2, "leave it out"),
            ("up -n 4", 2, "--slots N"),
            ("wait --for=condition=done train", 2, "type only the jobs"),
            ("sprio", 2, "`gangway explain JOB`"),
            ("sstat 1", 2, "`gangway metrics JOB`"),
            ("submit --nice 5 -- true", 2, "--priority P"),
            ("submit --constraint gpu -- true", 2, "--on HOST"),
            ("submit --begin now -- true", 2, "--after JOB"),
            ("submit --mail-user a@b -- true", 2, "there is no mail"),
            ("submit --rm -- true", 2, "leave it out"),
            ("unpause x", 2, "`gangway resume JOB`"),
            ("rollout restart x", 2, "`gangway restart JOB`"),
            ("sweep delete x", 2, "did you mean 'rm'"),
            ("sweep ls", 2, "did you mean 'list'"),
            ("submit --exclusive -- true", 2, "--slots N"),
            ("submit --account=a -- true", 2, "no accounts"),
            ("submit --working-dir /tmp -- pwd", 0, "/tmp"),
            ("submit -v -- true", 2, "no verbose mode"),
            ("dispatch -n 2 -m mymod", 2, "-- python3 -m MODULE"),
            ("top -n 1", 2, "`gangway status`"),
        ):
            with self.subTest(typed):
                done = self.gangway(*typed.split(), rc=None)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stdout + done.stderr, said or "^")

    def test_mistyped_verb_is_answered_but_never_with_a_removal(self):
        for command, word, meant in (("data", "lst", "list"), ("data", "ls", "list"),
                                     ("data", "delete", "rm"), ("data", "publsh", "publish"),
                                     ("sync", "delete", "rm"), ("actor", "kill", "rm"),
                                     ("gpu", "undrian", "undrain"), ("token", "rm", "revoke"),
                                     ("token", "add", "create")):
            said = self.gangway(command, word, rc=2).stderr
            self.assertIn(f"gangway {command}: unknown command '{word}', did you mean '{meant}'?",
                          said)
        for command, word in (("token", "revok"), ("gpu", "drai"), ("sync", "clera")):
            said = self.gangway(command, word, rc=2).stderr
            self.assertIn(f"unknown command '{word}'\n`gangway {command} --help`", said)

    def test_option_names_cannot_be_abbreviated(self):
        """Every command refuses an abbreviation and suggests the full option."""
        for command in re.findall(r"^  (\w+) ", self.gangway("--help").stdout, re.M):
            text = self.gangway(command, "--help").stdout
            verbs = re.findall(r"^  (\w+) ", text.partition("\nCommands:\n")[2], re.M)
            helps = {(command, verb): self.gangway(command, verb, "--help").stdout
                     for verb in verbs} or {(command,): text}
            for names, text in helps.items():
                option = re.search(r"^  (?:    |-., )--([a-z-]+)", text, re.M).group(1)
                for typed in (f"--{option[:-1]}", f"--{option[:-1]}=1"):
                    if option != "help":
                        said = self.gangway(*names, typed, rc=2).stderr
                        self.assertRegex(said, rf"unknown option.*--{option}\b", names)
        self.assertIn("--memory SIZE", self.gangway("submit", "--mem", "4G", "true", rc=2).stderr)
        self.assertIn("--memory-limit", self.gangway("up", "--mem", "4G", rc=2).stderr)

    def test_letter_of_an_option_has_one_meaning_in_all_commands(self):
        meant = {}
        for command in re.findall(r"^  (\w+) ", self.gangway("--help").stdout, re.M):
            text = self.gangway(command, "--help").stdout
            behind = text.partition("\nCommands:\n")[2]
            texts = [text] + [self.gangway(command, verb, "--help").stdout
                              for verb in re.findall(r"^  (\w+) ", behind, re.M)]
            for letter, option in re.findall(r"^  -(.), --([a-z-]+)", "".join(texts), re.M):
                meant.setdefault(letter, set()).add(option)
        self.assertIn("n", meant)
        self.assertEqual({letter: options for letter, options in meant.items()
                          if len(options) > 1}, {})
        for command, letter, option in (("wait", "t", "--timeout"), ("up", "s", "--slots"),
                                        ("logs", "n", "--tail"), ("submit", "a", "--array"),
                                        ("jobs", "n", "--limit"), ("exec", "w", "--wait")):
            said = self.gangway(command, f"-{letter}", "1", rc=2).stderr
            self.assertRegex(said, rf"unknown option -{letter}[,:] .*{option}\b")

    def test_options_are_accepted_at_any_position(self):
        """Options before, between and after the arguments of every command have the same
        effect."""
        self.up("--slots", "1")
        job = self.gangway("submit", "-d", "--", "true").stdout.strip()
        self.gangway("wait", job)
        nap = self.gangway("submit", "-d", "--name", "nap", "--", "tail", "-f",
                           "/dev/null").stdout.strip()
        self.wait_said(r"running", "tasks", nap)
        tokens = os.path.join(self.dir, "tokens")
        words = {  # an option, and the arguments of a command; None: only --help
            "jobs": (["--json"], [job, job]), "tasks": (["--state", "done"], [job]),
            "logs": (["--rank", "0"], [job]), "wait": (["--timeout", "1ms"], [job, nap]),
            "cancel": (["--json"], [job, "97", "98"]), "retry": (None, ["97", "98"]),
            "restart": (None, ["97", "98"]), "pause": (["--now"], ["97", "98"]),
            "resume": (None, ["97", "98"]), "stop": (None, ["97", "98"]),
            "rm": (None, ["97", "98"]),
            "explain": (["--json"], [job, "97"]), "events": (["--json"], ["97", "98"]),
            "graph": (["--limit", "3"], [job, nap]),
            "exec": (["--rank", "0"], ["nap", "echo", "{rank}"]),
            "get": (["-o", "got"], ["nap", "a", "b"]), "forward": (["--rank", "7"], ["97", "80"]),
            "actor rm": (["--now"], ["a", "b"]), "data get": (["--json"], ["a"]),
            "data put": (["--json"], ["a", "no-such"]), "data publish": (None, ["a", nap]),
            "data rm": (None, ["a", "b"]), "data where": (["--json"], ["a"]),
            "data replicate": (["--copies", "2"], ["a"]),
            "sync set": (["--text"], ["variable", "a", "1"]),
            "sync get": (["--timeout", "1ms"], ["queue", "b"]),
            "sync put": (["--text"], ["queue", "q", "1"]),
            "sync open": (None, ["queue", "q", "1000"]),
            "sync lock": (["--timeout", "1ms"], ["l", "echo", "held"]),
            "sync lease": (["--timeout", "1ms"], ["s", "echo", "held"]),
            "sync clear": (None, ["event", "e"]),
            "sync wait": (["--timeout", "1ms"], ["event", "e"]),
            "sync close": (None, ["queue", "c"]), "sync rm": (None, ["queue", "d"]),
            "gpu drain": (None, ["GPU-y", "GPU-z"]), "gpu undrain": (None, ["GPU-y", "GPU-z"]),
            "worker drain": (["--reason", "why"], ["w-y", "w-z"]),
            "worker undrain": (None, ["w-y", "w-z"]),
            "config check": (None, ["/proc/no-such"]), "config show": (None, ["/proc/no-such"]),
            "token revoke": (["--tokens", tokens], ["ID", "f" * 16]),
            "new": (None, ["/proc/no-such"]), "completion": (None, ["csh"]),
            "help": (["--man"], ["submit"]), "metrics": (["--json"], [job]),
            "report": (["--json"], ["a=1", "b"]),
            "sweep show": (["--json"], ["a"]), "sweep best": (["--command"], ["a"]),
            "sweep stop": (None, ["a", "b"]), "sweep resume": (["--json"], ["a"]),
            "sweep extend": (["--trials", "3"], ["a"]),
            "sweep export": (["--format", "csv"], ["a"]), "sweep plot": (["-o", "got"], ["a"]),
            "sweep rm": (None, ["a", "b"]),
        }
        listed = [(command,) for command in
                  re.findall(r"^  (\w+) ", self.gangway("--help").stdout, re.M)]
        listed += [(command, verb) for (command,) in listed for verb in re.findall(
            r"^  (\w+) ", self.gangway(command, "--help").stdout.partition("\nCommands:\n")[2],
            re.M)]
        for names in listed:
            usage = self.gangway(*names, "--help").stdout.partition("\n")[0]
            if re.search(r"\[options\] (?!-- COMMAND)", usage):
                self.assertIn(" ".join(names), words, "its words are not tried")
        for verb, (option, given) in words.items():
            said, token = [], ""
            for at in range(len(given) + 1) if option else (0,):
                if verb == "token revoke":
                    token = json.loads(self.gangway("token", "create", "--json", "--tokens",
                                                    tokens).stdout)["id"]
                typed = [token if word == "ID" else word for word in given]
                done = self.gangway(*verb.split(), *typed[:at], *(option or []), *typed[at:],
                                    rc=None)
                said.append((done.returncode, done.stdout, done.stderr))
            self.assertEqual(said, said[:1] * len(said), verb)
        self.assertEqual(self.gangway_json("token", "list", "--tokens", tokens), [])

    def test_manual_page_lists_every_command_option_and_variable(self):
        """The page has each command with its options, and each environment variable that is
        read or set."""
        page = self.gangway("help", "--man").stdout.replace("\\-", "-")
        parts = dict(re.findall(r"^\.SS gangway (.*)\n((?:(?!\.S[HS] ).*\n)*)", page, re.M))
        for command in re.findall(r"^  (\w+) ", self.gangway("help").stdout, re.M):
            text = self.gangway("help", command).stdout
            behind = text.partition("\nCommands:\n")[2]
            verbs = re.findall(r"^  (\w+) ", behind, re.M)
            helps = {f"{command} {verb}": self.gangway("help", command, verb).stdout
                     for verb in verbs}
            if "\nOptions:\n" in text:
                helps[command] = text
            for name, text in helps.items():
                options = set(re.findall(r"^  (?:    |-., )(--[a-z-]+)", text, re.M))
                there = re.findall(r"^(?:\\fB-.\\fR, )?\\fB(--[a-z-]+)", parts[name], re.M)
                self.assertEqual(set(there) | {"--help"}, options, name)
        self.assertNotIn("gangway supervisor", page)
        own = {"GANGWAY_RUNNER_FD", "GANGWAY_LOG_DIR", "GANGWAY_BINARY_DIR", "GANGWAY_SEPARATE",
               "GANGWAY_MPI", "GANGWAY_CGROUP"}  # set between processes
        top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        for part in ("client", "gpu", "graph", "scheduler", "worker"):
            for folder, _, names in os.walk(os.path.join(top, part)):
                for name in names:
                    if not name.endswith((".c", ".h")):
                        continue
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        used = set(re.findall(r'"(GANGWAY_[A-Z_]+)(?:=[^"]*)?"', file.read()))
                    for variable in used - own:
                        self.assertTrue(f"\\fB{variable}\\fR" in page, f"{name}: {variable}")

    def test_shell_completion_offers_commands_and_options(self):
        script = self.gangway("completion", "bash").stdout
        for line, wanted in (("gangway di", ["dispatch"]),
                             ("gangway s", ["status", "submit", "sweep", "stop",
                                            "sync", "scheduler"]),
                             ("gangway up --id", ["--idle-stop"]),
                             # whose help text contains another option
                             ("gangway submit --an", ["--annotate"]),
                             ("gangway submit --ti", ["--time-limit"]),
                             ("gangway worker --na", ["--name"]),
                             ("gangway worker l", ["list"]),
                             ("gangway sweep e", ["extend", "export"]),
                             ("gangway data p", ["put", "publish"]),
                             ("gangway worker list --", ["--watch", "--json", "--connect-timeout",
                                                         "--help"]),
                             ("gangway help sta", ["status"]),
                             ("gangway completion f", ["fish"]),
                             ("gangway submit -- ls --a", [])):
            words = "".join(f" '{word}'" for word in line.split())
            said = self.run_program(
                "bash", "-c", f"{script}\nCOMP_WORDS=({words} ); COMP_CWORD=$((${{#COMP_WORDS[@]}}"
                '-1)); _gangway; printf "%s\\n" "${COMPREPLY[@]}"',
                env={"PATH": f"{os.path.dirname(e2e.BINARY)}:{os.environ['PATH']}"}).stdout
            self.assertEqual(said.split(), wanted, line)
        for shell in ("zsh", "fish"):
            self.assertIn("gangway help", self.gangway("completion", shell).stdout)
        self.gangway("completion", "csh", rc=2)


if __name__ == "__main__":
    e2e.main()
