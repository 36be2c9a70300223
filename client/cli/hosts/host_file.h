/* Files of hosts, as mpirun, mpiexec, horovodrun and batch systems have them: a host a line. */
#ifndef GW_CLI_HOST_FILE_H
#define GW_CLI_HOST_FILE_H

#include "client/cli/hosts/hosts.h"

enum { GW_HOST_FILE_BYTES_MAX = 1 << 20 };

/* gw_host_file_read reads one into a list: "a", "a:4" or "a slots=4" a line, and behind a # what is
 * no host. A host of several lines has the sum of them, where one without a number is one. What
 * else a line says of a host (max_slots=8) is for others. 0; GW_EINVAL with a text that names the
 * line, GW_EIO, GW_ENOMEM: *hosts is empty then. */
int gw_host_file_read(struct gw_hosts *hosts, const char *path, struct gw_error *error);

#endif
