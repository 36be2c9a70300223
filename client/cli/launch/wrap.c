/* Runs commands in a shell with a prolog, and in containers.
 *
 * Both are shell scripts that end in exec, so that no shell stays between the supervisor and the
 * program or the container runtime. A script is necessary because only the worker knows which
 * runtime is installed. The prolog runs outside the container.
 *
 * A docker container is not a descendant of the worker, and podman may leave processes behind.
 * Therefore each container has a name made from its attempt and rank, and an epilog (see struct
 * gw_command) removes it by this name in every case. A variable tells `gangway exec` that the task
 * runs in a container. */
#include "client/cli/launch/wrap.h"

#include "graph/wire/enums.h"

#include <gangway/error.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Script for --prolog. $1 is the prolog; the other words are the command. The command is stored in
 * an array first, so that a script which the prolog sources sees no arguments and may set its own.
 * `module` is a function that login shells define, so the script loads its file. Everything before
 * the prolog is one line, so that line numbers in bash's messages are those of the prolog. If a
 * signal ends the task during the prolog, the task dies by that signal, and the prolog is not
 * reported as failed. */
static const char prolog_script[] =
    "gangway_prolog=$1; gangway_command=(\"${@:2}\"); set --; "
    "if ! command -v module >/dev/null 2>&1; then "
    "for file in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh \"$MODULESHOME/init/bash\"; do "
    "if [ -r \"$file\" ]; then . \"$file\"; break; fi; done; fi; "
    "gangway_ended() { trap - EXIT $1; "
    "echo \"gangway: told to end (SIG$1) in its prolog: $gangway_prolog\" >&2; kill -$1 $$; }; "
    "for gangway_signal in TERM INT HUP USR1 USR2; do "
    "trap \"gangway_ended $gangway_signal\" $gangway_signal; done; "
    "trap 'echo \"gangway: the prolog ended the task (exit code $?): $gangway_prolog\" >&2' EXIT; "
    "eval \"$gangway_prolog\"\n"
    "gangway_code=$?\n"
    "trap - EXIT TERM INT HUP USR1 USR2\n"
    "if [ $gangway_code -ne 0 ]; then\n"
    "  echo \"gangway: the prolog failed (exit code $gangway_code): $gangway_prolog\" >&2\n"
    "  exit $gangway_code\n"
    "fi\n"
    "if ! type -P -- \"${gangway_command[0]}\" >/dev/null; then\n"
    "  echo \"gangway: cannot start ${gangway_command[0]}: after the prolog there is no such "
    "program"
    " on\" \\\n"
    "    \"that host (PATH=$PATH)\" >&2\n"
    "  exit 127\n"
    "fi\n"
    "exec \"${gangway_command[@]}\"\n";

/* Start of both container scripts: chooses the runtime and the container's name. */
#define CHOOSE                                                                                     \
    "runtime=\n"                                                                                   \
    "for name in $wanted; do\n"                                                                    \
    "  if command -v \"$name\" >/dev/null 2>&1; then runtime=$name; break; fi\n"                   \
    "done\n"                                                                                       \
    "container=gangway-$GANGWAY_JOB-$GANGWAY_TASK-$GANGWAY_ATTEMPT-${GANGWAY_RANK:-0}\n"

/* Script for --container. $1: runtimes, $2: image, $3: names of variables; then the command.
 * Folders are passed by --mount, because -v does not accept a path with ':'. The value of --mount
 * is a line of CSV. */
