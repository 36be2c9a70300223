/* `gangway help --man`: prints the page gangway(1), or that of a command, with the macros of
 * man(7). Commands and options are described only in the tables from which `--help` is printed. For
 * a page, each command is asked for its help, which is printed as a section. Variables and files,
 * which belong to no command, are described in the tables below. */
#include "client/cli/commands/manual.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/units.h"

#include <ctype.h>
#include <gangway/gangway.h>
#include <stdio.h>
#include <string.h>

/* Date of the last change of the tables below. The date of the build would change the page every
 * day. */
#define DATE "2026-11-23"

enum { LINE_BYTES = 60 };

struct entry {
    const char *name, *text;
};

static const struct entry read_variables[] = {
    {"GANGWAY_ADDRESS", "The cluster to use: HOST:PORT or unix:PATH. Default: this user's cluster "
                        "(`gangway up`); if none is running, the address in "
                        "~/.config/gangway/address or /etc/gangway/address; else a private one."},
    {"GANGWAY_TOKEN", "The token for a cluster at HOST:PORT."},
    {"GANGWAY_TOKEN_FILE", "A file with the token. Default: the token saved by `gangway token "
                           "store`."},
    {"GANGWAY_INLINE", "1: a program runs its tasks in its own process, for a debugger."},
    {"GANGWAY_CHECKPOINTS", "With GANGWAY_INLINE: the folder for checkpoints."},
    {"GANGWAY_BINARY", "The gangway binary with which programs start a private cluster. Default: "
                       "the one in the folder of libgangway or of the program, or on PATH."},
    {"GANGWAY_LOG", "Log level of daemons and programs: error, warn, info or debug."},
    {"GANGWAY_SPIN_US", "How many microseconds a waiting client, worker or runner polls before it "
                        "sleeps, if its last wait was short. Default: 100. 0 saves processor time "
                        "but increases latency."},
    {"GANGWAY_RSH", "The command with which `gangway up --hosts` runs commands on a host, as HOST "
                    "COMMAND. Default: ssh -o BatchMode=yes."},
    {"GANGWAY_REMOTE_BINARY", "The path of gangway on those hosts. Default: its path here."},
    {"GANGWAY_COMM_CHECK",
     "1: ranks of NCCL also compare operations on a stream before they launch "
     "them. This finds ranks that differ, but is slower."},
    {"GANGWAY_NVML", "The library with which workers find GPUs. Default: libnvidia-ml.so.1."},
    {"XDG_STATE_HOME", "State, logs and checkpoints of clusters are in its folder "
                       "gangway/HOSTNAME. Default: ~/.local/state."},
    {"XDG_RUNTIME_DIR",
     "Sockets, and all files of private clusters, are in its folder gangway. If it "
     "is not set or not owned by this user, they are in /run/user/UID/gangway or, if "
     "that does not exist, in /tmp/gangway-UID."},
    {"XDG_CONFIG_HOME", "Tokens are in its folder gangway. Default: ~/.config."},
    {"NO_COLOR", "If not empty: no colours, and no lines that change in place."},
    {NULL, NULL},
};

