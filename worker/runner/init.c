/* gw_init: detects if this process is a runner, and handles the options of every Gangway program.
 */
#include "worker/runner/function.h"
#include "worker/runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each option sets a variable. The user may also set the variable in the environment. */
static const struct option {
    const char *name, *variable, *fixed, *help;
} options[] = {
    {"--gangway-address", "GANGWAY_ADDRESS", NULL, "=ADDRESS  the cluster to use"},
    {"--gangway-inline", "GANGWAY_INLINE", "1", "           run tasks inside this process"},
    {"--gangway-log", "GANGWAY_LOG", NULL, "=LEVEL        error, warn, info or debug"},
};
enum { OPTIONS = sizeof options / sizeof *options };

static void print_help(void)
{
    puts("Options of every Gangway program:");
    for (int i = 0; i < OPTIONS; i++)
        printf("  %s%s\n", options[i].name, options[i].help);
    puts("  --gangway-functions        list its task functions\n"
         "  --gangway-help             this");
}

static void print_functions(void)
{
    for (size_t i = 0; i < gw_function_count(); i++)
        puts(gw_function_at(i)->name);
}

static void apply_option(const char *argument)
{
    if (strcmp(argument, "--gangway-help") == 0 || strcmp(argument, "--gangway-functions") == 0) {
        if (strcmp(argument, "--gangway-help") == 0)
            print_help();
        else
            print_functions();
        exit(EXIT_SUCCESS);
    }
    for (int i = 0; i < OPTIONS; i++) {
        size_t length = strlen(options[i].name);
        if (strncmp(argument, options[i].name, length) != 0)
            continue;
        const char *value = argument[length] == '=' ? argument + length + 1 : NULL;
        if ((argument[length] == '\0' && options[i].fixed) || (value && !options[i].fixed)) {
            setenv(options[i].variable, value ? value : options[i].fixed, 1);
            return;
        }
    }
    fprintf(stderr, "gangway: unknown or incomplete option %s (see --gangway-help)\n", argument);
    exit(2);
}

static void take_options(int *argc, char **argv)
{
    int retained = 1;
    bool ended = false;
    for (int i = 1; i < *argc; i++) {
        ended = ended || strcmp(argv[i], "--") == 0;
        if (!ended && strncmp(argv[i], "--gangway-", 10) == 0)
            apply_option(argv[i]);
        else
            argv[retained++] = argv[i];
    }
    if (*argc > 0) {
        argv[retained] = NULL;
        *argc = retained;
    }
}

/* Only this process may use the descriptor: programs that a task starts inherit neither the
 * descriptor nor the variable, which would make runners of them. */
static int take_runner_fd(void)
{
    const char *text = getenv("GANGWAY_RUNNER_FD");
    if (!text)
        return -1;
    char *end;
    errno = 0;
    long fd = strtol(text, &end, 10);
    if (errno || end == text || *end || fd < 0 || fd > INT_MAX ||
        fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0) {
        fprintf(stderr, "gangway: GANGWAY_RUNNER_FD=%s is not an open descriptor\n", text);
        exit(2);
    }
    unsetenv("GANGWAY_RUNNER_FD");
    return (int)fd;
}

void gw_init(int *argc, char ***argv)
{
    int fd = take_runner_fd();
    if (fd >= 0)
        gw_runner_main(fd);
    if (argc && argv && *argv)
        take_options(argc, *argv);
}