static const char container_script[] =
    "wanted=$1\n" CHOOSE "image=$2\n"
    "names=$3\n"
    "shift 3\n"
    "if [ -z \"$runtime\" ]; then\n"
    "  echo \"gangway: --container: there is none of these on PATH here: $wanted\" >&2\n"
    "  exit 127\n"
    "fi\n"
    "socket=${GANGWAY_IDENTITY#* * }\n" /* socket by which the command connects to the cluster */
    "[ -S \"$socket\" ] || socket=\n"
    "if [ $runtime = apptainer ] || [ $runtime = singularity ]; then\n"
    "  case $image in *://*|/*|./*|*.sif) ;; *) image=docker://$image ;; esac\n"
    "  for folder in \"$PWD\" \"$GANGWAY_CHECKPOINT_DIR\"; do\n"
    "    case $folder in *[:,]*)\n"
    "      echo \"gangway: --container: $runtime cannot bind a folder with ':' or ',' in its\" \\\n"
    "        \"name: $folder: rename it, or run in another (-C)\" >&2\n"
    "      exit 126 ;;\n"
    "    esac\n"
    "  done\n"
    "  set -- \"$image\" \"$@\"\n"
    "  [ -z \"$CUDA_VISIBLE_DEVICES\" ] || set -- --nv \"$@\"\n"
    "  [ ! -d \"$GANGWAY_CHECKPOINT_DIR\" ] || set -- --bind \"$GANGWAY_CHECKPOINT_DIR\" \"$@\"\n"
    "  case $socket in *[:,]*) ;; /*) set -- --bind \"$socket\" \"$@\" ;; esac\n"
    "  exec $runtime exec --bind \"$PWD\" --pwd \"$PWD\" \"$@\"\n"
    "fi\n"
    "mount=\n"
    "choose_mount() {\n"
    "  mount=type=bind,src=$1,dst=$1\n"
    "  case $1 in *[\\\",]*) ;; *) return ;; esac\n"
    "  mount=$(printf %s \"$1\" | sed 's/\"/\"\"/g')\n"
    "  mount=type=bind,\\\"src=$mount\\\",\\\"dst=$mount\\\"\n"
    "}\n"
    "set -- \"$image\" \"$@\"\n"
    "for name in $names $(env | sed -n 's/^\\([A-Z][A-Z0-9_]*\\)=.*/\\1/p'); do\n"
    "  case \" $names \" in *\" $name \"*) set -- --env \"$name\" \"$@\"; continue ;; esac\n"
    "  case $name in\n"
    "  GANGWAY_RUNNER_FD) ;;\n"
    "  GANGWAY_*|RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|GROUP_RANK|NODE_RANK|MASTER_*)\n"
    "    set -- --env \"$name\" \"$@\" ;;\n"
    "  TORCHELASTIC_*|OMPI_COMM_WORLD_*|HOROVOD_*|NCCL_*|GLOO_*|CUDA_VISIBLE_DEVICES|TF_CONFIG)\n"
    "    set -- --env \"$name\" \"$@\" ;;\n"
    "  OMP_NUM_THREADS|OPENBLAS_NUM_THREADS|PYTHONUNBUFFERED) set -- --env \"$name\" \"$@\" ;;\n"
    "  esac\n"
    "done\n"
    "if [ -d \"$GANGWAY_CHECKPOINT_DIR\" ]; then\n"
    "  choose_mount \"$GANGWAY_CHECKPOINT_DIR\"\n"
    "  set -- --mount \"$mount\" \"$@\"\n"
    "fi\n"
    "if [ -n \"$socket\" ]; then\n"
    "  choose_mount \"$socket\"\n"
    "  set -- --mount \"$mount\" \"$@\"\n"
    "fi\n"
    "if [ $runtime = docker ]; then\n"
    "  [ -z \"$CUDA_VISIBLE_DEVICES\" ] ||\n"
    "    set -- --gpus \"\\\"device=$CUDA_VISIBLE_DEVICES\\\"\" \"$@\"\n"
    "  [ \"$(id -u)\" = 0 ] || set -- --user \"$(id -u):$(id -g)\" \"$@\"\n"
    "else\n"
    "  for gpu in $(echo \"$CUDA_VISIBLE_DEVICES\" | tr , ' '); do\n"
    "    set -- --device \"nvidia.com/gpu=$gpu\" \"$@\"\n"
    "  done\n"
    "fi\n"
    "choose_mount \"$PWD\"\n"
    "exec $runtime run --rm --init -i --name $container --network host --ipc host \\\n"
    "  --mount \"$mount\" -w \"$PWD\" \"$@\"\n";

