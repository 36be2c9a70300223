/* The clients of two_users.py.
 *
 *     two_users many COUNT MICROSECONDS   submits COUNT tasks that keep a CPU busy for so long,
 * says so when the first of them has run, and waits for the end two_users single TRIES submits one
 * task, waits for it, and again; prints for each task the microseconds from the submit to its start
 */
#include "graph/base/clock.h"

#include <gangway/gangway.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 10 }; /* tries that are not printed: they start runners */

static int spin(struct gw_task *task)
{
    const uint64_t begin_ns = gw_clock_now_ns();
    int64_t microseconds;
    const int rc = gw_task_arg_i64(task, 1, &microseconds);
    while (rc == 0 && gw_clock_now_ns() - begin_ns < (uint64_t)microseconds * 1000)
        ;
    return rc < 0 ? rc : gw_task_return(task, gw_nil());
}
GW_TASK(spin);

/* The clock is the same in all processes of this machine. */
static int say_start(struct gw_task *task)
{
    return gw_task_return(task, gw_i64((int64_t)gw_clock_now_ns()));
}
GW_TASK(say_start);

static void many(struct gw_client *client, int64_t count, int64_t microseconds)
{
    struct gw_value *argument = gw_i64(microseconds);
    struct gw_range range = GW_INIT(gw_range, .function = GW_FUNCTION(spin), .end = count,
                                    .arguments = &argument, .argument_count = 1);
    struct gw_range_run *run;
    struct gw_range_result result;
    struct gw_error error;
    int64_t ended = 0;
    int rc = gw_map_range(client, &range, &run, &error);
    while (rc == 0 && (rc = gw_range_next(run, GW_FOREVER, &result, &error)) == 0) {
        if (ended++ == 0)
            printf("running\n");
        (void)fflush(stdout);
        gw_value_unref(result.value);
    }
    if (rc != GW_ENOENT)
        gw_error_exit(&error);
    printf("%" PRId64 " have ended\n", ended);
    gw_range_close(run);
    gw_value_unref(argument);
}

static int64_t wait_of_one(struct gw_client *client)
{
    const int64_t begin_ns = (int64_t)gw_clock_now_ns();
    struct gw_future *future;
    struct gw_value *value;
    struct gw_error error;
    int64_t start_ns;
    if (gw_submit(client, say_start, NULL, GW_ARGS(), &future, &error) < 0 ||
        gw_gather(client, &future, 1, &value, &error) < 0 ||
        gw_value_get_i64(value, &start_ns, &error) < 0)
        gw_error_exit(&error);
    gw_value_unref(value);
    gw_future_release(future);
    return start_ns - begin_ns;
}

int main(int argc, char **argv)
{
    struct gw_client *client;
    struct gw_error error;
    gw_init(&argc, &argv);
    if (argc < 3) {
        fprintf(stderr, "usage: two_users many COUNT MICROSECONDS | single TRIES\n");
        return 2;
    }
    if (gw_client_open(NULL, &client, &error) < 0)
        gw_error_exit(&error);
    if (strcmp(argv[1], "many") == 0 && argc > 3)
        many(client, strtoll(argv[2], NULL, 10), strtoll(argv[3], NULL, 10));
    for (int64_t i = -WARM; strcmp(argv[1], "single") == 0 && i < strtoll(argv[2], NULL, 10); i++) {
        const int64_t wait_ns = wait_of_one(client);
        if (i >= 0)
            printf("%" PRId64 "\n", wait_ns / 1000);
    }
    gw_client_close(client);
    return 0;
}
