/* What people type behind `submit` and `dispatch`. */
#ifndef GW_CLI_LAUNCH_OPTIONS_H
#define GW_CLI_LAUNCH_OPTIONS_H

#include <gangway/graph.h>

#include "client/cli/launch/nodes.h"
#include "client/cli/launch/wrap.h"
#include "client/cli/lib/options.h"

struct gw_launch_options {
    bool gang, detached, json, quiet;
    struct gw_task_options task; /* as it goes to gw_graph_command */
    const char *name, *cwd;
    const char *checkpoint_dir; /* where its checkpoint is brought at the end; NULL: nowhere */
    const char **command;       /* NULL-terminated, in argv; empty with from_json */

    struct gw_nodes nodes;                     /* of dispatch: where the ranks go */
    bool pty;                                  /* of submit: at this terminal */
    const char *array, *each_line, *from_json; /* many commands at once; one at most */
    const char *after, *after_any;             /* jobs that it comes after; one of them at most */

    /* As they were typed. */
    const char *gpus, *prefer, *signal, *prolog, *container, *runtime, *bind, *mpi;
    const char *in; /* "none", "-" or a file; NULL: not said */
    struct gw_option_texts env, annotations, ship;
    char *annotated;     /* as one list; owned */
    const char *key;     /* of a detached job, by which it may be submitted again; NULL: none */
    struct gw_wrap wrap; /* what command is then; empty where nothing is around it */
};

/* gw_launch_options_init reads argv; gang: as `dispatch` does, else as `submit`. True: go on, and
 * deinit afterwards. False: exit with *exit_code; what is wrong was printed. All texts are borrowed
 * from argv. */
bool gw_launch_options_init(struct gw_launch_options *options, bool gang, int argc, char **argv,
                            int *exit_code);
void gw_launch_options_deinit(struct gw_launch_options *options);

/* gw_launch_options_env gives this process's environment as the library would pass it, with --env
 * over it, NULL-terminated, to be freed with free(); NULL where nothing is to be changed. The texts
 * are borrowed. 0 or GW_ENOMEM. */
int gw_launch_options_env(const struct gw_launch_options *options, const char ***env);

#endif