/* Script that removes the container. $1: runtimes. It exits with 0 if there is no container to
 * remove: the daemon does not run or refuses us, the runtime has refused to start the container
 * (exit code 125), or the runtime itself does not start. */
static const char removal_script[] =
    "wanted=$1\n" CHOOSE "case $runtime in docker|podman) ;; *) exit 0 ;; esac\n"
    "limit=\n"
    "command -v timeout >/dev/null 2>&1 && limit='timeout -k 1 15'\n"
    "said=$($limit $runtime rm -f $container 2>&1)\n"
    "code=$?\n"
    "case $code:$said in 0:*|*'o such container'*|*'o container with'*) exit 0 ;;\n"
    "*'annot connect to the Docker daemon'*|*'denied while trying to connect'*) exit 0 ;; esac\n"
    "if [ $code = 124 ]; then\n"
    "  said='it did not answer in 15 s'\n"
    "elif [ \"$GANGWAY_EXIT_CODE\" = 125 ] || [ $code = 126 ] || [ $code = 127 ]; then\n"
    "  exit 0\n"
    "fi\n"
    "gpu=\n"
    "[ -z \"$CUDA_VISIBLE_DEVICES\" ] || gpu=', and hold its GPU'\n"
    "echo \"gangway: its container $container may still be there$gpu:\" \\\n"
    "  \"$runtime rm -f: $said (exit code $code)\" >&2\n"
    "exit 1\n";

/* Script for a command beside the task, with the environment of the rank. $1: process id of the
 * rank, $2: 1 if there is a terminal; then the command. An apptainer container consists of the
 * namespaces of the rank's process or of one of its descendants. */
static const char beside_script[] =
    "wanted=$GANGWAY_CONTAINER\n"
    "pid=$1\n"
    "terminal=$2\n"
    "shift 2\n"
    "if [ -z \"$wanted\" ]; then\n"
    "  command -v \"$1\" >/dev/null 2>&1 && exec \"$@\"\n"
    "  echo \"gangway exec: cannot start $1: No such file or directory\" >&2\n"
    "  exit 127\n"
    "fi\n" CHOOSE "case $runtime in\n"
    "docker|podman)\n"
    "  set -- $container \"$@\"\n"
    "  [ $terminal = 0 ] || set -- -t \"$@\"\n"
    "  exec $runtime exec -i -w \"$PWD\" \"$@\" ;;\n"
    "esac\n"
    "inside=\n"
    "next=$pid\n"
    "while [ -n \"$next\" ] && [ -z \"$inside\" ]; do\n"
    "  level=$next\n"
    "  next=\n"
    "  for process in $level; do\n"
    "    if [ \"$(readlink /proc/$process/ns/mnt)\" != \"$(readlink /proc/self/ns/mnt)\" ]; then\n"
    "      inside=$process\n"
    "      break\n"
    "    fi\n"
    "    for child in $(cat /proc/$process/task/*/children 2>/dev/null); do\n"
    "      next=\"$next $child\"\n"
    "    done\n"
    "  done\n"
    "done\n"
    "if [ -z \"$inside\" ]; then\n"
    "  echo \"gangway exec: the container of the task does not run (yet); --host runs the\" \\\n"
    "    \"command on the host\" >&2\n"
    "  exit 1\n"
    "fi\n"
    "if ! command -v nsenter >/dev/null 2>&1; then\n"
    "  echo \"gangway exec: there is no nsenter on PATH here, of util-linux, by which a container "
    "of\" "
    "\\\n"
    "    \"$runtime is entered; --host runs the command beside it, on the host\" >&2\n"
    "  exit 127\n"
    "fi\n"
    "if [ \"$(readlink /proc/$inside/ns/user)\" != \"$(readlink /proc/self/ns/user)\" ]; then\n"
    "  set -- --user --preserve-credentials -- \"$@\"\n"
    "else\n"
    "  set -- -- \"$@\"\n"
    "fi\n"
    "exec nsenter --target $inside --mount --root --wd \"$@\"\n";

