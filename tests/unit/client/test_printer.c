/* Printing the output of tasks: complete if somebody reads it, and no endless wait if nobody does.
 */
#include "tests/unit/unit.h"

#include "client/services/printer.h"
#include "graph/base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 << 10 };

/* During a test, the standard streams are a pipe. */
struct world {
    struct gw_client client; /* has only a printer */
    int retained[2], pipe[2];
    pthread_t thread;
    FILE *copy; /* the bytes read */
    char *text;
    size_t bytes;
};

static struct world *new_world(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    fflush(stdout);
    assert_int_equal(pipe(w->pipe), 0);
    for (int i = 0; i < 2; i++) {
        w->retained[i] = dup(STDOUT_FILENO + i);
        dup2(w->pipe[1], STDOUT_FILENO + i);
    }
    close(w->pipe[1]);
    return w;
}

static void *read_all(void *arg)
{
    struct world *w = arg;
    char buffer[4096];
    ssize_t got;
    while ((got = read(w->pipe[0], buffer, sizeof buffer)) > 0)
        fwrite(buffer, 1, (size_t)got, w->copy);
    return NULL;
}

static void start_reader(struct world *w)
{
    w->copy = open_memstream(&w->text, &w->bytes);
    pthread_create(&w->thread, NULL, read_all, w);
}

/* Restores the streams; by then a reader has read everything. */
static void restore(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        dup2(w->retained[i], STDOUT_FILENO + i);
        close(w->retained[i]);
    }
    if (w->copy) {
        pthread_join(w->thread, NULL);
        (void)fclose(w->copy);
    }
    close(w->pipe[0]);
}

static void free_world(struct world *w)
{
    free(w->text);
    free(w);
}

/* Adds a line of `bytes` times x. */
static void take(struct world *w, uint32_t bytes)
{
    static char text[PIECE_BYTES];
    memset(text, 'x', sizeof text);
    gw_printer_take(&w->client,
                    &(struct gw_msg_printed){
                        .stream = 1, .rank = GW_RANK_NONE, .job = 1, .data = {text, bytes}});
}

static uint64_t printed(const struct world *w)
{
    uint64_t count = 0;
    for (size_t i = 0; i < w->bytes; i++)
        count += w->text[i] == 'x';
    return count;
}

static uint64_t left_out(const struct world *w)
{
    uint64_t sum = 0;
    unsigned long long bytes;
    for (const char *line = w->text; line; line = strchr(line + 1, '\n'))
        if (sscanf(line, "\ngangway: %llu bytes that tasks printed are left out", &bytes) == 1)
            sum += bytes;
    return sum;
}

static void printer_close_times_out_if_stdout_is_not_read(void **state)
{
    struct world *w = new_world();
    (void)state;
    for (int i = 0; i < 8; i++)
        take(w, PIECE_BYTES);
    gw_printer_close(&w->client, 20 * GW_NS_PER_MS);
    const bool is_free = ftrylockfile(stdout) == 0;
    if (is_free)
        funlockfile(stdout);
    const size_t pending = __fpending(stdout); /* exit() would wait for its reader again */
    restore(w);
    assert_null(w->client.printer);
    assert_true(is_free);
    assert_int_equal(pending, 0);
    free_world(w);
}

/* A thread of the program that is blocked in printf holds the lock. */
static void printer_close_times_out_if_stdout_is_locked(void **state)
{
    struct world *w = new_world();
    (void)state;
    flockfile(stdout);
    take(w, 16);
    gw_printer_close(&w->client, 20 * GW_NS_PER_MS);
    funlockfile(stdout);
    restore(w);
    assert_null(w->client.printer);
    free_world(w);
}

static void printer_close_writes_all_pending_output(void **state)
{
    struct world *w = new_world();
    (void)state;
    for (int i = 0; i < 8; i++)
        take(w, PIECE_BYTES);
    start_reader(w);
    gw_printer_close(&w->client, 10 * GW_NS_PER_S);
    restore(w);
    assert_int_equal(printed(w), 8 * PIECE_BYTES);
    free_world(w);
}

static void printer_reports_how_many_bytes_were_dropped(void **state)
{
    enum { PIECES = 80 };
    struct world *w = new_world();
    (void)state;
    for (int i = 0; i < PIECES; i++)
        take(w, PIECE_BYTES);
    start_reader(w);
    gw_printer_close(&w->client, 10 * GW_NS_PER_S);
    restore(w);
    assert_true(left_out(w) > 0);
    assert_int_equal(printed(w) + left_out(w), PIECES * PIECE_BYTES);
    free_world(w);
}

static void printer_limit_counts_memory_of_short_lines(void **state)
{
    enum { LINES = 100000 };
    struct world *w = new_world();
    (void)state;
    for (int i = 0; i < LINES; i++)
        take(w, 1);
    start_reader(w);
    gw_printer_close(&w->client, 10 * GW_NS_PER_S);
    restore(w);
    assert_in_range(printed(w), 1, LINES * 6 / 10);
    assert_int_equal(printed(w) + left_out(w), LINES);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printer_close_times_out_if_stdout_is_not_read),
        cmocka_unit_test(printer_close_times_out_if_stdout_is_locked),
        cmocka_unit_test(printer_close_writes_all_pending_output),
        cmocka_unit_test(printer_reports_how_many_bytes_were_dropped),
        cmocka_unit_test(printer_limit_counts_memory_of_short_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
