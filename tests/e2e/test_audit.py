#!/usr/bin/env python3
"""The audit log of a scheduler: who did what, from where, with which outcome."""
import getpass
import json
import os

import e2e


class Audit(e2e.Case):
    def lines(self):
        """All lines; the test ends if one of them is not JSON."""
        with open(self.cluster("audit.jsonl"), encoding="utf-8") as f:
            return [json.loads(line) for line in f.read().splitlines(keepends=True)
                    if line.endswith("\n")]

    def wait_for(self, **fields):
        """Waits for a line with these fields, and returns it."""
        while True:
            for line in self.lines():
                if all(line.get(name) == value for name, value in fields.items()):
                    return line

    def host(self, token):
        """The environment of another machine."""
        env = {"GANGWAY_ADDRESS": self.address, "GANGWAY_TOKEN": token}
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            env[name] = os.path.join(self.dir, f"host-{len(os.listdir(self.dir))}")
            os.mkdir(env[name], 0o700)
        return env

    def start_cluster(self, *options):
        self.up("--listen", "127.0.0.1", "--slots", "1", "--trust-users", *options)
        with open(self.cluster("address"), encoding="utf-8") as f:
            self.address = f.read().strip()

    def test_acts_have_a_line_with_their_user_and_outcome(self):
        token = self.gangway_json("token", "create", "--user", "alice")["token"]
        self.start_cluster()
        alice = self.host(token)
        self.assertEqual(os.stat(self.cluster("audit.jsonl")).st_mode & 0o777, 0o600)
        self.assertEqual(self.wait_for(what="join")["object"], "worker 1")
        job = int(self.gangway("submit", "-d", "--name", "hers", "--", "tail", "-f", "/dev/null",
                               "secret-argument", env=alice).stdout)
        line = self.wait_for(what="submit", job=job)
        self.assertEqual((line["user"], line["from"], line["outcome"]),
                         ("alice", "127.0.0.1", "ok"))
        identity = line["token"]
        self.assertIn(identity, token)
        self.gangway("gpu", "drain", "GPU-x", env=alice, rc=1)
        line = self.wait_for(what="gpu drain")
        self.assertEqual((line["object"], line["outcome"]), ("GPU-x", "GW_EPERM"))
        self.gangway("worker", "drain", "worker-1", "--reason", "disk")
        self.wait_for(what="worker drain", object="worker-1", outcome="ok")
        self.gangway("cancel", str(job))
        line = self.wait_for(what="cancel", job=job)
        self.assertEqual((line["user"], line["outcome"]), (getpass.getuser(), "ok"))
        self.assertRegex(line["from"], r"^process \d+ of this host$")
        self.gangway("token", "revoke", identity)
        self.assertIn("of alice, role user", self.wait_for(what="token revoke")["object"])
        self.gangway("jobs", env=alice, rc=1)
        self.assertIn("there is no key", self.wait_for(what="refuse")["text"])
        self.gangway("down")
        self.is_up = False
        self.wait_for(what="down", outcome="ok")
        with open(self.cluster("audit.jsonl"), encoding="utf-8") as f:
            text = f.read()
        self.assertNotIn("secret-argument", text)
        self.assertNotIn(token, text)

    def test_refused_job_has_a_line_with_the_reason_and_a_look_for_a_checkpoint_has_none(self):
        self.up("--slots", "1")
        self.gangway("submit", "--", "true")
        self.gangway("submit", "--queue", "none", "--", "true", rc=None)
        line = self.wait_for(what="submit", outcome="GW_EINVAL")
        self.assertIn("no accounts and queues", line["text"])
        self.gangway("down")
        self.is_up = False
        with open(self.cluster("audit.jsonl"), encoding="utf-8") as f:
            acts = [json.loads(line)["what"] for line in f]
        self.assertEqual([act for act in acts if act not in ("join", "leave")],
                         ["submit", "submit", "down"])

    def test_act_inside_a_task_is_that_of_the_user_of_its_job(self):
        token = self.gangway_json("token", "create", "--user", "alice")["token"]
        self.start_cluster()
        self.gangway("submit", "--", "sh", "-c", f"{e2e.BINARY} submit -d -- true",
                     env=self.host(token))
        line = self.wait_for(what="submit", job=2)
        self.assertEqual(line["user"], "alice")
        self.assertIn("in a task", line["from"])

    def test_full_disk_is_logged_once_and_the_cluster_goes_on(self):
        self.up("--slots", "1", "--audit", "/dev/full")
        for _ in range(3):
            self.gangway("submit", "--", "true")
        self.gangway("down")
        self.is_up = False
        with open(self.cluster("scheduler.log"), encoding="utf-8") as f:
            log = f.read()
        self.assertEqual(log.count("cannot write the audit log /dev/full: No space left"), 1)

    def test_audit_log_can_be_turned_off_and_must_be_writable(self):
        self.up("--slots", "1", "--audit", "none")
        self.gangway("submit", "--", "true")
        self.assertFalse(os.path.exists(self.cluster("audit.jsonl")))
        self.gangway("down")
        self.is_up = False
        said = self.gangway("up", "--audit", "/proc/no/such", rc=None).stderr
        self.assertIn("cannot open the audit log /proc/no/such: No such file or directory", said)


if __name__ == "__main__":
    e2e.main()
