#!/usr/bin/env python3
"""The installed Gangway, used by a program outside the tree: by CMake and by pkg-config, shared
and static, after the whole installation was moved; the exports of the libraries; `gangway new`."""
import glob
import os
import re
import shutil
import signal
import sys

import e2e

OUTSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "outside")
UNINSTALL = os.path.join(OUTSIDE, "..", "..", "..", "cmake", "uninstall.cmake")


class Install(e2e.Case):
    def setUp(self):
        super().setUp()
        first, self.prefix = os.path.join(self.dir, "first"), os.path.join(self.dir, "moved")
        self.run_program("cmake", "--install", e2e.BUILD, "--prefix", first)
        os.rename(first, self.prefix)  # no file may need the path of the installation
        found = glob.glob(self.prefix + "/lib/**/libgangway.a", recursive=True)
        self.lib = os.path.dirname(found[0])
        self.source = os.path.join(self.dir, "source")
        shutil.copytree(OUTSIDE, self.source)
        # As a user has it: without access to the tree's own binary.
        del self.env["GANGWAY_BINARY"]
        self.env.update({"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": self.lib,
                         "PKG_CONFIG_PATH": os.path.join(self.lib, "pkgconfig")})

    def check_program(self, path, path_has_binary):
        """The program runs inline and on a private cluster; a static program finds the binary on
        PATH."""
        wanted = r"version \d+\.\d+\.\d+ sum 0\.75 ranks 3\n"
        env = {"PATH": f"{self.prefix}/bin:{self.env['PATH']}"} if path_has_binary else {}
        alone = self.run_program(path, env={"GANGWAY_INLINE": "1"})
        self.assertRegex(alone.stdout, re.sub("ranks 3", r"ranks \\d", wanted))
        self.assertRegex(self.run_program(path, env=env).stdout, wanted)

    def cmake_build(self, *options):
        build = os.path.join(self.dir, "build")
        shutil.rmtree(build, ignore_errors=True)
        self.run_program("cmake", "-S", self.source, "-B", build, "-G", "Ninja",
                         f"-DCMAKE_PREFIX_PATH={self.prefix}", *options)
        self.run_program("cmake", "--build", build)
        return build

    def pkg_config(self, *options):
        return self.run_program("pkg-config", *options, "gangway").stdout.split()

    def test_cmake_project_links_the_shared_library(self):
        self.check_program(self.cmake_build() + "/outside", False)

    def test_cmake_project_links_the_static_library(self):
        path = self.cmake_build("-DLINK=gangway::static") + "/outside"
        self.assertNotIn("libgangway", self.run_program("ldd", path).stdout)
        self.check_program(path, True)

    def test_pkg_config_links_the_shared_library(self):
        path = os.path.join(self.dir, "program")
        self.run_program("cc", "-o", path, "main.c", "tasks.c",
                         *self.pkg_config("--cflags", "--libs"), cwd=self.source)
        self.assertIn("libgangway", self.run_program("ldd", path).stdout)
        self.check_program(path, False)

    def test_pkg_config_links_the_static_library(self):
        path = os.path.join(self.dir, "program")
        libraries = [self.lib + "/libgangway.a" if word == "-lgangway" else word
                     for word in self.pkg_config("--static", "--libs")]
        self.run_program("cc", "-o", path, *self.pkg_config("--cflags"), "main.c", "tasks.c",
                         *libraries, cwd=self.source)
        self.assertNotIn("libgangway", self.run_program("ldd", path).stdout)
        self.check_program(path, True)

    OPTIONS = ("gangway.h", "gw_client_options"), ("graph.h", "gw_task_options")

    def build_sized(self, change, structs=OPTIONS, flags=()):
        """Builds sized.c against a copy of the installed headers, in which `change` has changed
        the structs; returns the path of the program."""
        headers = os.path.join(self.dir, "headers")
        shutil.rmtree(headers, ignore_errors=True)
        shutil.copytree(self.prefix + "/include", headers)
        for name, struct in structs:
            path = os.path.join(headers, "gangway", name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            begin = text.index(f"struct {struct} {{")
            end = text.index("\n};", begin)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text[:begin] + change(text[begin:end]) + text[end:])
        path = os.path.join(self.dir, "sized")
        self.run_program("cc", *flags, "-o", path, "sized.c", "-I", headers, "-L", self.lib,
                         "-lgangway", cwd=self.source)
        return path

    def test_program_of_earlier_headers_runs(self):
        """Its options are smaller, and what lies behind them in memory is not read."""
        def earlier(struct):
            return struct[:list(re.finditer(r"\n    \w[^;]* \w+;", struct))[-1].start()]
        now = self.run_program(self.build_sized(lambda struct: struct))
        before = self.run_program(self.build_sized(earlier))
        sizes = [list(map(int, re.findall(r"\d+", done.stdout))) for done in (now, before)]
        self.assertLess(sizes[1][0], sizes[0][0])
        self.assertLess(sizes[1][1], sizes[0][1])
        self.assertEqual([size[2] for size in sizes], [42, 42])

    def test_program_of_later_headers_runs_unless_it_sets_a_new_field(self):
        path = self.build_sized(lambda struct: struct + "\n    uint64_t later, latest;")
        self.assertIn("result 42", self.run_program(path).stdout)
        self.assertIn("struct gw_task_options sets a field that this library does not know",
                      self.run_program(path, "set", rc=2).stderr)

    def test_group_of_options_can_grow(self):
        """An earlier program has reserved words where this library has fields. A later program may
        have a field where this library has a reserved word."""
        gpu = (("graph.h", "gw_gpu_options"),)

        def earlier(struct):
            return struct[:struct.index("    bool isolate;")] + "    uint64_t reserved[9];"

        def later(struct):
            self.assertIn("uint64_t reserved[8];", struct)
            return struct.replace("uint64_t reserved[8];", "uint64_t later, reserved[7];")
        for change in (earlier, later):
            self.assertIn("result 42", self.run_program(self.build_sized(change, gpu)).stdout)
        path = self.build_sized(later, gpu, ["-DLATER=later"])
        self.assertIn("struct gw_gpu_options sets a field that this library does not know",
                      self.run_program(path, rc=2).stderr)

    def test_shared_library_has_versions(self):
        """Its soname has the minor version, and each symbol the version that it appeared in."""
        path = os.path.join(self.lib, "libgangway.so")
        self.assertIn("libgangway.so.0.1", self.run_program("readelf", "-d", path).stdout)
        said = self.run_program("nm", "--defined-only", "-D", path).stdout
        self.assertEqual([line for line in said.splitlines()
                          if not line.endswith("@GANGWAY_0.1") and " A " not in line], [])

    def test_libraries_export_only_gw_names(self):
        """The static library also defines no other global name that could clash with a
        program."""
        for name, options in (("libgangway.so", ["-D"]), ("libgangway.a", [])):
            path = os.path.join(self.lib, name)
            said = self.run_program("nm", "--defined-only", "-g", *options, path).stdout
            names = re.findall(r"^[0-9a-f]+ [B-Zb-z] ([^@\s]+)\S*$", said, re.M)
            self.assertIn("gw_init", names)
            self.assertEqual([name for name in names if not name.startswith("gw_")], [], path)

    def test_installed_documents_and_examples_are_complete(self):
        """They are installed, and the examples build against the installed library."""
        share = os.path.join(self.prefix, "share", "doc", "gangway")
        for name in ("README.md", "LICENSE", "docs/tutorial.md", "SECURITY.md",
                     "examples/README.md"):
            self.assertTrue(os.path.isfile(os.path.join(share, name)), name)
        with open(os.path.join(share, "README.md"), encoding="utf-8") as file:
            for path in re.findall(r"\]\((docs/[^)]*)\)", file.read()):
                self.assertTrue(os.path.isfile(os.path.join(share, path)), path)
        self.source = os.path.join(share, "examples")
        build = self.cmake_build()
        env = {"PATH": f"{self.prefix}/bin:{self.env['PATH']}"}
        self.assertTrue(self.run_program(os.path.join(build, "bin", "hello"), env=env).stdout)
        self.assertTrue(os.path.isfile(os.path.join(build, "bin", "petnames_sweep")))

    def test_gangway_new_writes_a_project_that_builds_and_runs(self):
        """The new project builds in both ways and runs."""
        binary = self.prefix + "/bin/gangway"
        project = os.path.join(self.dir, "project")
        env = {"PATH": f"{self.prefix}/bin:{self.env['PATH']}"}
        self.run_program(binary, "new", project)
        self.run_program("make", cwd=project, env=env)
        made = [name for name in os.listdir(project)
                if os.access(os.path.join(project, name), os.X_OK)
                and os.path.isfile(os.path.join(project, name))]
        self.assertEqual(len(made), 1, made)
        said = self.run_program(os.path.join(project, made[0]), env=env).stdout
        self.assertTrue(said)
        main = os.path.join(project, "main.c")
        with open(main, encoding="ascii") as file:
            text = file.read()
        with open(main, "w", encoding="ascii") as file:  # as people do who want to measure the time
            file.write("#include <time.h>\n" + text.replace(
                "    struct gw_client *client;\n",
                "    struct timespec now;\n"
                "    clock_gettime(CLOCK_MONOTONIC, &now);\n"
                "    struct gw_client *client;\n", 1))
        self.run_program("make", cwd=project, env=dict(env, CFLAGS="-Werror"))
        self.source = project
        build = self.cmake_build()
        again = self.run_program(os.path.join(build, made[0]), env=env).stdout
        self.assertEqual(again, said)
        self.run_program(binary, "new", project, rc=2)  # existing files are not overwritten
        said = self.run_program(binary, "new", "deep/er/a b").stderr
        self.assertIn("cd 'deep/er/a b' && make && ./a_b", said)

    def test_binary_is_never_taken_from_the_working_folder(self):
        """A clone is a folder of the same name, and a file in the working folder could be
        anybody's."""
        env = {"PATH": f"{self.prefix}/bin:{self.env['PATH']}"}
        os.mkdir(os.path.join(self.dir, "gangway"))
        said = self.run_program("gangway", "submit", "--", "echo", "well", env=env)
        self.assertEqual(said.stdout, "well\n")
        os.rmdir(os.path.join(self.dir, "gangway"))
        self.write("gangway", "#!/bin/sh\necho stranger >&2\nexit 9\n")
        said = self.run_program("gangway", "submit", "--", "echo", "well", env=env)
        self.assertEqual(said.stdout + said.stderr, "well\n")

    def test_installed_manual_pages_have_no_format_errors(self):
        """gangway(1), and a page for each command."""
        folder = os.path.join(self.prefix, "share", "man", "man1")
        commands = re.findall(r"^  (\w+) ", self.run_program(self.prefix + "/bin/gangway",
                                                            "help").stdout, re.M)
        self.assertEqual(sorted(os.listdir(folder)),
                         sorted(["gangway.1"] + [f"gangway-{name}.1" for name in commands]))
        pages = sorted(glob.glob(folder + "/*"))
        for page in pages:
            with open(page, encoding="utf-8") as file:
                text = file.read()
            for section in "NAME", "SYNOPSIS", "EXIT STATUS", "SEE ALSO":
                self.assertEqual(text.count(f"\n.SH {section}\n"), 1, f"{page}: {section}")
        checks = {"mandoc": ["-T", "lint"], "man": ["--warnings", "-Tutf8", "-Z", "-l"],
                  "groff": ["-man", "-ww", "-T", "utf8", "-Z"]}
        there = [name for name in checks if shutil.which(name)]
        if not there:
            self.skipTest("there is none of mandoc, man and groff")
        for name in there:
            said = self.run_program(name, *checks[name], *pages)
            self.assertEqual(said.stderr, "", name)
            if name == "mandoc":
                self.assertEqual(said.stdout, "")

    def test_installed_shell_completion_is_found(self):
        share = os.path.join(self.prefix, "share")
        env = {"PATH": f"{self.prefix}/bin:{self.env['PATH']}", "XDG_DATA_DIRS": share,
               "TERM": "dumb"}
        source = (f". {share}/bash-completion/completions/gangway; COMP_WORDS=(gangway dis); "
                  "COMP_CWORD=1; _gangway; echo $COMPREPLY")
        said = [self.run_program("bash", "-c", source, env=env).stdout.split()]
        if shutil.which("fish"):
            words = self.run_program("fish", "-c", "complete -C 'gangway dis'", env=env).stdout
            said.append(words.split("\t")[:1])
        if shutil.which("zsh"):
            keys = ("zmodload zsh/zpty; zpty z zsh -f -i; "
                    f"zpty -w z 'fpath=({share}/zsh/site-functions $fpath); autoload -U compinit; "
                    "compinit -u -D; echo rea\\dy'; zpty -r z _ '*ready*'; "
                    "zpty -w -n z $'gangway dis\\t'; zpty -r -m z _ '*gangway dispatch*' && "
                    "echo dispatch; zpty -d z")
            said.append(self.run_program("timeout", "60", "zsh", "-f", "-c", keys,
                                         env=env).stdout.split())
        self.assertEqual(said, [["dispatch"]] * len(said))

    def verify_override(self, prefix, service):
        """systemd accepts the change of a service that a page shows."""
        page = os.path.join(prefix, "share", "doc", "gangway", "docs", "howto", "separate-users.md")
        with open(page, encoding="utf-8") as file:
            override = re.search(r"(?s)```ini override.conf\n(.*?)```", file.read()).group(1)
        os.mkdir(service + ".d")
        with open(os.path.join(service + ".d", "override.conf"), "w", encoding="utf-8") as file:
            file.write(override.replace("/usr/local", prefix))
        said = self.run_program("systemd-analyze", "verify", "--man=no", service)
        wrong = [line for line in (said.stdout + said.stderr).splitlines()
                 if "gangway-" in line and "DelegateSubgroup" not in line]  # systemd 254 or later
        self.assertEqual(wrong, [])

    def test_services_of_systemd_start_a_cluster(self):
        """systemd accepts them, and their commands, run by hand, make a cluster. Tasks may use
        GPUs."""
        prefix = os.path.join(self.dir, "services")
        self.run_program("cmake", "--install", e2e.BUILD, "--prefix", prefix)
        path = os.path.join(prefix, "lib", "systemd", "system", "gangway-%s.service")
        names = ["scheduler", "worker", "launcher"]
        if shutil.which("systemd-analyze"):
            said = self.run_program("systemd-analyze", "verify", "--man=no",
                                    *[path % name for name in names])
            self.assertNotIn("gangway-", said.stdout + said.stderr)
            self.verify_override(prefix, path % "launcher")
        for name in names:  # a full disk may be repaired after an hour: systemd does not give up
            with open(path % name, encoding="utf-8") as file:
                self.assertRegex(file.read(), r"(?s)StartLimitIntervalSec=0.*Restart=always")
        for name in "worker", "launcher":  # each of these closes the GPUs to all tasks
            with open(path % name, encoding="utf-8") as file:
                self.assertNotRegex(file.read(), r"(?m)^(DeviceAllow|DevicePolicy|ProtectClock|"
                                                 r"PrivateDevices)=")
        if shutil.which("systemd-sysusers"):
            users = os.path.join(prefix, "lib", "sysusers.d", "gangway.conf")
            self.run_program("systemd-sysusers", "--dry-run", users)
        example = os.path.join(prefix, "share", "doc", "gangway", "gangway.conf.example")
        self.run_program(prefix + "/bin/gangway", "config", "check", example)
        with open(example, encoding="utf-8") as file:
            text = file.read().replace("/var/lib", self.dir)

        def command(name, address):
            """The command of the service, with the files in folders of this test."""
            with open(path % name, encoding="utf-8") as file:
                words = re.search(r"^ExecStart=(.*)$", file.read(), re.M).group(1)
            config = self.write("gangway.conf", text.replace("10.0.0.1:7117", address), mode=0o644)
            return words.replace("%S", self.dir).replace("/etc/gangway/gangway.conf",
                                                         config).split()
        tokens = ["--tokens", os.path.join(self.dir, "gangway-scheduler", "tokens")]
        role = {name: self.gangway("token", "create", "--quiet", *tokens, "--user", "ada", "--role",
                                   name).stdout.strip() for name in ("worker", "user")}
        scheduler = self.start(*command("scheduler", "127.0.0.1:0"))
        address = scheduler.wait_output(r"listening at (\S+), by TLS").group(1)
        worker = self.start(*command("worker", address), env={"GANGWAY_TOKEN": role["worker"]})
        said = self.gangway("submit", "--", "echo", "well",
                            env={"GANGWAY_ADDRESS": address, "GANGWAY_TOKEN": role["user"]})
        self.assertEqual(said.stdout, "well\n")
        for service in worker, scheduler:
            service.kill(signal.SIGTERM)
            service.wait()

    def test_uninstall_removes_only_files_of_gangway(self):
        """Every file and folder of Gangway is removed; files of other packages stay."""
        foreign = os.path.join(self.prefix, "include", "foreign.h")
        with open(foreign, "w", encoding="utf-8"):
            pass
        command = ("cmake", f"-DPREFIX={self.prefix}", f"-DBUILD={e2e.BUILD}", "-P", UNINSTALL)
        self.assertRegex(self.run_program(*command).stdout, r"removed \d+ files from")
        left = [os.path.join(folder, name) for folder, _, names in os.walk(self.prefix)
                for name in names]
        self.assertEqual(left, [foreign])
        self.assertEqual(glob.glob(self.prefix + "/**/gangway", recursive=True), [])
        self.assertIn("no Gangway is installed", self.run_program(*command, rc=1).stderr)


if __name__ == "__main__":
    if not e2e.BUILD:
        sys.exit("GANGWAY_BUILD must name the build folder")
    e2e.main()
