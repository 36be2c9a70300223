/* Options of `submit` and `dispatch`: one table for both, whose values are converted to options of
 * the library. */
#include "client/cli/launch/launch_options.h"

#include "client/cli/launch/bulk_option.h"
#include "client/cli/launch/launch_word.h"
#include "client/cli/lib/cli.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/synonym.h"
#include "graph/base/text.h"
#include "graph/model/inherited_env.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum {
    START_ROWS_MAX = 27,
    PLACE_ROWS_MAX = 18,
    GANG_ROWS_MAX = 16,
    MORE_ROWS_MAX = GANG_ROWS_MAX + 4,
    SYNONYMS_MAX = 112,
    TABLE_ROWS_MAX = START_ROWS_MAX + PLACE_ROWS_MAX + MORE_ROWS_MAX,
};

/* The table of options. The arrays hold help texts that differ between `submit` and `dispatch`. */
struct table {
    struct gw_option rows[TABLE_ROWS_MAX + 1];
    char gpus[160], memory[140], slots[64], resources[100], json[720];
};

#define DETAILS                                                                                    \
    "If no cluster is running, a private cluster is started, with as many slots as\n"              \
    "the command needs. The output of the command is printed live, and its exit code\n"            \
    "is returned. The first Ctrl-C ends the command gently, the second at once. The\n"             \
    "command (in a gang rank 0) reads standard input unless that is a terminal: in a\n"            \
    "shell loop that reads lines, use --stdin none, or the command reads the other\n"              \
    "lines. `submit --pty` gives the command a terminal. `gangway help` says\n"                    \
    "how a TIME, a SIZE and no limit (`none`) are written."
static const char details[] = DETAILS;
static const char priority_help[] = "tasks with a higher priority start first\n"
                                    "(default: 0; if there are several users, only an\n"
                                    "admin may use more)";
static const char gang_details[] =
    DETAILS "\n\n"
            "Ranks have the variables that torchrun, Horovod, TensorFlow and Open MPI set\n"
            "(RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, HOROVOD_*, TF_CONFIG,\n"
            "OMPI_COMM_WORLD_*). GANGWAY_CHECKPOINT_DIR is a folder that keeps its files when\n"
            "the ranks start again, GANGWAY_RESTART_COUNT the number of restarts, and\n"
            "GANGWAY_GPU_MEMORY_BYTES the memory that a rank may use on each of its GPUs.\n"
            "GANGWAY_PHYSICAL_GPU_SHARED is 1 if some ranks have MIG instances of one GPU:\n"
            "NCCL does not work then, gloo does.\n"
            "With one GPU per rank, a rank sees the GPUs of all ranks on its host; its own is\n"
            "cuda:LOCAL_RANK. With several, it sees only its own: cuda:0, cuda:1 ...\n"
            "GANGWAY_GPUS has the numbers of its own GPUs in both cases.\n"
            "{rank}, {local_rank}, {node_rank} and {world_size} are replaced in the words of\n"
            "the command and in --env; {{} becomes {.";

/* Appends the rows for many commands and for checkpoints, and the end of the table. */
static void add_many_rows(struct gw_launch_options *launch, const struct table *table,
                          struct gw_option *rows)
{
    const struct gw_option many[] = {
        {"array", 0, GW_OPTION_TEXT, &launch->array, "FIRST-LAST",
         launch->gang ? "run one gang for each number; {index} in its\n"
                        "words becomes the number, as GANGWAY_ARRAY_INDEX;\n"
                        "0-99:3: every third number"
                      : "run one task for each number; {index} in its\n"
                        "words becomes the number, as GANGWAY_ARRAY_INDEX;\n"
                        "0-99:3: every third number, 0-99%8: eight tasks\n"
                        "at a time"},
        {"each-line", 0, GW_OPTION_TEXT, &launch->each_line, "FILE",
         "run the command for each line of a file (-:\n"
         "standard input); in its words {line}, {index} and\n"
         "the line's fields {1}, {2} ... are replaced\n"
         "(quotes in the line have no meaning; {{} is a {);\n"
         "GANGWAY_LINE has the line"},
        {"from-json", 0, GW_OPTION_TEXT, &launch->from_json, "FILE", table->json},
        {"checkpoint-dir", 0, GW_OPTION_TEXT, &launch->checkpoint_dir, "DIR",
         "at the end, copy the checkpoint to DIR: the files\n"
         "in GANGWAY_CHECKPOINT_DIR on all its hosts; with\n"
         "many commands to DIR/INDEX"},
    };
    enum { MANY = sizeof many / sizeof *many };
    static_assert(MANY <= MORE_ROWS_MAX - GANG_ROWS_MAX, "MORE_ROWS_MAX");
    memcpy(rows, many, sizeof many);
    rows[MANY] = (struct gw_option){0};
}

