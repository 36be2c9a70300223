/* Lists of hosts and their slots, as users type them: "a:4,bob@b:4,[::1]:2,c". */
#ifndef GW_CLI_HOSTS_H
#define GW_CLI_HOSTS_H

#include "graph/base/array.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum { GW_HOSTS_MAX = 256, GW_HOSTS_NAME_BYTES = 256, GW_HOSTS_SLOTS_MAX = 4096 };

struct gw_hosts_item {
    char name[GW_HOSTS_NAME_BYTES]; /* HOST or USER@HOST, as ssh accepts it, without brackets */
    uint32_t slots;                 /* 0: not given */
};

struct gw_hosts {
    GW_ARRAY(struct gw_hosts_item) items; /* in the order of the list; each host occurs once */
};

/* gw_hosts_init parses a list of hosts. Returns 0; GW_EINVAL with a text that says what to type; or
 * GW_ENOMEM. After an error *hosts is empty. */
int gw_hosts_init(struct gw_hosts *hosts, const char *text, struct gw_error *error);
void gw_hosts_deinit(struct gw_hosts *hosts);

/* gw_hosts_address returns HOST of USER@HOST; borrowed. */
const char *gw_hosts_address(const struct gw_hosts_item *item);

#endif
