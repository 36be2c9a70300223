/* Reads host files. */
#include "client/cli/hosts/host_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024 };

/* Whether a word is a setting of another tool, such as "max_slots=8", which is ignored. */
static bool is_other(const char *word)
{
    static const char *const others[] = {
        "max_slots=", "max-slots=", "sockets=", "cores=", "ifname=", "binding=", "user=", "#"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(word, others[i], strlen(others[i])) == 0)
            return true;
    return false;
}

/* Removes blanks around "=": "a slots = 4" becomes "a slots=4". */
static void join_signs(char *line)
{
    char *to = line;
    for (const char *from = line; *from; from++) {
        if (*from == '=') {
            while (to > line && (to[-1] == ' ' || to[-1] == '\t'))
                to--;
            *to++ = '=';
            while (from[1] == ' ' || from[1] == '\t')
                from++;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Converts a line to "HOST:N". `item` is empty if the line names no host. */
static int read_line(char *line, char *item, size_t bytes, struct gw_error *error)
{
    const char *slots = NULL, *name;
    char *save;
    line[strcspn(line, "#\r\n")] = '\0';
    join_signs(line);
    *item = '\0';
    name = strtok_r(line, " \t", &save);
    if (!name)
        return 0;
    for (const char *word; (word = strtok_r(NULL, " \t", &save));) {
        if (strncmp(word, "slots=", 6) == 0)
            slots = word + 6;
        else if (!is_other(word))
            return gw_error_set(error, GW_EINVAL,
                                "%.80s is not a setting that Gangway knows: a line is like `a`, "
                                "`a:4` or `a slots=4`",
                                word);
    }
    bool v6 = slots && *name != '[' && strchr(name, ':') != strrchr(name, ':');
    if (slots && !v6 && *name != '[' && strchr(name, ':'))
        return gw_error_set(error, GW_EINVAL,
                            "%.80s slots=%.20s: the number of slots is given twice, after the "
                            "colon and after slots=",
                            name, slots);
    (void)snprintf(item, bytes, "%s%s%s%s%s", v6 ? "[" : "", name, v6 ? "]" : "", slots ? ":" : "",
                   slots ? slots : "");
    return strchr(item, ',') ? gw_error_set(error, GW_EINVAL,
                                            "%.80s: a line may have one host only: give each host "
                                            "a line of its own, without commas",
                                            item)
                             : 0;
}

static int add(struct gw_hosts *hosts, const struct gw_hosts_item *host, struct gw_error *error)
{
    struct gw_hosts_item *known;
    GW_ARRAY_EACH (&hosts->items, known)
        if (strcmp(known->name, host->name) == 0) {
            known->slots = (known->slots ? known->slots : 1) + (host->slots ? host->slots : 1);
            return known->slots <= GW_HOSTS_SLOTS_MAX
                       ? 0
                       : gw_error_set(error, GW_EINVAL, "%s has more than %d slots in all",
                                      host->name, GW_HOSTS_SLOTS_MAX);
        }
    if (hosts->items.count == GW_HOSTS_MAX)
        return gw_error_set(error, GW_EINVAL, "more than %d hosts", GW_HOSTS_MAX);
    return gw_array_push(&hosts->items, *host) < 0 ? gw_error_set(error, GW_ENOMEM, "out of memory")
                                                   : 0;
}

static int take_line(struct gw_hosts *hosts, char *line, struct gw_error *error)
{
    char item[LINE_BYTES + 8];
    struct gw_hosts one;
    int rc = strchr(line, '\n') || strlen(line) < LINE_BYTES - 1
                 ? read_line(line, item, sizeof item, error)
                 : gw_error_set(error, GW_EINVAL,
                                "the line has %d bytes or more: give one host on each line",
                                LINE_BYTES - 1);
    if (rc < 0 || !*item)
        return rc;
    rc = gw_hosts_init(&one, item, error);
    if (rc == 0)
        rc = add(hosts, &one.items.items[0], error);
    gw_hosts_deinit(&one);
    return rc;
}

int gw_host_file_read(struct gw_hosts *hosts, const char *path, struct gw_error *error)
{
    char line[LINE_BYTES];
    struct gw_error why;
    size_t bytes = 0;
    int rc = 0;
    *hosts = (struct gw_hosts){0};
    FILE *file = fopen(path, "re");
    if (!file)
        return gw_error_set(error, GW_EIO, "cannot read %.200s: %s", path, strerror(errno));
    for (unsigned number = 1; rc == 0 && fgets(line, sizeof line, file); number++) {
        bytes += strlen(line);
        rc = bytes > GW_HOST_FILE_BYTES_MAX
                 ? gw_error_set(&why, GW_EINVAL,
                                "the file is larger than 1 MiB, so it is not a list of hosts")
                 : take_line(hosts, line, &why);
        if (rc < 0)
            (void)gw_error_set(error, rc, "%.200s, line %u: %s", path, number, why.text);
    }
    if (rc == 0 && ferror(file))
        rc = gw_error_set(error, GW_EIO, "cannot read %.200s: %s", path, strerror(errno));
    if (rc == 0 && hosts->items.count == 0)
        rc = gw_error_set(error, GW_EINVAL,
                          "%.200s names no host: a line is like `a`, `a:4` or `a slots=4`", path);
    (void)fclose(file);
    if (rc < 0)
        gw_hosts_deinit(hosts);
    return rc;
}