/* Appends the rows that only one of the two commands has, and the rows after them. */
static void add_rows(struct gw_launch_options *launch, const struct table *table,
                     struct gw_option *rows)
{
    struct gw_task_options *task = &launch->task;
    const struct gw_option gangs[] = {
        {"retries", 0, GW_OPTION_RETRIES, &task->retries, "N", "the same as --max-restarts"},
        {"isolate-gpus", 0, GW_OPTION_FLAG, &task->gpu.isolate, NULL,
         "a rank sees only its own GPU, as device 0, and\n"
         "not the GPUs of all ranks on its host (always so\n"
         "with several GPUs for each rank, fractions and\n"
         "MIG instances)"},
        {"max-preemptions", 0, GW_OPTION_BUDGET, &task->preemptions_max, "N",
         "number of starts after `gangway restart`\n"
         "(default: 100; none: no limit)"},
        {"hang-timeout", 0, GW_OPTION_PATIENCE, &task->gang.hang_timeout_ns, "TIME",
         "end the gang if a rank is stopped for this long,\n"
         "or if ranks with functions wait in different\n"
         "places; the error names the ranks (default: 10m;\n"
         "0 is none). For commands see also\n"
         "--inactivity-timeout"},
        {"gpus", 0, GW_OPTION_TEXT, &launch->gpus, "N", "the same as --gpus-per-rank"},
        {"hosts", 'H', GW_OPTION_LIST, &launch->nodes.hosts, "HOST:N,...",
         "run N ranks on each of these hosts, in this\n"
         "order, like mpiexec"},
        {"hostfile", 0, GW_OPTION_TEXT, &launch->nodes.host_file, "FILE",
         "the same from a file: each line is `a`, `a:4` or\n"
         "`a slots=4`"},
        {"nodes", 0, GW_OPTION_U32, &launch->nodes.nodes, "N",
         "number of hosts, with --per-node ranks each"},
        {"per-node", 0, GW_OPTION_U32, &launch->nodes.per_node, "N",
         "exact number of ranks on each host"},
        {"min-ranks", 0, GW_OPTION_U32, &task->gang.min_ranks, "M",
         "start with at least M ranks if a host is lost or\n"
         "--full-size-timeout is over, and grow later"},
        {"full-size-timeout", 0, GW_OPTION_DELAY, &task->gang.full_size_timeout_ns, "TIME",
         "time to wait for room for all ranks before the\n"
         "gang starts with fewer (default: 30s)"},
        {"mpi", 0, GW_OPTION_TEXT, &launch->mpi, "none",
         "`none`: allow MPI programs, although each process\n"
         "runs as rank 0 of 1 (without it they are refused)"},
        {"same-host", 0, GW_OPTION_FLAG, &launch->nodes.same_host, NULL, "all ranks on one host"},
        {"spread", 0, GW_OPTION_FLAG, &launch->nodes.spread, NULL,
         "place the ranks evenly on as many hosts as\n"
         "possible"},
        {"pack", 0, GW_OPTION_FLAG, &launch->nodes.pack, NULL,
         "place the ranks on as few hosts as possible, near\n"
         "each other (default)"},
    };
    const struct gw_option tasks[] = {
        {"pty", 't', GW_OPTION_FLAG, &launch->pty, NULL,
         "run the command at this terminal, like a shell or\n"
         "a debugger"},
    };
    static_assert(sizeof tasks <= sizeof gangs && sizeof gangs <= GANG_ROWS_MAX * sizeof *rows,
                  "GANG_ROWS_MAX");
    const size_t bytes = launch->gang ? sizeof gangs : sizeof tasks;
    memcpy(rows, launch->gang ? gangs : tasks, bytes);
    add_many_rows(launch, table, rows + bytes / sizeof *rows);
}

