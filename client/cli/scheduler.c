/* `gangway scheduler`: the daemon itself, in the foreground, for service managers. `gangway up`
 * starts it in the background with what it needs, and waits at --ready-fd until it is ready. */
#include "scheduler/net/daemon.h"

#include "client/address.h"
#include "client/argv.h"
#include "client/cli/cli.h"
#include "client/cli/daemon_options.h"
#include "graph/base/clock.h"

#include <stdint.h>
#include <string.h>

struct typed {
    const char *dir, *listen, *tokens, *state;
    uint32_t workers;
    uint64_t idle_stop_ns, pure_keep_bytes, keep_files_bytes, scatter_memory_bytes;
    struct gw_daemon_options daemon;
};

static int start(struct typed *typed)
{
    char dir[PATH_MAX];
    struct gw_argv argv = {0};
    struct gw_error error;
    if (gw_cli_check_folder("--state", typed->state, &error) < 0 ||
        gw_cli_check_folder("--dir", typed->dir, &error) < 0 ||
        gw_daemon_options_read(&typed->daemon, &error) < 0) {
        gw_cli_say("gangway scheduler: %s", error.text);
        return GW_EXIT_USAGE;
    }
    if (!typed->dir && gw_address_default_dir(dir, &error) < 0)
        return gw_cli_error(&error);
    gw_argv_add(&argv, "scheduler");
    gw_argv_add_text(&argv, "--dir", typed->dir ? typed->dir : dir);
    gw_daemon_options_add(&typed->daemon, &argv);
    gw_argv_add_text(&argv, "--listen", typed->listen);
    gw_argv_add_text(&argv, "--tokens", typed->tokens);
    gw_argv_add_text(&argv, "--state", typed->state);
    gw_argv_add_number(&argv, "--workers", typed->workers);
    if (typed->idle_stop_ns)
        gw_argv_add_number(&argv, "--idle-stop",
                           (typed->idle_stop_ns + GW_NS_PER_S - 1) / GW_NS_PER_S);
    if (typed->scatter_memory_bytes)
        gw_argv_add_number(&argv, "--scatter-memory", typed->scatter_memory_bytes);
    /* The daemon takes 0 for its default; nothing is so small as one byte. */
    if (typed->pure_keep_bytes != UINT64_MAX)
        gw_argv_add_number(&argv, "--pure-keep",
                           typed->pure_keep_bytes ? typed->pure_keep_bytes : 1);
    if (typed->keep_files_bytes != UINT64_MAX)
        gw_argv_add_number(&argv, "--keep-files",
                           typed->keep_files_bytes ? typed->keep_files_bytes : 1);
    /* getopt may change the order of words, never the words */
    return gw_scheduler_main(argv.count, (char **)(uintptr_t)argv.words);
}

/* Whether it was started by `up`, or by a client, which know the daemon's own options. */
static bool is_started(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--ready-fd") == 0)
            return true;
    return false;
}

int gw_cli_scheduler(int argc, char **argv)
{
    struct typed typed = {.pure_keep_bytes = UINT64_MAX,
                          .keep_files_bytes = UINT64_MAX,
                          .daemon.orphan_ns = UINT64_MAX};
    int first, exit_code;
    const struct gw_option table[] = {
        {"listen", 0, GW_OPTION_TEXT, &typed.listen, "HOST:PORT",
         "workers and clients on other machines reach it\nat this address, by TLS, with tokens\n"
         "(`gangway token create`); without a port it\ntakes a free one and prints it"},
        {"tokens", 0, GW_OPTION_TEXT, &typed.tokens, "FILE",
         "the token file (default:\n~/.config/gangway/tokens)"},
        {"state", 0, GW_OPTION_TEXT, &typed.state, "DIR",
         "where detached jobs are kept for its next life\n(default: in --dir)"},
        {"dir", 0, GW_OPTION_TEXT, &typed.dir, "DIR",
         "its socket and files; made, for this user only\n(default: where this user's programs "
         "look)"},
        {"workers", 'w', GW_OPTION_U32, &typed.workers, "K",
         "workers to start on this machine\n(default: 0; see `gangway worker --help`)"},
        {"slots", 's', GW_OPTION_COUNT, &typed.daemon.slots, "N",
         "slots of those, in all (default: the cores)"},
        {"resources", 0, GW_OPTION_TEXT, &typed.daemon.resources, "NAME=N,...",
         "what tasks may ask for by name, like\nlicense=1,tape=2; the first of those has it"},
        {"peers", 0, GW_OPTION_TEXT, &typed.daemon.peers, "HOST",
         "those exchange results over TLS at this\naddress (default: as descriptors)"},
        GW_MEMORY_OPTIONS(typed.daemon.memory),
        {"idle-stop", 0, GW_OPTION_DURATION, &typed.idle_stop_ns, "TIME",
         "end when unused for so long, like 30m\n(default: 0, never)"},
        {"pure-keep", 0, GW_OPTION_SIZE, &typed.pure_keep_bytes, "SIZE",
         "results of pure tasks that are kept for who\nasks next (64M; 0: none)"},
        {"scatter-memory", 0, GW_OPTION_SIZE, &typed.scatter_memory_bytes, "SIZE",
         "values that clients scatter, at the scheduler\n(default, also for 0: half of this "
         "machine's\nmemory)"},
        {"file-cache", 0, GW_OPTION_SIZE, &typed.daemon.file_cache_bytes, "SIZE",
         "shipped files that are kept (4G, also for 0)"},
        {"keep-files", 0, GW_OPTION_SIZE, &typed.keep_files_bytes, "SIZE",
         "what tasks with --ship left, kept by those\nworkers for `gangway get` (4G; 0: nothing)"},
        {"carry-max", 0, GW_OPTION_SIZE, &typed.daemon.carry_max_bytes, "SIZE",
         "checkpoints up to this are carried to, and\ncopied at, those workers (8G, also for 0)"},
        {"log-max", 0, GW_OPTION_SIZE, &typed.daemon.log_max_bytes, "SIZE",
         "its log, where stderr is a file that is appended\nto, and theirs: larger, they begin "
         "anew, and the\none before is kept, as .1 (64M, also for 0)"},
        {"orphan-timeout", 0, GW_OPTION_DURATION, &typed.daemon.orphan_ns, "TIME",
         "if it dies, what those run goes on for so long,\nfor its next life (10m; 0: it ends, "
         "too)"},
        {0},
    };
    const struct gw_options options = {
        .command = "scheduler",
        .arguments = "",
        .summary = "Be a scheduler, in the foreground: for service managers. `gangway up` starts\n"
                   "one in the background, with a worker. SIGTERM and `gangway down` end it.",
        .table = table,
    };
    if (is_started(argc, argv))
        return gw_scheduler_main(argc, argv);
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    return start(&typed);
}
