#!/usr/bin/env python3
"""How commands start: the variables of other launchers, placeholders in braces, prologs and
containers."""
import csv
import os
import shutil
import socket
import subprocess
import sys

import e2e

# Logs its arguments, and runs the words after the image.
FALSE_RUNTIME = """#!/bin/sh
echo "${{0##*/}} $*" >> {said}
if [ "$1" = exec ]; then
  while [ "${{1#gangway-}}" = "$1" ]; do shift; done
  INSIDE=$1
  export INSIDE
  shift
  exec "$@"
fi
[ "$1" = run ] || exit 0
while [ $# -gt 0 ]; do
  case $1 in an/image:1|image) shift; exec "$@" ;; esac
  shift
done
"""
FALSE_MPI = """
int MPI_Init(int *argc, char ***argv) { (void)argc, (void)argv; return 0; }
int MPI_Comm_rank(void *comm, int *rank) { (void)comm; *rank = 0; return 0; }
int MPI_Get_version(int *version, int *sub) { *version = 3; *sub = 1; return 0; }
"""
# With an argument, it then waits until it is ended.
MPI_PROGRAM = """
#include <stdio.h>
#include <unistd.h>
int MPI_Init(int *, char ***), MPI_Comm_rank(void *, int *);
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(0, &rank);
    printf("rank %d of 1\\n", rank);
    fflush(stdout);
    if (argc > 1)
        pause();
}
"""
# Like libtorch: it contains MPI, but does not initialise it. It is checked while it computes.
MPI_READER = """
#include <stdio.h>
#include <time.h>
int MPI_Get_version(int *, int *);
int main(void)
{
    int version, sub;
    MPI_Get_version(&version, &sub);
    while (clock() < CLOCKS_PER_SEC / 3)
        continue;
    printf("MPI %d.%d\\n", version, sub);
}
"""
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