/* Writes the help texts that say to whom the resources belong: to each rank, or to the task. */
static void describe(struct table *table, const char *who)
{
    snprintf(
        table->gpus, sizeof table->gpus,
        "number of GPUs, or one MIG instance, for %s;\n0.5: half of a GPU, shared with others; "
        "`any`: one\nif the cluster has GPUs, else none",
        who);
    snprintf(table->memory, sizeof table->memory,
             "memory to reserve for %s, like 8G; a task\nthat uses more is killed (default: none "
             "is\nreserved, no limit)",
             who);
    char names[400];
    gw_bulk_option_names(names, sizeof names, 42);
    snprintf(table->json, sizeof table->json,
             "run the commands in a JSON file (-: standard\ninput): [{\"argv\": [...], \"name\", "
             "\"after\",\n\"env\", \"cwd\", \"options\"}, ...]; \"options\" are\n{KEY: VALUE} and "
             "override the options given here:\n%s",
             names);
    snprintf(table->slots, sizeof table->slots, "number of slots for %s (default: 1)", who);
    snprintf(table->resources, sizeof table->resources,
             "named resources for %s, like license=1\n(`gangway up --resources` defines them)",
             who);
}

static const char ship_help[] = "copy a file or folder, as NAME, into a new\n"
                                "working folder of the task; files that git\n"
                                "ignores are left out (a .gitignore suffices); may\n"
                                "be given several times";
static const char stdin_help[] = "input of the command (default: -, standard\n"
                                 "input); none: /dev/null, as always with --detach\n"
                                 "and for many commands";

static const char slots_help[] = "number of slots for it (default: 1); none: it\n"
                                 "starts although no slot is free";

/* Appends the rows about resources, order and output, and the rows after them. */
static void add_place_rows(struct gw_launch_options *launch, const struct table *table,
                           struct gw_option *rows)
{
    struct gw_task_options *task = &launch->task;
    const struct gw_option place[] = {
        {"priority", 'p', GW_OPTION_I32, &task->priority, "P", priority_help},
        {launch->gang ? "slots-per-rank" : "slots", 0,
         launch->gang ? GW_OPTION_COUNT : GW_OPTION_LIMIT, &task->slots, "N",
         launch->gang ? table->slots : slots_help},
        {launch->gang ? "gpus-per-rank" : "gpus", 0, GW_OPTION_TEXT, &launch->gpus, "N",
         table->gpus},
        {"gpu-memory", 0, GW_OPTION_SIZE, &task->gpu.memory_bytes, "SIZE",
         "memory that each of its GPUs or MIG instances has\n"
         "at least"},
        {"bind", 0, GW_OPTION_TEXT, &launch->bind, "near|none",
         "with GPUs: bind processes to the CPUs near them\n"
         "(default), or to none"},
        {"resources", 0, GW_OPTION_TEXT, &task->resources, "NAME=N,...", table->resources},
        {"on", 0, GW_OPTION_LIST, &task->workers, "WORKER,...",
         "run only on these: names of workers or hosts, or\n"
         "addresses (`gangway worker list`)"},
        {"prefer", 0, GW_OPTION_LIST, &launch->prefer, "WORKER,...",
         "the same, but run elsewhere if these have no room"},
        {"memory", 0, GW_OPTION_SIZE, &task->memory_bytes, "SIZE", table->memory},
        {"account", 0, GW_OPTION_TEXT, &launch->account, "NAME",
         "account that pays for it, if the cluster has\naccounts (default: yours; `gangway account "
         "list`)"},
        {"queue", 0, GW_OPTION_TEXT, &launch->queue, "NAME",
         "queue that it waits in, if the cluster has queues\n(`gangway queue list`)"},
        {"after", 0, GW_OPTION_LIST, &launch->after, "JOB,...",
         "start after these jobs have succeeded"},
        {"after-any", 0, GW_OPTION_TEXT, &launch->after_any, "JOB,...",
         "start after these jobs have ended, even if they\n"
         "failed"},
        {"quiet", 'q', GW_OPTION_FLAG, &launch->quiet, NULL, "do not print the output"},
        {"json", 0, GW_OPTION_FLAG, &launch->json, NULL,
         "print JSON: one line for each line of output,\n"
         "then one for the end"},
    };
    static_assert(sizeof place <= PLACE_ROWS_MAX * sizeof *rows, "PLACE_ROWS_MAX");
    memcpy(rows, place, sizeof place);
    add_rows(launch, table, rows + sizeof place / sizeof *place);
}

