/* Workers on other hosts, which `gangway up --hosts` starts through ssh. */
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
    const char *tokens;          /* the scheduler's token file */
    uint64_t transfer_bytes_max; /* 0: the workers' default */
    bool trust_users;            /* the workers run tasks of all users */
    bool orphan_given;
    uint64_t orphan_ms; /* valid if orphan_given is set */
    pid_t scheduler;    /* if this process ends, the start is given up */
};

/* gw_ssh_launch_prepare makes sure that the token file has a token for workers that are started
 * through ssh. It adds one if necessary. Errors: as gw_token_file_add. */
int gw_ssh_launch_prepare(const char *tokens, struct gw_error *error);

/* gw_ssh_launch_address returns the address (without a port) from which this host sends to the
 * first of `hosts`. Errors: GW_EINVAL with a text that says what to do; GW_EIO. */
int gw_ssh_launch_address(const struct gw_hosts *hosts, char *address, size_t bytes,
                          struct gw_error *error);

/* gw_ssh_launch_start starts a worker on each host and returns when the scheduler has registered
 * all of them. The workers outlive this process. It blocks for at most a minute, and some seconds
 * more if it fails. If it fails, workers that are not registered have ended; on a host that is
 * unreachable by now they end within seconds. Errors: GW_ESTART with the host's name and the last
 * line of output from the host; GW_ECANCELLED: SIGINT, SIGTERM or SIGHUP; GW_ECLOSED: the scheduler
 * has ended; and the errors of gw_token_file_read. */
int gw_ssh_launch_start(const struct gw_ssh_launch_options *options, struct gw_error *error);

#endif
