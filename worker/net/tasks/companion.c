/* Environment and arguments of a companion (worker/companion), a process that runs beside a rank.
 */
#include "worker/net/tasks/companion.h"

#include "graph/base/must.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The environment of the companion itself, which takes over that of the rank if there is one. */
void gw_companion_plain_environment(struct gw_buffer *encoded)
{
    const char *path = getenv("PATH");
    char text[PATH_MAX];
    struct gw_value *list = gw_list();
    (void)snprintf(text, sizeof text, "PATH=%s", path ? path : "/usr/local/bin:/usr/bin:/bin");
    GW_MUST(gw_list_push(list, gw_str(text)));
    GW_MUST(gw_codec_encode(list, NULL, encoded));
    gw_value_unref(list);
}

/* Replaces {pid} and {rank} in an argument. */
static struct gw_value *filled_in(const char *word, pid_t pid, uint32_t rank)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    GW_MUST_PTR(out);
    while (*word)
        if (strncmp(word, "{pid}", 5) == 0)
            word += fprintf(out, "%d", (int)pid) > 0 ? 5 : 0;
        else if (strncmp(word, "{rank}", 6) == 0)
            word += fprintf(out, "%u", rank == GW_RANK_NONE ? 0 : rank) > 0 ? 6 : 0;
        else
            fputc(*word++, out);
    GW_MUST(fclose(out) == 0 ? 0 : GW_ENOMEM);
    struct gw_value *value = gw_str(text);
    free(text);
    return value;
}

/* Builds: gangway companion ROWSxCOLUMNS@PID PROGRAM ARGUMENT... Without a terminal, the size is
 * 0x0. */
int gw_companion_arguments(const struct gw_msg_tunnel_open *open, pid_t pid,
                           struct gw_buffer *encoded, struct gw_error *error)
{
    struct gw_value *given, *list = gw_list();
    char size[48];
    const char *word;
    int rc = gw_codec_decode(open->argv.data, open->argv.size, NULL, &given, error);
    if (rc < 0) {
        gw_value_unref(list);
        return rc;
    }
    (void)snprintf(size, sizeof size, "%ux%u@%d", open->number >> 16, open->number & 0xffff,
                   (int)pid);
    GW_MUST(gw_list_push(list, gw_str("gangway")));
    GW_MUST(gw_list_push(list, gw_str("companion")));
    GW_MUST(gw_list_push(list, gw_str(size)));
    for (size_t i = 0; i < gw_value_count(given) && rc == 0; i++) {
        rc = gw_value_get_str(gw_value_at(given, i), &word, error);
        if (rc == 0)
            GW_MUST(gw_list_push(list, filled_in(word, pid, open->rank)));
    }
    if (rc == 0 && gw_value_count(given) == 0)
        rc = gw_error_set(error, GW_EINVAL, "the name of the program to start is missing");
    if (rc == 0)
        GW_MUST(gw_codec_encode(list, NULL, encoded));
    gw_value_unref(given);
    gw_value_unref(list);
    return rc;
}