static void make_table(struct gw_launch_options *launch, struct table *table)
{
    struct gw_task_options *task = &launch->task;
    describe(table, launch->gang ? "each rank" : "it");
    const struct gw_option rows[] = {
        {"ranks", 'n', GW_OPTION_COUNT, &task->ranks, "N",
         "number of processes of the gang (default: 1); -np\n"
         "N is the same"},
        {"detach", 'd', GW_OPTION_FLAG, &launch->detached, NULL,
         "print the job's number and return; the job goes\n"
         "on in the cluster (needs `gangway up`)"},
        {"name", 0, GW_OPTION_TEXT, &launch->name, "NAME",
         "name of the job, in listings and for commands"},
        {"env", 'e', GW_OPTION_TEXTS, &launch->env, "NAME=VALUE",
         "set a variable, in addition to the present\n"
         "environment; may be given several times"},
        {"ship", 0, GW_OPTION_TEXTS, &launch->ship, "FILE[:NAME]", ship_help},
        {"cwd", 'C', GW_OPTION_TEXT, &launch->cwd, "DIR",
         "working folder (default: the current folder)"},
        {"stdin", 0, GW_OPTION_TEXT, &launch->in, "FILE", stdin_help},
        {"prolog", 0, GW_OPTION_TEXT, &launch->prolog, "WORDS",
         "bash commands to run first, in the same\n"
         "environment: 'module load cuda'"},
        {"container", 0, GW_OPTION_TEXT, &launch->container, "IMAGE",
         "run the command in a container, with its folder,\n"
         "its checkpoints, its GPUs and the host's network"},
        {"container-runtime", 0, GW_OPTION_TEXT, &launch->runtime, "NAME",
         "container runtime: docker, podman or apptainer\n"
         "(default: the first that the worker has)"},
        {"time-limit", 0, GW_OPTION_DURATION, &task->time_limit_ns, "TIME",
         "kill the task if it runs longer (exit code 124;\n"
         "default: none; 0 is none); --time is the same"},
        {"inactivity-timeout", 0, GW_OPTION_DURATION, &task->inactivity_timeout_ns, "TIME",
         "kill the task if it writes no output for this\n"
         "long (exit code 124; default: none; 0 is none)"},
        {"notify", 0, GW_OPTION_TEXT, &launch->notify, "COMMAND",
         "run this shell command when the job has ended,\n"
         "with GANGWAY_JOB and GANGWAY_OUTCOME (done, failed\n"
         "or cancelled): here, or with --detach as a job on\n"
         "a worker"},
        {"annotate", 0, GW_OPTION_TEXTS, &launch->annotations, "NAME=VALUE",
         "annotation for listings (`gangway jobs --where`);\n"
         "may be given several times"},
        {"metric", 0, GW_OPTION_TEXTS, &launch->metrics, "NAME",
         "report the numbers in its output after NAME=; may\n"
         "be given several times (see gangway report)"},
        {"until-step", 0, GW_OPTION_U64, &task->until_step, "N",
         "answer reports of step N and later with `stop`"},
        {"grace", 0, GW_OPTION_DELAY, &task->grace_ns, "TIME",
         "time between SIGTERM and SIGKILL (default: 10s)"},
        {"signal", 0, GW_OPTION_TEXT, &launch->signal, "NAME",
         "signal to send instead of SIGTERM: USR1, SIGUSR1,\n"
         "10"},
        {"fail-grace", 0, GW_OPTION_DELAY, &task->gang.fail_grace_ns, "TIME",
         "the grace time after another rank has failed\n"
         "(default: 200ms)"},
        {launch->gang ? "max-restarts" : "retries", 0, GW_OPTION_RETRIES, &task->retries, "N",
         launch->gang ? "number of starts of all ranks after a rank has\n"
                        "failed (default: 0; none: 255, the most)"
                      : "number of times to run again after a failure\n"
                        "(default: 0; none: 255, the most)"},
        {"backoff", 0, GW_OPTION_DURATION, &task->backoff_ns, "TIME",
         "pause before the second attempt; doubled before\n"
         "each further attempt, up to 5m (default: 0)"},
        {"max-worker-losses", 0, GW_OPTION_BUDGET, &task->worker_losses_max, "N",
         "number of times to run again if its worker is\n"
         "lost (default: 9; 0: never; none: no limit)"},
    };
    static_assert(sizeof rows <= START_ROWS_MAX * sizeof *rows, "START_ROWS_MAX");
    memcpy(table->rows, rows, sizeof rows);
    add_place_rows(launch, table, table->rows + sizeof rows / sizeof *rows);
}

