/* Names of hosts, as people and hostfiles write them. */
#ifndef GW_MODEL_HOSTNAME_H
#define GW_MODEL_HOSTNAME_H

#include <stdbool.h>

/* gw_hostname_is tells whether what was said means the host: case does not count, and where one of
 * the two has no domain, nor does the other's ("gpu1", "GPU1.example.com"; not "gpu1.a.org" and
 * "gpu1.b.org"). Addresses mean themselves. */
bool gw_hostname_is(const char *host, const char *said);

/* gw_hostname_bare gives the length of a host's name without its domain; of an address all. */
int gw_hostname_bare(const char *host);

#endif