static const struct entry set_variables[] = {
    {"GANGWAY_JOB", "The job's number."},
    {"GANGWAY_TASK", "The task's index in it."},
    {"GANGWAY_ATTEMPT", "The number of this attempt. No other attempt in the cluster has it."},
    {"GANGWAY_RESTART_COUNT", "How often the task was started before: 0 in its first attempt."},
    {"GANGWAY_PARAMS", "Of a trial of a sweep: its parameters as JSON."},
    {"GANGWAY_TRIAL", "Of a trial of a sweep: its number."},
    {"GANGWAY_REPORT", "The socket for reports of metrics; see gangway-report(1)."},
    {"GANGWAY_ARRAY_INDEX", "With --array: the task's number."},
    {"GANGWAY_LINE", "With --each-line: the task's line."},
    {"GANGWAY_CHECKPOINT_DIR", "A folder for the task's files. They are kept when the task "
                               "starts again."},
    {"GANGWAY_IDENTITY",
     "Set for commands if clients in them need a token: with it they act as the "
     "job's user until the job ends. A token or another GANGWAY_ADDRESS takes "
     "precedence."},
    {"GANGWAY_FENCE", "Set by `sync lock` and `sync lease` for their command: the number of the "
                      "lease, greater than that of any earlier lease."},
    {"GANGWAY_GPUS", "The numbers of the task's own GPUs among those that it sees: 0,1."},
    {"GANGWAY_GPU_MEMORY_BYTES", "The memory that the task may use on each of its GPUs."},
    {"GANGWAY_PHYSICAL_GPU_SHARED", "1: ranks share a physical GPU, so NCCL does not work."},
    {"GANGWAY_CONTAINER", "Set for commands in a container: the container runtimes to try."},
    {"GANGWAY_RANK", "In a gang, the same as RANK: the number of the rank."},
    {"GANGWAY_WORLD_SIZE", "The same as WORLD_SIZE: the number of ranks."},
    {"GANGWAY_LOCAL_RANK", "The same as LOCAL_RANK: the number among the ranks on its host."},
    {"GANGWAY_LOCAL_WORLD_SIZE", "The same as LOCAL_WORLD_SIZE: the number of ranks on its host."},
    {"GANGWAY_SWEEP", "In the command of `sweep --notify`: the name of the sweep."},
    {"GANGWAY_OUTCOME", "In the command of --notify: done, failed or cancelled; unknown if the "
                        "command could not ask the scheduler. GANGWAY_JOB is then the job that "
                        "has ended."},
    {"GANGWAY_WORKER", "In the program of `worker --health-check`: the name of the worker."},
    {"GANGWAY_EXIT_CODE",
     "In a task's epilog: the exit code of its command (128 + N: ended by signal N)."},
    {"MASTER_ADDR",
     "With MASTER_PORT: the address of rank 0. The variables that torchrun, Horovod, "
     "TensorFlow and Open MPI set are also set."},
    {"OMP_NUM_THREADS", "Like OPENBLAS_NUM_THREADS: the number of cores for the task."},
    {NULL, NULL},
};

static const struct entry files[] = {
    {"~/.local/state/gangway/HOSTNAME", "The folder of this user's cluster: its state, "
                                        "scheduler.log, worker-0.log, and scheduler.sock, "
                                        "a link to its socket."},
    {"~/.local/state/gangway/HOSTNAME/at-HOST_PORT",
     "The folder of a worker of a cluster on another machine."},
    {"~/.config/gangway/address, /etc/gangway/address",
     "The address of a cluster, in the first line, for programs of users without a cluster of "
     "their own. GANGWAY_ADDRESS takes precedence, then this user's cluster (`gangway up`), then "
     "the file in ~/.config."},
    {"~/.config/gangway/token, /etc/gangway/token",
     "This user's token (`gangway token store`); mode 0600. The file in /etc is for a worker as a "
     "service, and is used if the other does not exist."},
    {"~/.config/gangway/tokens",
     "The tokens that this user's clusters accept over TCP (`gangway token create`); mode 0600."},
    {NULL, NULL},
};

static const struct entry examples[] = {
    {"gangway up", "Start a cluster that stays."},
    {"gangway submit -- python3 prepare.py", "Run a command as a task, and see its output."},
    {"gangway dispatch -n 4 -- python3 train.py", "Run it as a gang of four ranks."},
    {"gangway dispatch -d -n 8 --gpus-per-rank 1 --max-restarts 3 -- python3 train.py",
     "The same on GPUs, in the background; when a rank fails, all start again."},
    {"gangway submit -d --array 0-99 -- ./step {index}", "A hundred tasks."},
    {"gangway explain last", "Why does it wait, or why did it fail?"},
    {"gangway logs last", "What did it write?"},
    {"gangway down", "End the cluster."},
    {NULL, NULL},
};

/* -- Text ----------------------------------------------------------------------------------------
 */

/* Prints text so that roff does not interpret it, and so that readers can copy it unchanged. */
static void print_text(const char *text, size_t bytes)
{
    static const char marks[] = "\\-`'^~";
    static const char *const meant[] = {"\\e", "\\-", "\\(ga", "\\(aq", "\\(ha", "\\(ti"};
    if (bytes > 0 && *text == '.')
        fputs("\\&", stdout);
    for (size_t i = 0; i < bytes; i++) {
        const char *mark = strchr(marks, text[i]);
        if (mark && text[i])
            fputs(meant[mark - marks], stdout);
        else
            fputc(text[i], stdout);
    }
}

static void print_bold(const char *text)
{
    fputs("\\fB", stdout);
    print_text(text, strlen(text));
    fputs("\\fR", stdout);
}

