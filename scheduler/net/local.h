/* The unix socket of a cluster's folder: one scheduler serves it at a time. */
#ifndef GW_NET_LOCAL_H
#define GW_NET_LOCAL_H

#include <gangway/error.h>
#include <sys/un.h>

enum { GW_LOCAL_PATH_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path) };

/* gw_local_listen listens at dir/scheduler.sock, whose path it gives: the caller removes it. 0;
 * GW_EEXIST where somebody serves there, GW_EINVAL, GW_EIO: with a text. */
int gw_local_listen(const char *dir, char path[GW_LOCAL_PATH_BYTES], int *fd,
                    struct gw_error *error);

#endif
