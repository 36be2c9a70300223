/* Checks requests. They may come from a worker that was taken over. */
#include "worker/launcher/request.h"

#include <stdbool.h>
#include <string.h>

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name(const char *name)
{
    if (!is_letter_or_digit(name[0]))
        return false;
    for (const char *c = name; *c; c++)
        if (!is_letter_or_digit(*c) && *c != '.' && *c != '_' && *c != '-')
            return false;
    return strlen(name) <= GW_LAUNCHER_NAME_MAX;
}

int gw_launch_request_read(const void *packet, size_t bytes, struct gw_launch_request *request,
                           struct gw_error *error)
{
    struct gw_launch_request read;
    if (bytes != sizeof read)
        return gw_error_set(error, GW_EPROTO, "a request has %zu bytes, not %zu", sizeof read,
                            bytes);
    memcpy(&read, packet, sizeof read);
    if (read.version != GW_LAUNCHER_VERSION)
        return gw_error_set(error, GW_EVERSION,
                            "the launcher has version %d of its protocol, the worker version %u: "
                            "install one version of Gangway",
                            GW_LAUNCHER_VERSION, read.version);
    if (read.kind >= GW_LAUNCH_KINDS)
        return gw_error_set(error, GW_EPROTO, "the request wants a process of an unknown kind");
    if (!memchr(read.user, '\0', sizeof read.user) || !is_name(read.user))
        return gw_error_set(error, GW_EPROTO, "the request has no valid name of a user");
    *request = read;
    return 0;
}