/* Whether a line must keep its layout: examples and tables contain several spaces in a row. */
static bool is_literal(const char *line, size_t bytes)
{
    return *line == ' ' || memmem(line, bytes, "  ", 2);
}

/* Prints text in new lines of at most LINE_BYTES characters, which are easy to edit. */
static void print_filled(const char *text, size_t bytes)
{
    for (size_t at = 0, length; bytes > 0; text += length, bytes -= length) {
        length = 0;
        while (length < bytes && (length == 0 || (text[length] != ' ' && text[length] != '\n')))
            length++;
        const bool behind = *text == ' ' || *text == '\n';
        if (behind && at + length > LINE_BYTES) {
            putchar('\n');
            at = 0;
        } else if (behind) {
            putchar(' ');
        }
        print_text(text + behind, length - behind);
        at += length;
    }
    putchar('\n');
}

/* Prints the lines of a help text, and refills paragraphs. */
static void print_lines(const char *text)
{
    bool first = true, literal = false, apart = false;
    for (size_t bytes; *text; text += bytes + (text[bytes] == '\n')) {
        bytes = strcspn(text, "\n");
        const bool was_literal = literal;
        apart = apart || bytes == 0;
        if (bytes == 0)
            continue;
        literal = is_literal(text, bytes);
        if (was_literal && !literal)
            puts(".fi");
        if (!first && (apart || literal != was_literal))
            puts(".PP");
        if (literal && !was_literal)
            puts(".nf");
        if (literal) {
            print_text(text, bytes);
            putchar('\n');
        } else {
            print_filled(text, bytes);
        }
        first = apart = false;
    }
    if (literal)
        puts(".fi");
}

static void print_entries(const struct entry *entries)
{
    for (; entries->name; entries++) {
        puts(".TP");
        print_bold(entries->name);
        putchar('\n');
        print_filled(entries->text, strlen(entries->text));
    }
}

/* -- Commands ------------------------------------------------------------------------------------
 */

static void print_option(const struct gw_option *option)
{
    puts(".TP");
    if (option->letter)
        printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    print_text(option->name, strlen(option->name));
    fputs("\\fR", stdout);
    if (option->argument) {
        fputs(" \\fI", stdout);
        print_text(option->argument, strlen(option->argument));
        fputs("\\fR", stdout);
    }
    putchar('\n');
    print_filled(option->help, strlen(option->help));
}

static void print_usage(const struct gw_options *options)
{
    fputs("\\fBgangway ", stdout);
    print_text(options->command, strlen(options->command));
    printf("\\fR [\\fIoptions\\fR]%s", *options->arguments ? " " : "");
    print_text(options->arguments, strlen(options->arguments));
    putchar('\n');
}

static void print_description(const struct gw_options *options)
{
    print_lines(options->summary);
    if (options->details) {
        puts(".PP");
        print_lines(options->details);
    }
}

static void print_options(const struct gw_options *options)
{
    for (const struct gw_option *option = options->table; option->name; option++)
        print_option(option);
}

/* Prints the help of all verbs of a command. Installed by gw_cli_show_verbs_by. */
static void print_verbs(const char *command, const struct gw_cli_command *verbs)
{
    for (; verbs && verbs->name; verbs++) {
        char name[32], help[] = "--help";
        snprintf(name, sizeof name, "%s", verbs->name);
        (void)verbs->run(2, (char *[]){name, help, NULL});
    }
}

/* Prints the help of a command as a section. Installed by gw_options_show_by. */
static void print_command(const struct gw_options *options)
{
    printf(".SS gangway %s\n", options->command);
    print_usage(options);
    puts(".PP");
    print_description(options);
    print_options(options);
    print_verbs(options->command, options->verbs);
}

static void ask(const struct gw_cli_command *command)
{
    char help[] = "--help", name[32];
    snprintf(name, sizeof name, "%s", command->name);
    (void)command->run(2, (char *[]){name, help, NULL});
}

static void print_commands(const struct gw_cli_command *commands)
{
    puts(".SH COMMANDS\n"
         "Each command has \\fB\\-h\\fR, \\fB\\-\\-help\\fR: its part of this page.\n"
         ".PP");
    print_lines(gw_units_help);
    gw_options_show_by(print_command);
    gw_cli_show_verbs_by(print_verbs);
    for (const struct gw_cli_command *command = commands; command->name; command++) {
        if (command->summary)
            ask(command);
    }
}

