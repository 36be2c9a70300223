/* Tasks that print. `prints SHOW HERE`: with show_output SHOW, a task that prints a line and waits
 * until a line is written to the fifo HERE, then a task that prints to both streams, without a
 * newline at the end, a gang of two, a task that prints much, and one that prints nothing. */
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>

static int waits(struct gw_task *task)
{
    const char *path;
    char byte;
    if (gw_task_arg_str(task, 0, &path) < 0)
        return GW_EINVAL;
    printf("it waits\nand has begun");
    fflush(stdout);
    FILE *fifo = fopen(path, "r");
    if (!fifo || fread(&byte, 1, 1, fifo) != 1)
        return gw_task_fail(task, GW_EIO, "%s cannot be read", path);
    fclose(fifo);
    puts(" a line");
    return gw_task_return(task, gw_nil());
}
GW_TASK(waits);

static int both(struct gw_task *task)
{
    fputs("to error\n", stderr);
    fputs(" 10%\r 99%\rto output", stdout);
    return gw_task_return(task, gw_nil());
}
GW_TASK(both);

static int ranks(struct gw_task *task)
{
    printf("rank %u\n", gw_task_rank(task));
    return gw_task_return(task, gw_nil());
}
GW_TASK(ranks);

static int much(struct gw_task *task)
{
    for (int i = 0; i < 100000; i++)
        printf("%099d\n", i);
    return gw_task_return(task, gw_nil());
}
GW_TASK(much);

static int silent(struct gw_task *task)
{
    return gw_task_return(task, gw_nil());
}
GW_TASK(silent);

static void take(struct gw_future *future)
{
    struct gw_value *value;
    CHECK(gw_future_get(future, 0, &value, &error) == 0);
    gw_value_unref(value);
    gw_future_release(future);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    struct gw_client *client;
    struct gw_future *future;
    if (argc != 3)
        return 2;
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .show_output = atoi(argv[1]));
    CHECK(gw_client_open(&options, &client, &error) == 0);
    CHECK(gw_submit(client, waits, NULL, GW_ARGS(gw_str(argv[2])), &future, &error) == 0);
    take(future);
    CHECK(gw_submit(client, both, NULL, GW_ARGS(), &future, &error) == 0);
    take(future);
    CHECK(gw_dispatch(client, 2, ranks, NULL, GW_ARGS(), &future, &error) == 0);
    take(future);
    CHECK(gw_submit(client, much, NULL, GW_ARGS(), &future, &error) == 0);
    take(future);
    CHECK(gw_submit(client, silent, NULL, GW_ARGS(), &future, &error) == 0);
    take(future);
    gw_client_close(client);
    puts("ok");
    return 0;
}
