/* Hosts and how many slots each gives, as they are typed: "a:4,bob@b:4,[::1]:2,c". */
#ifndef GW_CLI_HOSTS_H
#define GW_CLI_HOSTS_H

#include "graph/base/array.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum { GW_HOSTS_MAX = 256, GW_HOSTS_NAME_BYTES = 256, GW_HOSTS_SLOTS_MAX = 4096 };

struct gw_hosts_item {
    char name[GW_HOSTS_NAME_BYTES]; /* HOST or USER@HOST, as ssh takes it: without brackets */
    uint32_t slots;                 /* 0: unsaid */
};

struct gw_hosts {
    GW_ARRAY(struct gw_hosts_item) items; /* as typed; each host is there once */
};

/* gw_hosts_init reads a list. 0; GW_EINVAL with a text that says what to type instead, GW_ENOMEM:
 * *hosts is empty then. */
int gw_hosts_init(struct gw_hosts *hosts, const char *text, struct gw_error *error);
void gw_hosts_deinit(struct gw_hosts *hosts);

/* gw_hosts_address is HOST of USER@HOST; borrowed. */
const char *gw_hosts_address(const struct gw_hosts_item *item);

#endif
