#!/usr/bin/env python3
"""How command gangs start: what each host must have, and where their ranks listen."""
import json
import os
import socket

import e2e

# Each rank listens at its own port of TF_CONFIG, and prints the variable.
DOORS = """
import json, os, socket
config = json.loads(os.environ["TF_CONFIG"])
mine = config["cluster"]["worker"][config["task"]["index"]]
host, port = mine.rsplit(":", 1)
socket.create_server((host, int(port)))
assert config["task"] == {"type": "worker", "index": int(os.environ["RANK"])}
print(json.dumps(config["cluster"]), flush=True)
"""

# Rank 0 lets another process take MASTER_PORT in its first attempt, and then tries to use it.
LATE = """
import os, socket, sys
if os.environ["RANK"] == "0":
    if os.environ["GANGWAY_RESTART_COUNT"] == "0":
        with open(sys.argv[1], "w") as f:
            f.write(os.environ["MASTER_PORT"] + "\\n")
        open(sys.argv[2]).read()
    socket.create_server(("127.0.0.1", int(os.environ["MASTER_PORT"])))
    print("bound at try", os.environ["GANGWAY_RESTART_COUNT"])
"""


class Start(e2e.Case):
    def test_tf_config_lists_the_ports_of_all_ranks(self):
        self.up("--slots", "4", "--workers", "2")
        out = self.gangway("dispatch", "-n", "4", "--", "python3", "-c", DOORS).stdout
        told = [json.loads(line[line.index("{"):]) for line in out.splitlines() if "{" in line]
        self.assertEqual(len(told), 4, out)
        self.assertEqual(told, told[:1] * 4)
        self.assertEqual(len(set(told[0]["worker"])), 4, "two ranks have one door")
        out = self.gangway("dispatch", "-n", "2", "--env", "TF_CONFIG=mine", "--",
                           "sh", "-c", "echo $TF_CONFIG").stdout
        self.assertEqual(out.count("mine"), 2, "a value that the user set wins")

    def test_missing_program_of_a_rank_starts_no_rank(self):
        began = os.path.join(self.dir, "began")
        for rank, text in ((0, f"#!/bin/sh\ntouch {began}\n"), (1, None)):
            if text:
                with open(os.path.join(self.dir, f"train{rank}"), "w", encoding="utf-8") as f:
                    f.write(text)
                os.chmod(f.name, 0o755)
        said = self.gangway("dispatch", "-n", "2", "--", "./train{rank}", rc=127).stderr
        self.assertRegex(said, r"rank 1 on .*: cannot start \./train1: no such file .*--ship")
        self.assertFalse(os.path.exists(began), "rank 0 has started")
        os.chmod(os.path.join(self.dir, "train0"), 0o644)
        said = self.gangway("dispatch", "-n", "2", "--", "./train0", rc=126).stderr
        self.assertRegex(said, r"cannot start \./train0: permission denied")
        said = self.gangway("dispatch", "-n", "2", "--", "no-such-program", rc=127).stderr
        self.assertRegex(said, r"no-such-program: no such file in any folder of PATH")

    def test_file_of_the_working_folder_or_words_of_a_shell_are_answered_with_what_to_type(self):
        self.up("--slots", "2")
        self.write("train.py", "")
        self.write("job.sh", "", 0o644)
        self.write("begin", "", 0o755)
        for program, meant in (("train.py", "did you mean python3 train.py?"),
                               ("job.sh", "did you mean sh job.sh?"),
                               ("begin", "did you mean ./begin?"),
                               ("echo a; echo b", "typed as sh -c 'WORDS'")):
            for command in (["submit"], ["dispatch", "-n", "2"]):
                with self.subTest(command=command, program=program):
                    said = self.gangway(*command, "--", program, rc=127).stderr
                    self.assertIn(f"cannot start {program}: no such file", said)
                    self.assertIn(meant, said)

    def test_taken_master_port_restarts_the_gang_uncounted(self):
        ask, go = os.path.join(self.dir, "ask"), os.path.join(self.dir, "go")
        os.mkfifo(ask)
        os.mkfifo(go)
        lines = e2e.Lines(ask)
        self.addCleanup(lines.close)
        self.up("--slots", "2")
        gang = self.start(e2e.BINARY, "dispatch", "-n", "2", "--", "python3", "-c", LATE, ask, go)
        port = int(lines.next())
        with socket.create_server(("127.0.0.1", port)):
            with open(go, "w", encoding="utf-8") as f:
                f.write("go")
            self.assertEqual(gang.wait(), 0, gang.text)
        self.assertIn("bound at try 1", gang.text)
        self.assertIn("has taken its MASTER_PORT", self.gangway("events", "1").stdout)


if __name__ == "__main__":
    e2e.main()