class Launch(e2e.Case):
    def test_notify_runs_after_the_job_however_it_ended(self):
        self.up("--slots", "1")
        lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(lines.close)
        command = f'echo "$GANGWAY_JOB $GANGWAY_OUTCOME $NAME" > {lines.path}'
        tell = ["--notify", command, "-e", "NAME=x y"]
        job = self.gangway("submit", "-d", *tell, "--", "true").stdout.strip()
        self.assertEqual(lines.next(), f"{job} done x y")
        self.gangway("dispatch", "-n", "1", *tell, "--", "false", rc=1, env={"NAME": "here"})
        self.assertRegex(lines.next(), r"^\d+ failed here$")
        said = self.gangway("submit", "--notify", "exit 3", "--", "true")
        self.assertIn("--notify: the command failed (exit code 3)", said.stderr)
        job = self.gangway("submit", "-d", *tell, "--array", "1-2", "--", "cat",
                           self.fifo("held")).stdout.strip()
        self.gangway("cancel", job)
        self.assertEqual(lines.next(), f"{job} cancelled x y")

    def test_ranks_meet_through_the_horovod_rendezvous(self):
        done = self.gangway("dispatch", "-n", "3", "--", sys.executable,
                            os.path.join(PROGRAMS, "rendezvous.py"))
        self.assertEqual(sorted(line.split("rank ", 1)[1] for line in done.stdout.splitlines()),
                         [f"{rank} met 3 and here 3" for rank in range(3)])

    def test_placeholders_and_launcher_variables_are_set_per_rank(self):
        show = ('echo "{rank} {local_rank} {node_rank} {world_size} {other} $OMPI_COMM_WORLD_RANK '
                '$OMPI_COMM_WORLD_LOCAL_SIZE $NAME $HOROVOD_SIZE"')
        done = self.gangway("dispatch", "-n", "2", "--env", "NAME=r{rank}", "--env",
                            "HOROVOD_SIZE=7", "--", "sh", "-c", show,
                            env={"OMPI_COMM_WORLD_RANK": "5", "HOROVOD_RANK": "5"})
        said = sorted(line.split("] ", 1)[-1] for line in done.stdout.splitlines())
        self.assertEqual(said, ["0 0 0 2 {other} 0 2 r0 7", "1 1 0 2 {other} 1 2 r1 7"])


    def make_mpi(self, name, text):
        """An MPI program, linked to a fake library named like Open MPI's."""
        library = os.path.join(self.dir, "libmpi.so.40")
        if not os.path.exists(library):
            self.run_program("cc", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", "-o", library,
                             self.write("mpi.c", FALSE_MPI))
        path = os.path.join(self.dir, name)
        self.run_program("cc", "-o", path, self.write(name + ".c", text), library,
                         "-Wl,-rpath," + self.dir)
        return path

    def dispatch(self, *words, **options):
        done = self.gangway("dispatch", "-n", "2", *words, **options)
        return done.stderr if done.returncode else sorted(
            line.split("] ", 1)[-1] for line in done.stdout.splitlines())

    def test_mpi_programs_with_several_ranks_are_refused(self):
        program = self.make_mpi("program", MPI_PROGRAM)
        said = self.dispatch("--max-restarts", "3", "--", program, rc=126)
        self.assertIn(f"{program} is an MPI program (it is linked to libmpi.so.40), and Gangway "
                      "does not start ranks of MPI yet: each would run alone", said)
        self.assertIn(f"mpiexec -n 4 {program}", said)
        said = self.dispatch("--", "sh", "-c", program + " wait; true", rc=126)
        self.assertIn("program is an MPI program (it is linked to libmpi.so.40)", said)
        alone = ["rank 0 of 1", "rank 0 of 1"]
        self.assertEqual(self.dispatch("--mpi", "none", "--", program), alone)
        self.assertEqual(self.dispatch("--", program, env={"GANGWAY_MPI": "none"}), alone)
        self.assertEqual(self.dispatch("--env", "PMI_RANK={rank}", "--", program), alone)
        self.assertEqual(self.gangway("dispatch", "-n", "1", "--", program).stdout.split("] ")[-1],
                         "rank 0 of 1\n")
        self.assertIn("--mpi pmix: the only value is `none`",
                      self.dispatch("--mpi", "pmix", "--", program, rc=2))

    def test_scripts_that_import_mpi_are_ended(self):
        self.make_mpi("program", MPI_PROGRAM)
        os.mkdir(os.path.join(self.dir, "mpi4py"))
        module = os.path.join(self.dir, "mpi4py", "MPI.cpython-311.so")
        os.rename(os.path.join(self.dir, "libmpi.so.40"), module)
        said = self.dispatch("--max-restarts", "3", "--", sys.executable, "-c",
                             f"import ctypes, signal; ctypes.CDLL('{module}'); signal.pause()",
                             rc=126)
        self.assertIn("is an MPI program (it has imported mpi4py)", said)

    def test_programs_that_only_load_mpi_are_accepted(self):
        program = self.make_mpi("reader", MPI_READER)
        self.assertEqual(self.dispatch("--", program), ["MPI 3.1", "MPI 3.1"])
        library = os.path.join(self.dir, "libmpi.so.40")
        script = (f"import ctypes, time; ctypes.CDLL('{library}')\n"
                  "while time.process_time() < 0.3: pass\nprint('well')")
        self.assertEqual(self.dispatch("--", sys.executable, "-c", script), ["well", "well"])

    def test_prolog_runs_first_and_its_failure_is_reported(self):
        done = self.gangway("dispatch", "-n", "2", "--prolog", "export X=5{rank}; Y=6", "--", "sh",
                            "-c", "echo $X$Y")
        self.assertEqual(sorted(line.split("] ", 1)[-1] for line in done.stdout.splitlines()),
                         ["50", "51"])
        said = self.gangway("submit", "--prolog", "sh -c 'exit 3'", "--", "echo", "never", rc=3)
        self.assertIn("the prolog failed (exit code 3): sh -c 'exit 3'", said.stderr)
        self.assertEqual(said.stdout, "")
        said = self.gangway("submit", "--prolog", "exit 4", "--", "echo", "never", rc=4)
        self.assertIn("the prolog ended the task (exit code 4): exit 4", said.stderr)
        said = self.gangway("submit", "--prolog", "true\nnosuchcmd", "--", "true", rc=127)
        self.assertIn("gangway: the prolog: line 2: nosuchcmd: command not found", said.stderr)
        said = self.gangway("submit", "--prolog", "PATH=/x", "--", "nosuchprog", rc=127)
        self.assertIn("gangway: cannot start nosuchprog: after the prolog there is no such program "
                      "on that host (PATH=/x)", said.stderr)
        self.assertIn("the command is empty",
                      self.gangway("submit", "--prolog", "true", "--", "", rc=2).stderr)
        said = self.gangway("submit", "--time-limit", "1s", "--prolog", "tail -f /dev/null",
                            "--", "true", rc=124).stderr
        self.assertIn("told to end (SIGTERM) in its prolog: tail -f", said)
        self.assertNotIn("exit code 0", said)
        # A sourced script sees no arguments, and its own are not the command's.
        said = self.gangway("submit", "--prolog", 'echo "got $#: $@"; set -- echo other', "--",
                            "printf", "%s|", "a b", "it's", "")
        self.assertEqual(said.stdout, "got 0: \na b|it's||")
        self.assertIn("combined with --pty",
                      self.gangway("submit", "--prolog", "true", "--from-json", "-", rc=2).stderr)

    def test_explain_mentions_a_running_prolog(self):
        """The prolog may be the running part, although the task has started."""
        self.up("--slots", "3")
        fifo = self.fifo()
        wanted = "its prolog runs, or the program after it"
        for start in (("submit",), ("dispatch", "-n", "1")):
            for prolog in (["--prolog", f"echo on >{fifo}; tail -f /dev/null"], []):
                self.gangway(*start, "-d", *prolog, "--", "sh", "-c",
                             f"echo on >{fifo}; exec tail -f /dev/null")
                self.read_fifo(fifo)
                # The scheduler learns a moment later that it runs.
                self.wait_said(wanted, "explain", "last", wanted=bool(prolog))
                self.gangway("cancel", "last")

    def runtimes(self, *names):
        """A PATH with the tools that scripts need and fake container runtimes, and the file with
        their arguments."""
        folder, said = os.path.join(self.dir, "bin"), os.path.join(self.dir, "said")
        os.makedirs(folder, exist_ok=True)
        for tool in ("sh", "env", "sed", "id", "tr", "tail"):
            os.symlink(shutil.which(tool), os.path.join(folder, tool))
        for name in names:
            self.write(os.path.join("bin", name), FALSE_RUNTIME.format(said=said))
        return ["--env", "PATH=" + folder], said

    def test_container_command_gets_environment_and_mounts(self):
        path, said = self.runtimes("podman", "docker")
        done = self.gangway("dispatch", "-n", "2", "--container", "an/image:1", *path, "--env",
                            "LEVEL=7", "--", "sh", "-c", "echo $RANK in $PWD")
        self.assertEqual(sorted(line.split("] ", 1)[-1] for line in done.stdout.splitlines()),
                         [f"0 in {self.dir}", f"1 in {self.dir}"])
        with open(said, encoding="utf-8") as f:
            lines = f.read().splitlines()
        runs = [line for line in lines if line.startswith("docker run")]
        self.assertEqual(len(runs), 2, lines)
        for run in runs:
            for word in ("--env LEVEL", "--env RANK", "--env MASTER_PORT", "--env GANGWAY_JOB",
                         f"--mount type=bind,src={self.dir},dst={self.dir} -w {self.dir}",
                         "--network host", "--ipc host", "--init"):
                self.assertIn(word + " ", run)
            name = run.split("--name ")[1].split(" ")[0]
            self.assertIn(f"docker rm -f {name}", lines)

    def test_container_can_reach_the_cluster_socket(self):
        """The worker's socket, by which commands reach the cluster, is mounted in the
        container, too."""
        at = os.path.join(self.dir, "a socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(at)
            for name, words in (("docker", f"--mount type=bind,src={at},dst={at} "),
                                ("apptainer", f"--bind {at} ")):
                path, said = self.runtimes(name)
                self.write(os.path.join("bin", name), f'#!/bin/sh\necho "$*" >> {said}\n')
                for identity in f"1.2.3 - {at}", "":
                    self.gangway("submit", "--container", "image", *path, "--env",
                                 "GANGWAY_IDENTITY=" + identity, "--", "true")
                    with open(said, encoding="utf-8") as f:
                        told = [line for line in f if "image" in line][-1]
                    self.assertEqual(words in told, bool(identity), told)
                shutil.rmtree(os.path.join(self.dir, "bin"))

    def test_container_runtime_gets_the_gpu_options(self):
        """Each runtime gets the GPUs in its own syntax, and no option if there are no GPUs."""
        for name, words in (("docker", '--gpus "device=GPU-a,GPU-b"'),
                            ("podman", "--device nvidia.com/gpu=GPU-b "
                                       "--device nvidia.com/gpu=GPU-a"),
                            ("apptainer", "--nv")):
            path, said = self.runtimes(name)
            self.write(os.path.join("bin", name), f'#!/bin/sh\necho "$*" >> {said}\n')
            for gpus in "GPU-a,GPU-b", "":
                self.gangway("submit", "--container", "image", *path, "--env",
                             "CUDA_VISIBLE_DEVICES=" + gpus, "--", "true")
                with open(said, encoding="utf-8") as f:
                    told = [line for line in f if "image" in line][-1]
                self.assertEqual(f" {words} " in told, bool(gpus), told)
                for word in "--gpus", "--device", "--nv":
                    self.assertEqual(word in told, bool(gpus) and word in words, told)
            shutil.rmtree(os.path.join(self.dir, "bin"))

    def test_container_mounts_folders_with_unusual_names(self):
        """The names contain characters that -v and --bind would split at; one folder is
        missing."""
        path, said = self.runtimes("docker")
        run = ["submit", "--container", "image", *path]
        for name in ("a:b", 'a:"b", c'):
            folder = os.path.join(self.dir, name)
            os.mkdir(folder)
            done = self.gangway(*run, "-C", folder, "--", "sh", "-c", "pwd")
            self.assertEqual(done.stdout, folder + "\n")
            with open(said, encoding="utf-8") as f:
                told = [line for line in f if "run --rm" in line][-1]
            self.assertNotIn(" -v ", told)
            mount = told.split("ipc host --mount ")[1].split(" -w ")[0]
            self.assertEqual(next(csv.reader([mount])),
                             ["type=bind", "src=" + folder, "dst=" + folder])
        failed = self.gangway(*run, "-C", "/nosuch", "--", "ls", rc=126)
        self.assertIn("cannot start: working directory /nosuch: no such folder", failed.stderr)
        self.assertNotIn("/bin/sh", failed.stderr)
        os.rename(os.path.join(self.dir, "bin", "docker"),
                  os.path.join(self.dir, "bin", "apptainer"))
        failed = self.gangway(*run, "-C", folder, "--", "sh", "-c", "pwd", rc=126)
        self.assertIn("apptainer cannot bind a folder with ':' or ',' in its name: " + folder,
                      failed.stderr)
        self.assertEqual(failed.stdout, "")

    def test_failed_container_is_removed(self):
        path, said = self.runtimes("podman")
        self.gangway("dispatch", "-n", "2", "--container", "image", *path, "--", "sh", "-c",
                     "test $RANK = 1 && exit 9; tail -f /dev/null", rc=9)
        with open(said, encoding="utf-8") as f:
            lines = f.read().splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("podman rm -f ")]), 2)

    def test_container_that_cannot_be_removed_is_reported(self):
        path, _ = self.runtimes("docker")
        gpu = ", and hold its GPU"
        for says, gpus, wanted in (("It is stuck", "", True), ("It is stuck", "0", True),
                                   ("No such container: x", "0", False)):
            with open(os.path.join(self.dir, "bin", "docker"), "r+", encoding="utf-8") as f:
                rest = f.read().split("\n", 1)[1].split("#rm\n")[-1]
                f.seek(0)
                f.write(f"#!/bin/sh\n[ $1 != rm ] || {{ echo '{says}' >&2; exit 1; }}\n#rm\n{rest}")
                f.truncate()
            said = self.gangway("submit", "--container", "image", *path, "--env",
                                "CUDA_VISIBLE_DEVICES=" + gpus, "--", "sh", "-c", ":").stderr
            self.assertEqual(f"may still be there{gpu if gpus else ''}: docker rm -f: {says} "
                             "(exit code 1)" in said, wanted, said)

    def test_container_that_never_started_is_not_reported(self):
        """Only the runtime's own error is printed: its daemon is not running, or the runtime
        does not start."""
        path, _ = self.runtimes()
        docker = self.write("bin/docker", "#!/bin/sh\necho 'docker: Cannot connect to the Docker "
                            "daemon.' >&2\n[ $1 = run ] && exit 125\nexit 1\n")
        os.chmod(docker, 0o755)
        submit = "submit", "--container", "image", *path, "--", "true"
        said = self.gangway(*submit, rc=125).stderr
        self.assertEqual(said.count("Cannot connect"), 1, said)
        self.assertNotIn("may still be there", said)
        said = self.gangway("dispatch", "-n", "4", *submit[1:], rc=125).stderr
        self.assertNotIn("may still be there", said)  # of ranks that are ended meanwhile
        self.write("bin/docker", "#!/nosuch\n")
        said = self.gangway(*submit, rc=127).stderr
        self.assertNotIn("may still be there", said)

    def test_exec_runs_inside_the_container_of_the_task(self):
        """Docker runs the command in the container; with --host the command runs beside the
        container."""
        path, said = self.runtimes("docker")
        self.up("--slots", "2")
        fifo = self.fifo()
        job = self.gangway("dispatch", "-d", "-n", "2", "--container", "image", *path, "--", "tail",
                           "-f", fifo).stdout.strip()
        show = "--", "sh", "-c", "echo ${INSIDE:-outside} in $PWD"
        self.assertRegex(self.gangway("exec", "--wait", "-r", "1", job, *show).stdout,
                         rf"^gangway-{job}-0-\d+-1 in {self.dir}\n$")
        with open(said, encoding="utf-8") as f:
            self.assertRegex(f.read(), rf"docker exec -i -w {self.dir} gangway-{job}-0-\d+-1 sh -c")
        self.assertEqual(self.gangway("exec", "--host", job, *show).stdout,
                         f"outside in {self.dir}\n")
        self.gangway("exec", job, "--", "sh", "-c", "exit 5", rc=5)
        self.gangway("cancel", job)

    def test_exec_always_has_the_environment_of_the_rank(self):
        """During an exec call a process has no environment, and this process calls exec all the
        time."""
        self.up("--slots", "1")
        script = self.write("again", '#!/bin/sh\nexec "$0"\n')
        os.chmod(script, 0o700)
        job = self.gangway("submit", "-d", "--", script).stdout.strip()
        self.gangway("exec", "--wait", job, "--", "true")
        for _ in range(10 if e2e.SANITIZED else 40):
            said = self.gangway("exec", job, "--", "sh", "-c", "echo $GANGWAY_JOB").stdout
            self.assertEqual(said, job + "\n")
        self.gangway("cancel", job)

    def test_exec_enters_the_namespaces_of_apptainer(self):
        """The namespaces are those of apptainer's container; missing tools are reported."""
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
            self.skipTest("no mount namespaces may be made here")
        path, _ = self.runtimes()
        self.write(os.path.join("bin", "apptainer"), """#!/bin/sh
            while [ "${1#docker://}" = "$1" ]; do shift; done
            shift
            unshare --mount "$@" &
            wait""")
        for tool in ("unshare", "readlink", "cat"):
            os.symlink(shutil.which(tool), os.path.join(self.dir, "bin", tool))
        self.up("--slots", "1")
        fifo = self.fifo()
        job = self.gangway("submit", "-d", "--container", "image", *path, "--", "sh", "-c",
                           f"readlink /proc/self/ns/mnt > {fifo}; exec tail -f /dev/null")
        job = job.stdout.strip()
        inside = self.read_fifo(fifo)
        # The scheduler may learn a moment later that it runs: --wait.
        show = "exec", "--wait", job, "--", "sh", "-c", "readlink /proc/self/ns/mnt; echo $PWD"
        self.assertIn("no nsenter on PATH here", self.gangway(*show, rc=127).stderr)
        os.symlink(shutil.which("nsenter"), os.path.join(self.dir, "bin", "nsenter"))
        self.assertEqual(self.gangway(*show).stdout, f"{inside.strip()}\n{self.dir}\n")
        self.assertNotIn(inside.strip(), self.gangway("exec", "--host", *show[1:]).stdout)
        self.gangway("cancel", job)

    def test_missing_container_runtime_is_an_error(self):
        path, _ = self.runtimes()
        said = self.gangway("submit", "--container", "image", *path, "--", "true", rc=127).stderr
        self.assertIn("none of these on PATH here: docker podman apptainer", said)
        said = self.gangway("submit", "--container", "i", "--container-runtime", "lxc", "--",
                            "true", rc=2).stderr
        self.assertIn("give docker, podman, apptainer", said)
        self.assertIn("needs --container", self.gangway("submit", "--container-runtime", "docker",
                                                          "--", "true", rc=2).stderr)


class Crowded(e2e.Case):
    def test_command_gang_may_have_129_ranks_on_a_host(self):
        """Commands bring their own collectives; function gangs are limited to 128 ranks
        (test_sched_gang.c)."""
        self.up("--slots", "130")
        job = self.gangway("dispatch", "-d", "-n", "129", "--", "sh", "-c",
                           "[ $RANK != 128 ] || echo of $LOCAL_WORLD_SIZE").stdout.strip()
        self.gangway("wait", job)
        self.assertEqual(self.gangway("logs", "-r", "128", job).stdout, "of 129\n")


if __name__ == "__main__":
    e2e.main()