/* Joins texts to "a,b,c". The caller frees the result. Prints an error and returns NULL if out of
 * memory. */
static char *join(const struct gw_option_texts *texts)
{
    size_t bytes = 1, used = 0;
    for (size_t i = 0; i < texts->count; i++)
        bytes += strlen(texts->items[i]) + 1;
    char *all = calloc(1, bytes);
    if (!all)
        fprintf(stderr, "gangway: out of memory\n");
    for (size_t i = 0; all && i < texts->count; i++)
        used += (size_t)snprintf(all + used, bytes - used, "%s%s", i ? "," : "", texts->items[i]);
    return all;
}

/* Wraps the command in a prolog and a container. Prints an error and returns false if the options
 * are wrong. */
static bool wrap_up(struct gw_launch_options *launch, const char *command)
{
    if (launch->runtime && !launch->container) {
        gw_cli_message("gangway %s: --container-runtime needs --container IMAGE", command);
        return false;
    }
    if (launch->runtime && !gw_wrap_runtime_is_known(launch->runtime)) {
        gw_cli_message("gangway %s: --container-runtime %s is unknown: give docker, podman, "
                       "apptainer or singularity",
                       command, launch->runtime);
        return false;
    }
    if (!launch->prolog && !launch->container)
        return true;
    if (launch->pty || launch->from_json) {
        gw_cli_message(
            "gangway %s: --prolog and --container cannot be combined with --pty or --from-json",
            command);
        return false;
    }
    if (launch->container && (!*launch->container || *launch->container == '-')) {
        gw_cli_message("gangway %s: --container \"%s\" is not an image's name", command,
                       launch->container);
        return false;
    }
    if (!*launch->command[0]) {
        fprintf(stderr, "gangway %s: the command is empty\n", command);
        return false;
    }
    const struct gw_wrap_options options = {.command = launch->command,
                                            .prolog = launch->prolog,
                                            .container = launch->container,
                                            .runtime = launch->runtime,
                                            .names = launch->env.items,
                                            .name_count = launch->env.count};
    if (gw_wrap_init(&launch->wrap, &options) < 0) {
        fprintf(stderr, "gangway: out of memory\n");
        return false;
    }
    if (!launch->name)
        launch->name = launch->command[0];
    launch->command = launch->wrap.argv;
    return true;
}

static bool check_gpus(const struct gw_launch_options *launch, const char *command,
                       struct gw_task_options *task)
{
    if (launch->gpus && !gw_launch_word_gpus(launch->gpus, task)) {
        gw_cli_message(
            "gangway %s: --%s %s: give a number of GPUs (2), a fraction of one (0.5), or `any`",
            command, launch->gang ? "gpus-per-rank" : "gpus", launch->gpus);
        return false;
    }
    if (task->gpu.fraction > 0 && task->gpu.fraction < 0.001) {
        gw_cli_message("gangway %s: --%s %s: the smallest fraction of a GPU is 0.001", command,
                       launch->gang ? "gpus-per-rank" : "gpus", launch->gpus);
        return false;
    }
    if (task->gpu.memory_bytes && !task->gpu.count && task->gpu.fraction <= 0) {
        gw_cli_message("gangway %s: --gpu-memory needs --gpus, the number of GPUs", command);
        return false;
    }
    return true;
}

static bool check_environment(const struct gw_launch_options *launch, const char *command)
{
    if (launch->mpi && strcmp(launch->mpi, "none") != 0) {
        gw_cli_message(
            "gangway %s: --mpi %s: the only value is `none`: Gangway cannot start the ranks of an "
            "MPI program yet; use `gangway submit --slots N -- mpiexec -n N PROGRAM`",
            command, launch->mpi);
        return false;
    }
    for (size_t i = 0; i < launch->env.count; i++) {
        const char *item = launch->env.items[i], *end = strchr(item, '=');
        if (end && end > item && gw_text_is_line(item, (size_t)(end - item)))
            continue;
        gw_cli_message("gangway %s: --env %s is not NAME=VALUE%s", command, item,
                       end && end > item ? ": the name has control characters" : "");
        return false;
    }
    return true;
}

