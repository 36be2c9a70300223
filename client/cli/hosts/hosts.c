/* Parses lists of hosts. Only names that ssh cannot take for an option, and that need no quotes in
 * any shell, are accepted. */
#include "client/cli/hosts/hosts.h"

#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";

/* Copies the name of a host, without the brackets of "[V6]:4". Returns the text after the name, or
 * NULL if the name is malformed. */
static const char *parse_name(const char *item, struct gw_hosts_item *host)
{
    const char *at = strchr(item, '@'), *open = at ? at + 1 : item;
    size_t before = (size_t)(open - item), length;
    bool bracketed = *open == '[';
    if (bracketed)
        length = strspn(open + 1, "0123456789abcdefABCDEF:.");
    else
        length = strcspn(open, ":");
    const char *name = open + bracketed, *rest = name + length;
    if (length == 0 || before + length >= sizeof host->name || *item == '-' || *name == '-' ||
        (bracketed && *rest++ != ']') || (at && before == 1) || strspn(item, letters) < before ||
        (!bracketed && strspn(name, letters) < length) || memchr(name, '@', length))
        return NULL;
    memcpy(host->name, item, before);
    memcpy(host->name + before, name, length);
    host->name[before + length] = '\0';
    return rest;
}

static int parse_item(const char *item, struct gw_hosts_item *host, struct gw_error *error)
{
    *host = (struct gw_hosts_item){0};
    if (!*item)
        return gw_error_set(error, GW_EINVAL, "a host is missing: hosts look like a:4,b:4");
    const char *rest = parse_name(item, host);
    if (!rest)
        return gw_error_set(error, GW_EINVAL,
                            "%.80s is not a host: HOST:SLOTS or USER@HOST:SLOTS, like a:4; put an "
                            "IPv6 address in brackets",
                            item);
    if (!*rest)
        return 0;
    size_t digits = *rest == ':' ? strspn(rest + 1, "0123456789") : 0;
    for (size_t i = 1; i <= digits && host->slots <= GW_HOSTS_SLOTS_MAX; i++)
        host->slots = host->slots * 10 + (uint32_t)(rest[i] - '0');
    if (digits == 0 || rest[1 + digits] || host->slots < 1 || host->slots > GW_HOSTS_SLOTS_MAX)
        return gw_error_set(error, GW_EINVAL, "%.80s: the number after the colon must be 1 to %d",
                            item, GW_HOSTS_SLOTS_MAX);
    return 0;
}

static int add(struct gw_hosts *hosts, const struct gw_hosts_item *host, struct gw_error *error)
{
    const struct gw_hosts_item *other;
    GW_ARRAY_EACH (&hosts->items, other)
        if (strcmp(other->name, host->name) == 0)
            return gw_error_set(error, GW_EINVAL,
                                "%s is listed twice: list it once, with all its slots", host->name);
    if (hosts->items.count == GW_HOSTS_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "more than %d hosts: start workers on the others by `gangway worker "
                            "--connect`",
                            GW_HOSTS_MAX);
    return gw_array_push(&hosts->items, *host) < 0 ? gw_error_set(error, GW_ENOMEM, "out of memory")
                                                   : 0;
}

int gw_hosts_init(struct gw_hosts *hosts, const char *text, struct gw_error *error)
{
    *hosts = (struct gw_hosts){0};
    int rc = 0;
    for (bool more = true; more && rc == 0;) {
        char item[GW_HOSTS_NAME_BYTES + 16];
        struct gw_hosts_item host;
        size_t length = strcspn(text, ",");
        more = text[length] == ',';
        if (length >= sizeof item) {
            rc = gw_error_set(error, GW_EINVAL,
                              "the name of a host, %.40s..., is longer than %d bytes", text,
                              GW_HOSTS_NAME_BYTES - 1);
            break;
        }
        memcpy(item, text, length);
        item[length] = '\0';
        text += length + more;
        rc = parse_item(item, &host, error);
        if (rc == 0)
            rc = add(hosts, &host, error);
    }
    if (rc < 0)
        gw_hosts_deinit(hosts);
    return rc;
}

void gw_hosts_deinit(struct gw_hosts *hosts)
{
    gw_array_deinit(&hosts->items);
}

const char *gw_hosts_address(const struct gw_hosts_item *item)
{
    const char *at = strchr(item->name, '@');
    return at ? at + 1 : item->name;
}
