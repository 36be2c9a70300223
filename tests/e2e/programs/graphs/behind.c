/* Short tasks behind a task that waits, on a cluster without runners. `behind GO`: a row of three
 * calls, the last of which waits until a line is written to the fifo GO; the tasks of a map that is
 * submitted right afterwards end nevertheless, although they were sent to its runner. Prints "ok".
 */
#include "tests/e2e/programs/check.h"

#include <fcntl.h>
#include <gangway/gangway.h>
#include <string.h>
#include <unistd.h>

enum { BEHIND = 8 };

static struct gw_client *client;

/* (number, fifo or ""): returns the number once a line was written to the fifo. */
static int step(struct gw_task *task)
{
    int64_t number;
    const char *go;
    char byte;
    if (gw_task_arg_i64(task, 0, &number) < 0 || gw_task_arg_str(task, 1, &go) < 0)
        return GW_EINVAL;
    int fd = *go ? open(go, O_RDONLY | O_CLOEXEC) : -1;
    if (*go && (fd < 0 || read(fd, &byte, 1) != 1))
        return gw_task_fail(task, GW_EIO, "nobody came");
    if (fd >= 0)
        close(fd);
    return gw_task_return(task, gw_i64(number));
}
GW_TASK(step);

static int make_args(size_t i, struct gw_value **args, void *arg)
{
    const int64_t *first = arg;
    args[0] = gw_i64(*first + (int64_t)i);
    args[1] = gw_str("");
    return 0;
}

static void map(int64_t first, size_t count, struct gw_future **futures)
{
    const struct gw_map_call call =
        GW_INIT(gw_map_call, .function = GW_FUNCTION(step), .count = count, .arg_count = 2,
                .make_args = make_args, .arg = &first);
    CHECK(gw_map(client, &call, futures, &error) == 0);
}

static void check(struct gw_future **futures, size_t count, int64_t first)
{
    for (size_t i = 0; i < count; i++) {
        struct gw_value *value;
        int64_t n;
        CHECK(gw_future_get(futures[i], 0, &value, &error) == 0);
        CHECK(gw_value_get_i64(value, &n, &error) == 0);
        CHECK(n == first + (int64_t)i);
        gw_value_unref(value);
        gw_future_release(futures[i]);
    }
}

int main(int argc, char **argv)
{
    struct gw_future *behind[BEHIND], *gate;
    gw_init(&argc, &argv);
    CHECK(argc == 2);
    CHECK(gw_client_open(GW_CLIENT_OPTIONS(.must_exist = true), &client, &error) == 0);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, step, NULL, gw_i64(1), gw_str(""));
    node = gw_call(graph, step, NULL, gw_i64(2), gw_str(""), gw_result(node));
    node = gw_call(graph, step, NULL, gw_i64(7), gw_str(argv[1]), gw_result(node));
    CHECK(gw_client_submit(client, graph, node, &gate, &error) == 0);
    gw_graph_free(graph);
    map(1000, BEHIND, behind);
    check(behind, BEHIND, 1000);
    int fd = open(argv[1], O_WRONLY | O_CLOEXEC);
    CHECK(write(fd, "x", 1) == 1);
    close(fd);
    check(&gate, 1, 7);
    gw_client_close(client);
    printf("ok\n");
    return 0;
}
