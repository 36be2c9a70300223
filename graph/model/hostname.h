/* Names of hosts as people and hostfiles write them. */
#ifndef GW_MODEL_HOSTNAME_H
#define GW_MODEL_HOSTNAME_H

#include <stdbool.h>

/* gw_hostname_is returns true if `said` means the host. Upper and lower case are equal. If one of
 * the two names has no domain, the domain of the other is ignored: "gpu1" means "GPU1.example.com",
 * but "gpu1.a.org" does not mean "gpu1.b.org". Addresses must be equal. */
bool gw_hostname_is(const char *host, const char *said);

/* gw_hostname_bare returns the length of a host's name without its domain. For an address it
 * returns the whole length. */
int gw_hostname_bare(const char *host);

#endif
