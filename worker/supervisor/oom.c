/* Reads how many processes the kernel has killed for memory (/proc/vmstat, also in containers), and
 * sets which it kills first (/proc/self/oom_score_adj). */
#include "worker/supervisor/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MORE = 500, MOST = 1000 };

uint64_t gw_oom_kills(void)
{
    static char text[64 * 1024];
    int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    size_t bytes = 0;
    ssize_t got;
    while (bytes < sizeof text - 1 && (got = read(fd, text + bytes, sizeof text - 1 - bytes)) > 0)
        bytes += (size_t)got;
    close(fd);
    text[bytes] = '\0';
    const char *line = strstr(text, "\noom_kill ");
    return line ? strtoull(line + strlen("\noom_kill "), NULL, 10) : 0;
}

void gw_oom_score_open(struct gw_oom_score *score)
{
    char text[16] = "";
    score->fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (score->fd < 0)
        return;
    ssize_t bytes = read(score->fd, text, sizeof text - 1);
    const long own = bytes > 0 ? strtol(text, NULL, 10) : 0;
    (void)snprintf(score->own, sizeof score->own, "%d", (int)own);
    (void)snprintf(score->started, sizeof score->started, "%d",
                   (int)(own + MORE > MOST ? MOST : own + MORE));
}

static void put(const struct gw_oom_score *score, const char *text)
{
    const int errnum = errno; /* keeps the errno of the start */
    if (score->fd >= 0)
        (void)!pwrite(score->fd, text, strlen(text), 0);
    errno = errnum;
}

void gw_oom_score_raise(const struct gw_oom_score *score)
{
    put(score, score->started);
}

void gw_oom_score_lower(const struct gw_oom_score *score)
{
    put(score, score->own);
}
