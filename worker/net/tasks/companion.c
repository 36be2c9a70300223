/* Environment and arguments of a companion (worker/companion), a process that runs beside a rank.
 */
#include "worker/net/tasks/companion.h"

#include "graph/base/clock.h"
#include "graph/base/must.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ENVIRON_BYTES_MAX = 1 << 20 };

/* Reads the environment with which a process was started. Returns -1 if there is no such process.
 */
static ssize_t read_environment(pid_t pid, char *text, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t bytes = 0;
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && bytes < size) {
        got = read(fd, text + bytes, size - bytes);
        bytes += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    return got < 0 ? -1 : (ssize_t)bytes;
}

/* Returns true if the companion must get this variable of the rank's environment. It must not get
 * GANGWAY_RUNNER_FD: the companion, and each program that calls gw_init, would behave like that
 * runner. */
static bool goes_along(const char *entry)
{
    static const char runner[] = "GANGWAY_RUNNER_FD=";
    return strncmp(entry, runner, sizeof runner - 1) != 0;
}

/* A process has no environment for a moment during exec, and a rank in a container calls exec
 * several times. So an empty environment is read again. */
int gw_companion_environment(pid_t pid, struct gw_buffer *encoded, struct gw_error *error)
{
    enum { TRIES = 40 };
    const struct timespec moment = {.tv_nsec = 500 * (long)GW_NS_PER_US};
    char *text = malloc(ENVIRON_BYTES_MAX + 1);
    GW_MUST_PTR(text);
    ssize_t bytes = read_environment(pid, text, ENVIRON_BYTES_MAX);
    for (int i = 0; bytes == 0 && i < TRIES; i++) {
        (void)nanosleep(&moment, NULL);
        bytes = read_environment(pid, text, ENVIRON_BYTES_MAX);
    }
    if (bytes <= 0) {
        free(text);
        return gw_error_set(error, GW_ENOENT, "the rank has ended");
    }
    text[bytes] = '\0';
    struct gw_value *list = gw_list();
    for (size_t at = 0; at < (size_t)bytes; at += strlen(text + at) + 1)
        if (goes_along(text + at))
            GW_MUST(gw_list_push(list, gw_str(text + at)));
    GW_MUST(gw_codec_encode(list, NULL, encoded));
    gw_value_unref(list);
    free(text);
    return 0;
}

/* The environment for a task that has ended: only PATH. */
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

/* Builds: gangway companion ROWSxCOLUMNS PROGRAM ARGUMENT... Without a terminal, the size is 0x0.
 */
int gw_companion_arguments(const struct gw_msg_tunnel_open *open, pid_t pid,
                           struct gw_buffer *encoded, struct gw_error *error)
{
    struct gw_value *given, *list = gw_list();
    char size[32];
    const char *word;
    int rc = gw_codec_decode(open->argv.data, open->argv.size, NULL, &given, error);
    if (rc < 0) {
        gw_value_unref(list);
        return rc;
    }
    (void)snprintf(size, sizeof size, "%ux%u", open->number >> 16, open->number & 0xffff);
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
