/* A command inside of what is to stand around it: a prolog's shell, a container. */
#ifndef GW_CLI_WRAP_H
#define GW_CLI_WRAP_H

#include <stdbool.h>
#include <stddef.h>

struct gw_wrap_options {
    const char *const *command; /* NULL-terminated */
    const char *prolog;         /* NULL: none */
    const char *container;      /* the image; NULL: none */
    const char *runtime;        /* of containers, "docker", "podman" or "apptainer"; NULL: what
                                   there is */
    const char *const *names;   /* "NAME=..." that the container gets besides what ranks get */
    size_t name_count;
};

struct gw_wrap {
    const char **argv;   /* to be run instead; NULL-terminated */
    const char **epilog; /* to be run behind it; NULL: nothing */
    char *names;         /* in there */
    char *variable; /* of its environment, by which gw_wrap_beside knows of the container; NULL:
                       there is none */
};

/* gw_wrap_init makes the words, which borrow all texts. 0, or GW_ENOMEM and nothing to deinit. */
int gw_wrap_init(struct gw_wrap *wrap, const struct gw_wrap_options *options);
void gw_wrap_deinit(struct gw_wrap *wrap);

/* gw_wrap_beside makes the words of a command that runs beside one that gw_wrap_init has made:
 * where that is in a container, in there. terminal: it has one. What is made is as there. */
int gw_wrap_beside(struct gw_wrap *wrap, const char *const *command, bool terminal);

/* gw_wrap_runtime_is_known tells whether a name is one of those. */
int gw_wrap_runtime_is_known(const char *runtime);

#endif
