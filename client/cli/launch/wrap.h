/* Wraps a command in the shell of a prolog, or in a container. */
#ifndef GW_CLI_WRAP_H
#define GW_CLI_WRAP_H

#include <stdbool.h>
#include <stddef.h>

struct gw_wrap_options {
    const char *const *command; /* NULL-terminated */
    const char *prolog;         /* NULL: none */
    const char *container;      /* image; NULL: no container */
    const char *runtime; /* container runtime: "docker", "podman" or "apptainer"; NULL: the first
                            that the worker has */
    const char *const *names; /* "NAME=...": further variables for the container */
    size_t name_count;
};

struct gw_wrap {
    const char **argv;   /* the wrapped command; NULL-terminated */
    const char **epilog; /* command to run after it; NULL: none */
    char *names;         /* string that argv borrows */
    char *variable;      /* an environment variable for the task, in which gw_wrap_beside finds the
                            container; NULL: the task has no container */
};

/* gw_wrap_init wraps a command. The words borrow all texts. Returns 0, or GW_ENOMEM, after which
 * gw_wrap_deinit is not needed. */
int gw_wrap_init(struct gw_wrap *wrap, const struct gw_wrap_options *options);
void gw_wrap_deinit(struct gw_wrap *wrap);

/* gw_wrap_beside makes a command that runs beside a command of gw_wrap_init, inside its container
 * if it has one. `terminal` is true if the command has a terminal. Ownership and errors are as for
 * gw_wrap_init. */
int gw_wrap_beside(struct gw_wrap *wrap, const char *const *command, bool terminal);

/* gw_wrap_runtime_is_known returns true for the name of a supported container runtime. */
int gw_wrap_runtime_is_known(const char *runtime);

#endif
