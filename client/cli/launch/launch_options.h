/* Options of `submit` and `dispatch`. */
#ifndef GW_CLI_LAUNCH_OPTIONS_H
#define GW_CLI_LAUNCH_OPTIONS_H

#include <gangway/graph.h>

#include "client/cli/launch/nodes.h"
#include "client/cli/launch/wrap.h"
#include "client/cli/lib/options.h"

struct gw_launch_options {
    bool gang, detached, json, quiet;
    struct gw_task_options task; /* options as gw_graph_command takes them */
    const char *name, *cwd;
    const char *checkpoint_dir; /* folder for the checkpoint at the end of the job; NULL: none */
    const char **command;       /* NULL-terminated, in argv; empty with --from-json */

    struct gw_nodes nodes;                     /* dispatch: where the ranks are placed */
    bool pty;                                  /* submit: run at this terminal */
    const char *array, *each_line, *from_json; /* many commands; at most one of these is set */
    const char *account, *queue;
    const char *notify;            /* command of a shell for the end of the job; NULL: none */
    const char *after, *after_any; /* jobs that have to end before; at most one of these is set */

    /* The following are the texts that were typed. */
    const char *gpus, *prefer, *signal, *prolog, *container, *runtime, *bind, *mpi;
    const char *in; /* "none", "-" or a file; NULL: not given */
    struct gw_option_texts env, annotations, metrics, ship;
    char *annotated;     /* annotations as one list; owned */
    char *metric_names;  /* metrics as one list; owned */
    const char *key;     /* idempotency key of a detached job; NULL: none */
    struct gw_wrap wrap; /* the wrapped command; empty without a prolog and a container */
};

/* gw_launch_options_init parses argv. `gang` is true for `dispatch`. If it returns true, go on, and
 * call gw_launch_options_deinit afterwards. If it returns false, exit with *exit_code; an error was
 * printed. Texts are borrowed from argv. */
bool gw_launch_options_init(struct gw_launch_options *options, bool gang, int argc, char **argv,
                            int *exit_code);
void gw_launch_options_deinit(struct gw_launch_options *options);

/* gw_launch_options_names checks the names of options, and that -- is before the command. The
 * options are those of `own`, whose synonyms count first, and those of submit or dispatch. It
 * reorders argv. If it returns false, exit with *exit_code; an error was printed. */
bool gw_launch_options_names(const struct gw_options *own, bool gang, int argc, char **argv,
                             int *exit_code);

/* gw_launch_options_env makes the environment of the command: the variables of this process that
 * tasks inherit, and those of --env. It is NULL-terminated; the caller frees the array, and the
 * strings are borrowed. *env is NULL if no option changes the environment. Returns 0 or GW_ENOMEM.
 */
int gw_launch_options_env(const struct gw_launch_options *options, const char ***env);

#endif