/* -- The page of a command -----------------------------------------------------------------------
 */

static void print_exit_codes(void)
{
    puts(
        ".SH EXIT STATUS\n"
        "\\fBsubmit\\fR, \\fBdispatch\\fR, \\fBwait\\fR and \\fBexec\\fR end with the exit code of "
        "the\ntask (128 + N if signal N ended it). Other exit codes:");
    for (const struct gw_cli_exit_code *code = gw_cli_exit_codes; code->text; code++)
        printf(".TP\n\\fB%d\\fR\n%s\n", code->code, code->text);
}

static void print_title(const char *name, const char *summary)
{
    puts(".\\\" Made by `gangway help \\-\\-man`.");
    fputs(".TH GANGWAY", stdout);
    for (const char *c = name; *c; c++)
        putchar(toupper((unsigned char)*c));
    printf(" 1 %s \"gangway %s\" \"Gangway\"\n", DATE, gw_version());
    puts(".ad l\n.nh\n.SH NAME");
    fputs("gangway", stdout);
    print_text(name, strlen(name));
    fputs(" \\- ", stdout);
    print_text(summary, strlen(summary));
    putchar('\n');
}

/* Prints the help of a command as a page. Installed by gw_options_show_by. */
static void print_page(const struct gw_options *options)
{
    puts(".SH SYNOPSIS");
    print_usage(options);
    puts(".SH DESCRIPTION");
    print_description(options);
    puts(".SH OPTIONS");
    print_options(options);
    puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow this help.");
    if (options->verbs) {
        puts(".SH COMMANDS");
        gw_options_show_by(print_command);
        print_verbs(options->command, options->verbs);
    }
}

static void print_page_of_verbs(const char *command, const struct gw_cli_command *verbs)
{
    printf(".SH SYNOPSIS\n\\fBgangway %s\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH COMMANDS\n",
           command);
    gw_options_show_by(print_command);
    print_verbs(command, verbs);
}

void gw_manual_print_command(const struct gw_cli_command *command)
{
    char name[32];
    snprintf(name, sizeof name, "-%s", command->name);
    print_title(name, command->summary);
    gw_options_show_by(print_page);
    gw_cli_show_verbs_by(print_page_of_verbs);
    ask(command);
    print_exit_codes();
    puts(".SH SEE ALSO\n\\fBgangway\\fR(1): all commands, environment variables, files.");
}

/* -- The page ------------------------------------------------------------------------------------
 */

void gw_manual_print(const struct gw_cli_command *commands)
{
    print_title("", "run task graphs, and gangs of training processes");
    puts(".SH SYNOPSIS\n"
         "\\fBgangway\\fR \\fICOMMAND\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]\n"
         ".br\n"
         "\\fBgangway help\\fR [\\fICOMMAND\\fR [\\fIVERB\\fR]]\n"
         ".SH DESCRIPTION\n"
         "Gangway runs commands, and functions of C programs, as tasks, on this\n"
         "machine or on a cluster of several. A gang is N tasks, its ranks, that\n"
         "start together or not at all. Results go to standard output, progress\n"
         "and errors to standard error.\n"
         ".PP\n"
         "\\fBsubmit\\fR, \\fBdispatch\\fR and programs use the running cluster. If there\n"
         "is none, they start a private one on this machine, and stop it at the end. A\n"
         "job that goes on without the terminal (\\fB\\-\\-detach\\fR) needs\n"
         "\\fBgangway up\\fR first.");
    print_commands(commands);
    print_exit_codes();
    puts(".SH ENVIRONMENT\nVariables that gangway and programs with its library read:");
    print_entries(read_variables);
    puts(".PP\nVariables that are set for tasks:");
    print_entries(set_variables);
    puts(".SH FILES");
    print_entries(files);
    puts(".SH EXAMPLES");
    print_entries(examples);
    puts(".SH SEE ALSO\n"
         "The headers in \\fI<gangway/>\\fR describe the library for C programs.\n"
         "\\fBgangway new\\fR writes an example program. Each command has a page of\n"
         "its own: \\fBgangway\\-submit\\fR(1).\n"
         ".PP\n"
         "\\fBssh\\fR(1), \\fBnvidia\\-smi\\fR(1), \\fBpkg\\-config\\fR(1)");
}