static bool check_input(const struct gw_launch_options *launch, bool many, const char *command)
{
    if (!launch->in || strcmp(launch->in, "none") == 0 ||
        (!many && !launch->pty && !launch->detached))
        return true;
    gw_cli_message(
        "gangway %s: --stdin %s cannot be combined with --detach, --pty or many commands", command,
        launch->in);
    return false;
}

static bool check_checkpoint_dir(const struct gw_launch_options *launch, const char *command)
{
    if (launch->checkpoint_dir && !*launch->checkpoint_dir) {
        gw_cli_message("gangway %s: --checkpoint-dir needs the name of a folder", command);
        return false;
    }
    if (launch->checkpoint_dir && launch->detached) {
        gw_cli_message("gangway %s: --checkpoint-dir cannot be combined with --detach: `gangway "
                       "get JOB --checkpoint -o %s` fetches the checkpoint of a detached job",
                       command, launch->checkpoint_dir);
        return false;
    }
    /* Check this before the job runs: a checkpoint that cannot be written here is lost when a
     * private cluster ends. */
    struct gw_error error;
    if (gw_cli_check_output("--checkpoint-dir", launch->checkpoint_dir, &error) == 0)
        return true;
    gw_cli_message("gangway %s: %s", command, error.text);
    return false;
}

/* Checks combinations of options. Prints an error and returns false if one is wrong. */
static bool check(struct gw_launch_options *launch, const char *command)
{
    struct gw_task_options *task = &launch->task;
    struct gw_error error;
    if (launch->gang && !gw_nodes_apply(&launch->nodes, task))
        return false;
    if (!check_checkpoint_dir(launch, command))
        return false;
    if (launch->name && gw_selector_name_check(launch->name, &error) < 0) {
        gw_cli_message("gangway %s: --name %s", command, error.text);
        return false;
    }
    if (!check_environment(launch, command))
        return false;
    int many = (launch->array != NULL) + (launch->each_line != NULL) + (launch->from_json != NULL);
    if (many > 1) {
        gw_cli_message("gangway %s: give only one of --array, --each-line and --from-json",
                       command);
        return false;
    }
    if (launch->pty && (many || launch->detached || launch->json || launch->quiet)) {
        gw_cli_message(
            "gangway %s: --pty cannot be combined with --detach, --json, --quiet or many commands",
            command);
        return false;
    }
    if (launch->after && launch->after_any) {
        gw_cli_message("gangway %s: give only one of --after and --after-any", command);
        return false;
    }
    if (!*launch->command == !launch->from_json) {
        fprintf(stderr,
                *launch->command
                    ? "gangway %s: --from-json contains the commands: give no other command\n"
                    : "gangway %s: -- COMMAND [ARGUMENT...] is missing\n",
                command);
        return false;
    }
    if ((task->workers && !*task->workers) || (launch->prefer && !*launch->prefer)) {
        fprintf(stderr, "gangway %s: %s: a name is missing\n", command,
                launch->prefer ? "--prefer" : "--on");
        return false;
    }
    if (task->workers && launch->prefer) {
        fprintf(stderr, "gangway %s: give only one of --on and --prefer\n", command);
        return false;
    }
    if (launch->prefer) {
        task->workers = launch->prefer;
        task->workers_prefer = true;
    }
    if (!check_gpus(launch, command, task) || !check_input(launch, many > 0, command))
        return false;
    if (launch->bind && !gw_launch_word_bind(launch->bind, task)) {
        gw_cli_message("gangway %s: --bind %s: give near (the CPUs near the GPUs) or none", command,
                       launch->bind);
        return false;
    }
    if (launch->signal && !gw_launch_word_signal(launch->signal, &task->signal)) {
        gw_cli_message("gangway %s: --signal %s: give a name (USR1) or a number (10)", command,
                       launch->signal);
        return false;
    }
    if (launch->annotations.count && !(launch->annotated = join(&launch->annotations)))
        return false;
    task->annotations = launch->annotated;
    if (launch->metrics.count && !(launch->metric_names = join(&launch->metrics)))
        return false;
    task->metrics = launch->metric_names;
    task->files = launch->ship.items;
    return wrap_up(launch, command);
}

