/* Compares names of hosts. A machine may call itself "gpu1" while a hostfile says
 * "gpu1.example.com", or the reverse. */
#include "graph/model/hostname.h"

#include <string.h>
#include <strings.h>

int gw_hostname_bare(const char *host)
{
    size_t all = strlen(host);
    bool address = strchr(host, ':') || strspn(host, "0123456789.") == all;
    return (int)(address ? all : strcspn(host, "."));
}

bool gw_hostname_is(const char *host, const char *said)
{
    size_t bare = (size_t)gw_hostname_bare(host), bare_said = (size_t)gw_hostname_bare(said);
    if (strcasecmp(host, said) == 0)
        return true;
    return (!host[bare] || !said[bare_said]) && bare == bare_said && bare > 0 &&
           strncasecmp(host, said, bare) == 0;
}
