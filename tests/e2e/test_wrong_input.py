#!/usr/bin/env python3
"""Wrong input: a clear message, the right exit code, and no effect on others."""

import glob
import os
import shutil
import socket
import struct

import e2e

MISUSE = os.path.join(e2e.BUILD, "bin", "misuse")


class WrongInput(e2e.Case):
    def misuse(self, what, code, *words, env=None):
        done = self.run_program(MISUSE, what, rc=code, env=env)
        for word in words:
            self.assertIn(word, done.stdout + done.stderr)
        return done

    def test_correct_program_prints_its_sum(self):
        done = self.misuse("sum", 0)
        self.assertEqual(done.stdout.strip(), "3")

    def test_wrong_argument_type_is_reported(self):
        self.misuse("types", 1, "GW_ETASK", "add: argument 1 is a string, wanted a number")

    def test_unknown_function_is_reported(self):
        self.misuse("unknown", 2, "GW_ENOENT", "elsewhere")

    def test_cycle_error_names_its_tasks(self):
        self.misuse("cycle", 2, "GW_ECYCLE", "chicken", "egg")

    def test_duplicate_task_name_is_reported(self):
        self.misuse("twice", 2, "GW_EEXIST", "same")

    def test_crash_error_has_signal_and_last_output(self):
        self.misuse("crash", 1, "GW_ECRASHED", "about to crash", "signal 6")

    def test_dependency_error_names_the_first_cause(self):
        self.misuse("fail", 1, "GW_EDEPENDENCY", "first", "the disk is on fire")

    def test_gang_error_names_the_first_failed_rank(self):
        self.misuse("desert", 1, "GW_ETASK", "rank 1 deserts")

    def test_missing_gw_init_is_reported(self):
        self.misuse("sum", 1, "GW_ESTART", "gw_init", env={"MISUSE_NO_INIT": "1"})

    def test_gang_larger_than_the_cluster_is_refused(self):
        self.up("--slots", "2")
        done = self.gangway("dispatch", "-n", "5", "--", "true", rc=2)
        self.assertIn("5", done.stderr)
        self.assertIn("2", done.stderr)
        self.gangway("dispatch", "-n", "2", "--", "true")

    def test_numbers_out_of_range_are_refused_with_units(self):
        """The error names the option as typed and has readable units."""
        def refused(words, *options):
            said = self.gangway("dispatch", *options, "--", "true", rc=2).stderr
            self.assertIn(words, said)

        refused("--max-restarts 99999999999: the maximum is 4294967295", "--max-restarts",
                "99999999999")
        refused("--ranks 99999999999999999999: the maximum is 2147483647", "-n",
                "99999999999999999999")
        refused("--ranks -1: the minimum is 1", "-n", "-1")
        refused("--ranks 2x: not a whole number", "-n", "2x")
        refused("localhost:0: the number after the colon must be 1 to 4096", "-H",
                "localhost:0")
        refused("--gpu-memory needs --gpus", "--gpu-memory", "1T")
        refused("--gpus-per-rank 0.0001: the smallest fraction of a GPU is 0.001", "--gpus",
                "0.0001")
        self.up("--slots", "2", "--memory-limit", "400M")
        refused("1 slot, 1.0 PiB of memory", "--memory", "1P")
        refused("each rank 1 slot, 300.0 MiB of memory", "-n", "2", "--memory", "300M")

    def test_missing_program_exits_with_127(self):
        done = self.gangway("dispatch", "-n", "2", "--", "/no/such/program", rc=127)
        self.assertIn("/no/such/program", done.stderr)
        self.assertIn("o such file", done.stderr)

    def test_unsearchable_folder_in_path_is_skipped(self):
        """A program that is in no other folder is not found; for a program that is there and
        may not be executed, that is reported."""
        os.mkdir(os.path.join(self.dir, "shut"), 0o600)
        os.mkdir(os.path.join(self.dir, "bin"))
        self.write("bin/plain", "", 0o644)
        env = {"PATH": f"{self.dir}/shut:{self.dir}/bin:{self.env['PATH']}"}
        root = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
        run = lambda *words, rc=0: self.run_program(*root, e2e.BINARY, *words, rc=rc, env=env)
        run("up", "--slots", "3")
        self.is_up = True
        job = run("submit", "-d", "--", "sleep", "600").stdout.strip()
        for starts in (["submit"], ["dispatch", "-n", "2"], ["exec", "--host", "--wait", job],
                       ["sync", "lock", "l"]):
            with self.subTest(starts):
                said = run(*starts, "--", "nosuchprog", rc=127).stderr
                self.assertRegex(said, "nosuchprog: [Nn]o such file")
                said = run(*starts, "--", "plain", rc=126).stderr
                self.assertRegex(said, "plain: [Pp]ermission denied")

    def test_program_of_another_machine_exits_with_126(self):
        path = os.path.join(self.dir, "alien")
        shutil.copy("/bin/true", path)
        with open(path, "r+b") as file:
            file.seek(18)  # e_machine
            file.write(struct.pack("<H", 243 if os.uname().machine != "riscv64" else 62))
        done = self.gangway("dispatch", "-n", "1", "--", path, rc=126)
        self.assertIn("xec format error", done.stderr)

    def test_missing_library_of_a_program_is_named(self):
        cc = shutil.which("cc")
        if not cc:
            self.skipTest("no C compiler here")
        with open(os.path.join(self.dir, "lib.c"), "w", encoding="utf-8") as file:
            file.write("int answer(void) { return 42; }\n")
        with open(os.path.join(self.dir, "main.c"), "w", encoding="utf-8") as file:
            file.write("int answer(void); int main(void) { return answer(); }\n")
        self.run_program(cc, "-shared", "-fPIC", "-o", "libanswer.so", "lib.c")
        self.run_program(cc, "-o", "program", "main.c", "-L.", "-lanswer")
        os.unlink(os.path.join(self.dir, "libanswer.so"))
        done = self.gangway("dispatch", "-n", "2", "--", "./program", rc=127)
        self.assertIn("libanswer.so", done.stderr)

    def test_malformed_bytes_on_the_socket_disturb_no_job(self):
        self.up("--slots", "2")
        up, go = e2e.Lines(self.fifo("up")), self.fifo("go")
        self.addCleanup(up.close)
        child = self.start(e2e.BINARY, "dispatch", "-n", "1", "--", "sh", "-c",
                           'echo up > "$0"; read x < "$1"', up.path, go)
        up.next()
        path = self.cluster("scheduler.sock")
        hello = struct.pack("<IBBH", 5, 0, 0, 0x5747) + b"\xdd\xff\xff\xff\xff"  # array32 of 4G
        huge = struct.pack("<IBBH", 0xffffffff, 0, 0, 0x5747)
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), hello, huge, b"\0" * 64):
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(path)
                peer.settimeout(10)
                try:
                    peer.sendall(garbage)
                    while peer.recv(4096):
                        pass  # until the scheduler closes
                except (BrokenPipeError, ConnectionResetError):
                    pass
        with open(go, "w", encoding="utf-8") as file:
            file.write("go\n")
        self.assertEqual(child.wait(), 0, child.text)
        self.gangway("dispatch", "-n", "2", "--", "true")

    def test_peer_of_another_version_learns_both_versions(self):
        """A peer of another version learns both versions in the first frame, whatever it
        requests."""
        self.up("--slots", "1")
        folder = self.cluster()
        worker, = glob.glob(os.path.join(folder, "worker-*.sock"))
        first = b"\xa30.0\xa1x"  # everything that a hello of the first version contains
        hello = first + b"\x00\x00\x01\xc4\x20" + bytes(32) + b"\x00"
        for path, role, rest in ((folder + "/scheduler.sock", 1, first),
                                 (folder + "/scheduler.sock", 2, first),
                                 (folder + "/scheduler.sock", 2, hello),
                                 (worker, 3, first)):
            for protocol in (1, 99):
                hello = bytes((0x99 if rest is first else 0x9e, 1, 0, 0, 0, protocol, role, 7))
                hello += rest
                with self.subTest(path=path, role=role), socket.socket(socket.AF_UNIX) as peer:
                    peer.settimeout(30)
                    peer.connect(path)
                    peer.sendall(struct.pack("<IBBH", len(hello), 0, 0, 0x5747) + hello)
                    answer = b""
                    while more := peer.recv(4096):
                        answer += more
                    self.assertRegex(answer, rb"is Gangway [^ ]+ \(protocol \d+\), you are 0\.0 "
                                     rb"\(protocol %d\): install one version" % protocol)

    def test_wrong_command_lines_get_a_helpful_error(self):
        for argv, words in (
            (["stauts"], ["stauts", "status"]),
            (["dispatch", "-n", "0", "--", "true"], ["0"]),
            (["dispatch", "-n", "two", "--", "true"], ["two"]),
            (["dispatch", "-n", "2"], ["--"]),
            (["dispatch", "--no-such-option", "--", "true"], ["no-such-option"]),
            (["wait", ""], ["a number", "a name"]),
            (["up", "--idle-stop", "30parsecs"], ["30parsecs"]),
            (["scheduler", "--listn", "127.0.0.1"], ["--listn", "--listen"]),
            (["scheduler", "--memory-spill", "70"], ["--memory-spill 70"]),
            (["up", "--state", __file__], [f"{__file__} is not a folder"]),
            (["up", "--state", __file__ + "/below"], ["a part of the path is a file"]),
            (["scheduler", "--state", __file__], ["is not a folder"]),
            (["submit", "--memory", "99999P", "--", "true"], ["the maximum is 7993P"]),
            (["submit", "--time-limit", "999999d", "--", "true"], ["the maximum is 104166d"]),
            (["up", "--slots", "0"], ["--slots 0", "the minimum is 1"]),
            (["up", "--workers", "0"], ["--workers 0", "the minimum is 1"]),
            (["worker", "--slots", "0"], ["--slots 0", "the minimum is 1"]),
            (["submit", "--retries", "256", "--", "true"], ["retries is 256, and 255 is the most"]),
            (["submit", "--name", "a\nb", "--", "true"], ["one line of text"]),
            (["submit", "--name", "a" * 256, "--", "true"], ["256 bytes", "may have 255"]),
            (["submit", "--name", "last", "--", "true"], ['--name "last"', "other jobs"]),
            (["dispatch", "--name", "all", "--", "true"], ['--name "all"', "not all, last"]),
            (["submit", "-d", "--name", "5", "--", "true"], ['"5"', "a list of numbers"]),
            (["submit", "--name", "1,3-5", "--", "true"], ['"1,3-5"', "a list of numbers"]),
            (["submit", "--name", "a/b", "--", "true"], ['"a/b"', "without /"]),
            (["submit", "--name", "last.2", "--", "true"], ["task of job last", "that dot"]),
            (["submit", "--name", "7.run", "--", "true"], ["task of job 7", "that dot"]),
            (["submit", "--env", "a\033[2Jb=1", "--", "true"], ["--env", "control characters"]),
            (["submit", "--env", "=1", "--", "true"], ["is not NAME=VALUE"]),
            (["token", "revoke", "some"], ["there is no token file"]),
            (["worker", "--connect", "host"], ["--connect: host: wanted HOST:PORT"]),
            (["worker", "--connect", "host:0"], ["wanted HOST:PORT"]),
            (["worker", "--connect", "127.0.0.1:1", "--keep-files", "much"], ["much"]),
            (["worker", "--connect", "127.0.0.1:1", "--spill-dir", "/no/such"], ["/no/such"]),
            (["worker", "--connect", "127.0.0.1:1", "--spill-dir", "/proc"], ["cannot make"]),
        ):
            with self.subTest(argv=argv):
                done = self.gangway(*argv, rc=2)
                for word in words:
                    self.assertIn(word, done.stderr)
        for argv in (["status"], ["jobs"], ["cancel", "1"], ["logs", "1"], ["wait", "abc"]):
            with self.subTest(argv=argv):
                done = self.gangway(*argv, rc=3)
                self.assertIn("gangway up", done.stderr)

    def test_unusable_token_folder_names_xdg_config_home(self):
        env = {"HOME": self.write("file", ""), "XDG_CONFIG_HOME": ""}
        said = self.gangway("token", "create", env=env, rc=1).stderr
        self.assertIn("set XDG_CONFIG_HOME to a folder of yours where tokens may lie", said)

    def test_detached_job_without_a_cluster_is_refused(self):
        done = self.gangway("dispatch", "-d", "-n", "1", "--", "true", rc=3)
        self.assertIn("gangway up", done.stderr)

    def test_petnames_reports_unreadable_data(self):
        trainer = os.path.join(e2e.BUILD, "bin", "petnames")
        if not os.path.exists(trainer):
            self.skipTest("the examples were not built")
        torn = os.path.join(self.dir, "names.gz")
        with open(torn, "wb") as file:
            file.write(b"\x1f\x8b\x08\x00torn")
        for data, rc in (("/no/such/names.txt", 2), (torn, 1), (self.dir, 1)):
            with self.subTest(data=data):
                done = self.run_program(trainer, "--data", data, rc=rc)
                self.assertIn(os.path.basename(data), done.stderr)


if __name__ == "__main__":
    e2e.main()
