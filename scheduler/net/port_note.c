/* The note is the file `listens` in the state folder. It holds "HOST:PORT", numeric. */
#include "scheduler/net/port_note.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns true if an address such as "HOST:PORT" or "[V6]:PORT" names a port other than 0. */
static bool names_port(const char *listen)
{
    const char *colon = strrchr(listen, ':'), *bracket = strrchr(listen, ']');
    if (!colon || (bracket ? colon < bracket : strchr(listen, ':') != colon))
        return false;
    return strtol(colon + 1, NULL, 10) != 0;
}

static bool read_note(const char *state, char place[GW_ENDPOINT_TEXT_MAX])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/listens", state) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    const bool there = file && fgets(place, GW_ENDPOINT_TEXT_MAX, file);
    if (file)
        (void)fclose(file);
    if (there)
        place[strcspn(place, "\n")] = '\0';
    return there && names_port(place);
}

static bool listens(const char *place, char actual[GW_ENDPOINT_TEXT_MAX])
{
    int fd;
    if (gw_endpoint_listen(place, &fd, actual, NULL) < 0)
        return false;
    close(fd);
    return true;
}

enum gw_port_note gw_port_note_find(const char *state, const char *listen,
                                    char place[GW_ENDPOINT_TEXT_MAX])
{
    char actual[GW_ENDPOINT_TEXT_MAX], noted[GW_ENDPOINT_TEXT_MAX];
    if (names_port(listen) || !read_note(state, noted) || !listens(listen, actual))
        return GW_PORT_NONE;
    const size_t host = (size_t)(strrchr(actual, ':') - actual) + 1;
    if (strncmp(actual, noted, host) != 0)
        return GW_PORT_NONE;
    strcpy(place, noted);
    return listens(noted, actual) ? GW_PORT_FREE : GW_PORT_TAKEN;
}

int gw_port_note_store(const char *state, const char *address, struct gw_error *error)
{
    char path[PATH_MAX], beside[PATH_MAX + 8];
    (void)snprintf(path, sizeof path, "%s/listens", state);
    (void)snprintf(beside, sizeof beside, "%s.new", path);
    FILE *file = fopen(beside, "we");
    bool wrote = file && fprintf(file, "%s\n", address) > 0;
    if ((file && fclose(file) != 0) || !wrote || rename(beside, path) < 0)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    return 0;
}
