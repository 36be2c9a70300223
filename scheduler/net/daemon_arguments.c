/* The command line of the scheduler, as `gangway up` and `gangway scheduler` write it. */
#include "scheduler/net/daemon_arguments.h"

#include "scheduler/net/crew.h"

#include <errno.h>
#include <gangway/error.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int parse_number(const char *text, const char *option, uint64_t max, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || n > max) {
        (void)fprintf(stderr, "gangway scheduler: --%s %s is not a number up to %llu\n", option,
                      text, (unsigned long long)max);
        return GW_EINVAL;
    }
    *number = n;
    return 0;
}

#define TAKES(name, letter)                                                                        \
    {                                                                                              \
        name, required_argument, NULL, letter                                                      \
    }
#define FLAG(name, letter)                                                                         \
    {                                                                                              \
        name, no_argument, NULL, letter                                                            \
    }
static const struct option option_table[] = {TAKES("dir", 'd'),
                                             FLAG("default", 'u'),
                                             TAKES("workers", 'w'),
                                             TAKES("slots", 's'),
                                             FLAG("private", 'p'),
                                             TAKES("lifeline", 'l'),
                                             TAKES("ready-fd", 'r'),
                                             TAKES("idle-stop", 'i'),
                                             TAKES("resources", 'R'),
                                             TAKES("peers", 'e'),
                                             TAKES("memory", 'm'),
                                             TAKES("spill-dir", 'S'),
                                             TAKES("pure-keep", 'k'),
                                             TAKES("scatter-memory", 'M'),
                                             TAKES("file-cache", 'f'),
                                             TAKES("keep-files", 'K'),
                                             TAKES("listen", 'L'),
                                             TAKES("checkpoint-max", 'C'),
                                             TAKES("state", 'D'),
                                             FLAG("accept-loss", 'A'),
                                             TAKES("tokens", 't'),
                                             TAKES("orphan-timeout", 'o'),
                                             TAKES("log-max", 'g'),
                                             TAKES("history", 'H'),
                                             FLAG("trust-users", 'U'),
                                             TAKES("accounting", 'a'),
                                             TAKES("accounting-retention", 'T'),
                                             TAKES("audit", 'j'),
                                             TAKES("audit-max", 'b'),
                                             {NULL, 0, NULL, 0}};

/* Parses an option about sizes or times of things to keep. Returns GW_EINVAL if the option is not
 * one of these. */
static int parse_retention(struct gw_daemon_arguments *given, int option)
{
    uint64_t *into = option == 'i'   ? &given->idle_stop_s
                     : option == 'o' ? &given->orphan_ms
                     : option == 'k' ? &given->pure_bytes_max
                     : option == 'M' ? &given->scatter_memory_bytes
                     : option == 'C' ? &given->transfer_bytes_max
                     : option == 'g' ? &given->log_max_bytes
                     : option == 'f' ? &given->file_cache_bytes
                     : option == 'K' ? &given->retained_bytes_max
                     : option == 'H' ? &given->history_jobs
                     : option == 'b' ? &given->audit_bytes_max
                     : option == 'T' ? &given->accounting_retention_ns
                                     : NULL;
    const struct option *named = option_table;
    while (named->name && named->val != option)
        named++;
    const uint64_t most = option == 'o'                    ? GW_ORPHAN_MS_MAX
                          : option == 'i' || option == 'H' ? UINT32_MAX
                                                           : UINT64_MAX;
    return into ? parse_number(optarg, named->name, most, into) : GW_EINVAL;
}

/* Returns where the text of an option is kept, or NULL if the option takes no text. */
static const char **text_of(struct gw_daemon_arguments *given, int option)
{
    return option == 'd'   ? &given->dir
           : option == 'm' ? &given->memory
           : option == 'S' ? &given->spill_dir
           : option == 'e' ? &given->peers
           : option == 'R' ? &given->resources
           : option == 'L' ? &given->listen
           : option == 't' ? &given->tokens
           : option == 'D' ? &given->state
           : option == 'a' ? &given->accounting
           : option == 'j' ? &given->audit
                           : NULL;
}

/* Returns where an option without a value is kept, or NULL. */
static bool *flag_of(struct gw_daemon_arguments *given, int option)
{
    return option == 'u'   ? &given->is_default
           : option == 'p' ? &given->private_cluster
           : option == 'A' ? &given->accept_loss
           : option == 'U' ? &given->trust_users
                           : NULL;
}

int gw_daemon_arguments_parse(struct gw_daemon_arguments *given, int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t workers = 0, slots = cores > 0 ? (uint64_t)cores : 1, lifeline = 0, ready = 0;
    int rc = 0, option;
    given->lifeline_fd = given->ready_fd = -1;
    optind = 1;
    while (rc >= 0 && (option = getopt_long(argc, argv, "", option_table, NULL)) >= 0) {
        switch (option) {
        case 'w':
            rc = parse_number(optarg, "workers", 1024, &workers);
            break;
        case 's':
            rc = parse_number(optarg, "slots", 4096, &slots);
            break;
        case 'l':
            rc = parse_number(optarg, "lifeline", INT_MAX, &lifeline);
            given->lifeline_fd = (int)lifeline;
            break;
        case 'r':
            rc = parse_number(optarg, "ready-fd", INT_MAX, &ready);
            given->ready_fd = (int)ready;
            break;
        default:
            if (text_of(given, option))
                *text_of(given, option) = optarg;
            else if (flag_of(given, option))
                *flag_of(given, option) = true;
            else
                rc = parse_retention(given, option);
        }
    }
    if (rc >= 0 && (!given->dir || optind != argc || slots == 0)) {
        (void)fprintf(stderr,
                      "gangway scheduler: needs --dir DIR and at least one slot, and takes no "
                      "other arguments; `gangway up` starts it with the right options\n");
        return GW_EINVAL;
    }
    given->workers = (uint32_t)workers;
    given->slots = slots < workers ? (uint32_t)workers : (uint32_t)slots;
    return rc;
}
