/* The unix socket of a cluster's folder: one scheduler serves it at a time. */
#ifndef GW_NET_LOCAL_H
#define GW_NET_LOCAL_H

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

enum { GW_LOCAL_PATH_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path) };

struct gw_local_place_options {
    const char *dir;     /* the cluster's folder */
    const char *sockets; /* where the socket is made, and `dir` has a link to it; NULL: in `dir` */
};

struct gw_local {
    char path[GW_LOCAL_PATH_BYTES];
    char link[PATH_MAX]; /* "": none */
    dev_t device;        /* of the socket's file */
    ino_t inode;
    bool was_there; /* an earlier scheduler's: its cluster was not taken down */
    int fd;         /* that listens; -1: somebody took it */
};

/* What lies where the socket was made. */
enum gw_local_place {
    GW_LOCAL_OURS,   /* or nobody can tell */
    GW_LOCAL_GONE,   /* nothing: who looks for this scheduler finds none */
    GW_LOCAL_OTHERS, /* another's file */
};

/* gw_local_open listens at dir/scheduler.sock, a socket or a link to one. 0; GW_EEXIST where
 * somebody serves there, GW_EINVAL, GW_EIO: with a text, and there is nothing to close. */
int gw_local_open(const struct gw_local_place_options *options, struct gw_local *local,
                  struct gw_error *error);

/* gw_local_close closes what nobody took, and removes the socket's file and the link, if that is
 * ours still. stays: the cluster does, and so do both: clients wait for its next scheduler because
 * something is left that nobody serves. */
void gw_local_close(struct gw_local *local, bool stays);

/* gw_local_take gives the listening socket, the caller's from now on. */
int gw_local_take(struct gw_local *local);

/* gw_local_look tells what lies at the path now. It never waits for anybody. */
enum gw_local_place gw_local_look(const struct gw_local *local);

#endif
