/* The unix socket in a cluster's folder. One scheduler at a time serves it. */
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
    const char *sockets; /* folder of the socket, to which `dir` has a link; NULL: `dir` */
};

struct gw_local {
    char path[GW_LOCAL_PATH_BYTES];
    char link[PATH_MAX]; /* "": no link */
    dev_t device;        /* device and inode of the socket's file */
    ino_t inode;
    bool was_there; /* the socket of an earlier scheduler existed: its cluster was not shut down */
    int fd;         /* listening socket; -1: taken by gw_local_take */
};

/* What is at the path of the socket now. */
enum gw_local_place {
    GW_LOCAL_OURS,   /* the socket of this scheduler, or it cannot be determined */
    GW_LOCAL_GONE,   /* nothing: clients cannot find this scheduler */
    GW_LOCAL_OTHERS, /* another file */
};

/* gw_local_open listens at dir/scheduler.sock, which is a socket or a link to one. Returns
 * GW_EEXIST if another process serves the socket, GW_EINVAL or GW_EIO, with a text. After an error
 * there is nothing to close. */
int gw_local_open(const struct gw_local_place_options *options, struct gw_local *local,
                  struct gw_error *error);

/* gw_local_close closes the socket unless gw_local_take gave it away, and removes the socket file
 * and the link if they are still those of this scheduler. If `stays` is set, the cluster continues:
 * both files stay, so that clients wait for the next scheduler. */
void gw_local_close(struct gw_local *local, bool stays);

/* gw_local_take gives the listening socket to the caller, who owns it. */
int gw_local_take(struct gw_local *local);

/* gw_local_look checks what is at the path now. It never blocks. */
enum gw_local_place gw_local_look(const struct gw_local *local);

#endif
