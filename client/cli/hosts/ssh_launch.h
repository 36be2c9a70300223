/* Workers on other hosts, which `gangway up --hosts` starts by ssh. */
#ifndef GW_CLI_SSH_LAUNCH_H
#define GW_CLI_SSH_LAUNCH_H

#include "client/cli/hosts/hosts.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gw_ssh_launch_options {
    const struct gw_hosts *hosts;
    const char *address;         /* HOST:PORT of the scheduler */
    const char *tokens;          /* its token file */
    uint64_t transfer_bytes_max; /* 0: the workers' default */
    bool orphan_given;
    uint64_t orphan_ms; /* where it is given */
    pid_t scheduler;    /* when it ends, nobody is waited for any more */
};

/* gw_ssh_launch_prepare sees to it that the token file has a token for the workers that are started
 * by ssh: the one that it has, or a new one. As gw_token_file_add. */
int gw_ssh_launch_prepare(const char *tokens, struct gw_error *error);

/* gw_ssh_launch_address gives the address (without a port) by which this host sends to the first of
 * `hosts`. GW_EINVAL with a text that says what to do, GW_EIO. */
int gw_ssh_launch_address(const struct gw_hosts *hosts, char *address, size_t bytes,
                          struct gw_error *error);

/* gw_ssh_launch_start starts a worker on each host, and returns when the scheduler has all of them:
 * they outlive this process. Blocks for at most a minute, and some seconds more when it fails: then
 * whatever it started and the scheduler has not has ended, or ends within seconds where the host
 * cannot be reached any more. GW_ESTART with the host's name and the last line that came from
 * there, GW_ECANCELLED (SIGINT, SIGTERM or SIGHUP), GW_ECLOSED (the scheduler has ended), and as
 * gw_token_file_read. */
int gw_ssh_launch_start(const struct gw_ssh_launch_options *options, struct gw_error *error);

#endif