bool gw_launch_options_init(struct gw_launch_options *launch, bool gang, int argc, char **argv,
                            int *exit_code)
{
    *launch = (struct gw_launch_options){.gang = gang, .task = GW_INIT(gw_task_options)};
    struct table table;
    make_table(launch, &table);
    const struct gw_options options = {
        .command = launch->gang ? "dispatch" : "submit",
        .arguments = "-- COMMAND [ARGUMENT...]",
        .summary =
            launch->gang
                ? "Run a command as a gang: N ranks that start together or not at all, with RANK,\n"
                  "WORLD_SIZE, MASTER_ADDR and the variables of other launchers. If one rank\n"
                  "fails, all ranks end."
                : "Run a command as a task.",
        .details = launch->gang ? gang_details : details,
        .table = launch->gang ? table.rows : table.rows + 1,
        .arguments_min = 0,
        .arguments_max = INT32_MAX,
        .command_line = true,
        .synonyms = gw_synonym_launch,
    };
    int first;
    if (gang)
        launch->task.ranks = launch->nodes.nodes = launch->nodes.per_node = GW_NODES_UNSAID;
    bool right = gw_options_parse(&options, argc, argv, &first, exit_code);
    if (right) {
        launch->command = (const char **)(uintptr_t)(argv + first);
        right = check(launch, options.command);
        *exit_code = right ? 0 : GW_EXIT_USAGE;
    }
    if (!right)
        gw_launch_options_deinit(launch);
    return right;
}

/* Appends the rows of a table of synonyms. */
static size_t append(struct gw_synonym *rows, size_t count, const struct gw_synonym *table)
{
    for (; table->name; table++) {
        assert(count + 1 < SYNONYMS_MAX);
        rows[count++] = *table;
    }
    rows[count] = (struct gw_synonym){0};
    return count;
}

bool gw_launch_options_names(const struct gw_options *own, bool gang, int argc, char **argv,
                             int *exit_code)
{
    struct gw_launch_options launch = {.gang = gang};
    struct gw_synonym synonyms[SYNONYMS_MAX];
    struct table table;
    int first;
    make_table(&launch, &table);
    (void)append(synonyms, append(synonyms, 0, own->synonyms), gw_synonym_launch);
    const struct gw_option rows[] = {GW_OPTION_TABLE((void *)(uintptr_t)own->table),
                                     GW_OPTION_TABLE(gang ? table.rows : table.rows + 1),
                                     {0}};
    struct gw_options options = *own;
    options.table = rows;
    options.synonyms = synonyms;
    options.arguments_max = INT32_MAX;
    options.command_line = options.names_only = true;
    if (!gw_options_parse(&options, argc, argv, &first, exit_code))
        return false;
    if (first == argc || (first > 1 && strcmp(argv[first - 1], "--") == 0))
        return true;
    gw_cli_message("gangway %s: unexpected argument: %s: write -- before the command", own->command,
                   argv[first]);
    *exit_code = GW_EXIT_USAGE;
    return false;
}

void gw_launch_options_deinit(struct gw_launch_options *options)
{
    free(options->env.items);
    free(options->annotations.items);
    free(options->metrics.items);
    free(options->metric_names);
    free(options->ship.items);
    free(options->annotated);
    gw_wrap_deinit(&options->wrap);
    gw_nodes_deinit(&options->nodes);
}

int gw_launch_options_env(const struct gw_launch_options *options, const char ***env)
{
    size_t count = 0, retained = 0;
    *env = NULL;
    if (options->env.count == 0 && !options->wrap.variable && !options->mpi)
        return 0;
    while (environ[count])
        count++;
    const char **made = calloc(count + options->env.count + 3, sizeof *made);
    if (!made)
        return GW_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        bool stays = gw_inherited_env_has(environ[i]);
        for (size_t k = 0; k < options->env.count; k++) {
            size_t length = strcspn(options->env.items[k], "=") + 1;
            stays = stays && strncmp(environ[i], options->env.items[k], length) != 0;
        }
        if (stays)
            made[retained++] = environ[i];
    }
    if (options->mpi) /* before the variables of --env, which are counted from the end */
        made[retained++] = "GANGWAY_MPI=none";
    for (size_t k = 0; k < options->env.count; k++)
        made[retained++] = options->env.items[k];
    if (options->wrap.variable)
        made[retained++] = options->wrap.variable;
    *env = made;
    return 0;
}