static const char *const runtimes[] = {"docker", "podman", "apptainer", "singularity"};
static const char all_runtimes[] = "docker podman apptainer singularity";

int gw_wrap_runtime_is_known(const char *runtime)
{
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (strcmp(runtimes[i], runtime) == 0)
            return 1;
    return 0;
}

/* Makes "A B" from "A=1" and "B=2". */
static char *join_names(const struct gw_wrap_options *options)
{
    size_t bytes = 1, used = 0;
    for (size_t i = 0; i < options->name_count; i++)
        bytes += strcspn(options->names[i], "=") + 1;
    char *all = calloc(1, bytes);
    for (size_t i = 0; all && i < options->name_count; i++) {
        const size_t length = strcspn(options->names[i], "=");
        if (used)
            all[used++] = ' ';
        memcpy(all + used, options->names[i], length);
        used += length;
    }
    return all;
}

int gw_wrap_init(struct gw_wrap *wrap, const struct gw_wrap_options *options)
{
    enum { WORDS_MAX = 16, EPILOG_WORDS = 6 };
    const char *wanted = options->runtime ? options->runtime : all_runtimes;
    size_t count = 0, used = 0;
    while (options->command[count])
        count++;
    *wrap = (struct gw_wrap){.argv = calloc(count + WORDS_MAX, sizeof *wrap->argv),
                             .names = join_names(options)};
    if (options->container) {
        wrap->epilog = calloc(EPILOG_WORDS, sizeof *wrap->epilog);
        if (asprintf(&wrap->variable, "GANGWAY_CONTAINER=%s", wanted) < 0)
            wrap->variable = NULL;
    }
    if (!wrap->argv || !wrap->names || (options->container && (!wrap->epilog || !wrap->variable))) {
        gw_wrap_deinit(wrap);
        return GW_ENOMEM;
    }
    if (options->prolog) {
        const char *const words[] = {"bash", "-c", prolog_script, GW_PROLOG_NAME, options->prolog};
        memcpy(wrap->argv, words, sizeof words);
        used = sizeof words / sizeof *words;
    }
    if (options->container) {
        const char *const words[] = {
            "/bin/sh", "-c", container_script, "gangway", wanted, options->container, wrap->names};
        memcpy(wrap->argv + used, words, sizeof words);
        used += sizeof words / sizeof *words;
        const char *const epilog[] = {"/bin/sh", "-c", removal_script, "gangway", wanted};
        memcpy(wrap->epilog, epilog, sizeof epilog);
    }
    memcpy(wrap->argv + used, options->command, count * sizeof *wrap->argv);
    return 0;
}

int gw_wrap_beside(struct gw_wrap *wrap, const char *const *command, bool terminal)
{
    const char *const words[] = {"/bin/sh", "-c",    beside_script,
                                 "gangway", "{pid}", terminal ? "1" : "0"};
    const size_t used = sizeof words / sizeof *words;
    size_t count = 0;
    while (command[count])
        count++;
    *wrap = (struct gw_wrap){.argv = calloc(count + used + 1, sizeof *wrap->argv)};
    if (!wrap->argv)
        return GW_ENOMEM;
    memcpy(wrap->argv, words, sizeof words);
    memcpy(wrap->argv + used, command, count * sizeof *wrap->argv);
    return 0;
}

void gw_wrap_deinit(struct gw_wrap *wrap)
{
    free(wrap->argv);
    free(wrap->epilog);
    free(wrap->names);
    free(wrap->variable);
    *wrap = (struct gw_wrap){0};
}
