/* Host files, as mpirun, mpiexec, horovodrun and batch systems use them: one host on each line. */
#ifndef GW_CLI_HOST_FILE_H
#define GW_CLI_HOST_FILE_H

#include "client/cli/hosts/hosts.h"

enum { GW_HOST_FILE_BYTES_MAX = 1 << 20 };

/* gw_host_file_read reads a host file into a list. A line is "a", "a:4" or "a slots=4"; text after
 * # is a comment. If a host has several lines, their slots are added; a line without a number
 * counts as 1. Settings of other tools (max_slots=8) are ignored. Returns 0; GW_EINVAL with a text
 * that names the line; GW_EIO; or GW_ENOMEM. After an error *hosts is empty. */
int gw_host_file_read(struct gw_hosts *hosts, const char *path, struct gw_error *error);

#endif
