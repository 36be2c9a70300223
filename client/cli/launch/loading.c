/* Prints the progress of an upload. Each line overwrites the last one and is padded with spaces.
 * The line is shorter than the terminal is wide, so a carriage return is enough to begin it again.
 */
#include "client/cli/launch/loading.h"

#include "client/cli/lib/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { FIRST_MS = 1000, NEXT_MS = 250, LINE_BYTES = 256, NAME_MIN = 4 };

/* Writes "1.2 of 3.0 GiB", with both sizes in the unit of the larger one. */
static void format_share(uint64_t done, uint64_t total, char *text, size_t text_bytes)
{
    char whole[32];
    double part = (double)done;
    gw_units_format_size(total, whole, sizeof whole);
    for (uint64_t unit = total; unit >= 1024; unit /= 1024)
        part /= 1024;
    (void)snprintf(text, text_bytes, total < 1024 || part >= 100 ? "%.0f of %s" : "%.1f of %s",
                   part, whole);
}

/* Writes the name of the upload, cut to `text_bytes`. */
static void format_name(const struct gw_loading *loading, char *text, size_t text_bytes)
{
    const char *first = loading->shipped[0], *colon = strrchr(first, ':');
    const int length = colon && colon != first ? (int)(colon - first) : (int)strlen(first);
    if (loading->shipped_count > 1)
        (void)snprintf(text, text_bytes, "%.*s and %zu more", length, first,
                       loading->shipped_count - 1);
    else
        (void)snprintf(text, text_bytes, "%.*s", length, first);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

/* Writes the progress in at most `columns` columns. If there is not enough room, the name is left
 * out. */
static void format_line(const struct gw_loading *loading, const struct gw_shipping *shipping,
                        size_t columns, char line[LINE_BYTES])
{
    const char *verb = shipping->reading ? "reading" : "sending";
    char share[64], name[LINE_BYTES / 2];
    if (shipping->reading)
        gw_units_format_size(shipping->done_bytes, share, sizeof share);
    else
        format_share(shipping->done_bytes, shipping->total_bytes, share, sizeof share);
    const size_t rest = strlen(verb) + strlen(" : ") + strlen(share);
    const size_t left = columns > rest ? columns - rest : 0;
    format_name(loading, name, left < sizeof name ? left + 1 : sizeof name);
    (void)snprintf(line, LINE_BYTES, left >= NAME_MIN ? "%s %s: %s" : "%s%.0s %s", verb, name,
                   share);
    if (columns < strlen(line))
        line[columns] = '\0';
}

/* Overwrites the present line. An empty line removes it. */
static void show(struct gw_loading *loading, const char *line)
{
    const size_t length = strlen(line);
    const size_t blank = loading->shown > length ? loading->shown - length : 0;
    fprintf(stderr, "\r%s%*s%s", line, (int)blank, "", *line ? "" : "\r");
    fflush(stderr);
    loading->shown = length;
}

/* Number of columns of the terminal, without the last. */
static size_t columns_of_terminal(void)
{
    struct winsize window;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1U
                                                                               : 79;
}

static void *run(void *arg)
{
    struct gw_loading *loading = arg;
    struct gw_shipping shipping;
    char line[LINE_BYTES];
    for (long next = FIRST_MS; !gw_background_thread_sleep(&loading->later, next); next = NEXT_MS) {
        if (!gw_client_shipping(loading->client, &shipping))
            continue;
        format_line(loading, &shipping, columns_of_terminal(), line);
        show(loading, line);
    }
    if (loading->shown)
        show(loading, "");
    return NULL;
}

void gw_loading_init(struct gw_loading *loading, struct gw_client *client,
                     const char *const *shipped, size_t shipped_count)
{
    const char *term = getenv("TERM");
    *loading =
        (struct gw_loading){.client = client, .shipped = shipped, .shipped_count = shipped_count};
    const bool shows =
        shipped_count > 0 && isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
    gw_background_thread_init(&loading->later, shows ? run : NULL, loading);
}

void gw_loading_deinit(struct gw_loading *loading)
{
    gw_background_thread_deinit(&loading->later);
}
