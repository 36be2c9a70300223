/* A program whose options structs have another size than those of the library: the test changes the
 * headers. `set` sets the last byte of the options of a task. LATER is a field that a later version
 * has in the group for GPUs. */
#include <gangway/gangway.h>
#include <stdio.h>
#include <string.h>

static int answer(struct gw_task *task)
{
    return gw_task_return(task, gw_i64(42));
}
GW_TASK(answer);

/* Options, and memory behind them that is not theirs. */
static struct {
    struct gw_client_options options;
    unsigned char behind[256];
} client_options = {.options = GW_INIT(gw_client_options, .slots = 1)};
static struct {
    struct gw_task_options options;
    unsigned char behind[256];
} task_options = {.options = GW_INIT(gw_task_options, .name = "answer", .retries = 1)};

int main(int argc, char **argv)
{
    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *value;
    struct gw_error error;
    int64_t n;
    gw_init(&argc, &argv);
    memset(client_options.behind, 0xff, sizeof client_options.behind);
    memset(task_options.behind, 0xff, sizeof task_options.behind);
    if (argc > 1)
        memset((char *)&task_options.options + sizeof task_options.options - 1, 1, 1);
#ifdef LATER
    task_options.options.gpu.LATER = 1;
#endif
    if (gw_client_open(&client_options.options, &client, &error) < 0 ||
        gw_submit(client, answer, &task_options.options, GW_ARGS(), &future, &error) < 0 ||
        gw_future_get(future, 0, &value, &error) < 0 || gw_value_get_i64(value, &n, &error) < 0)
        gw_error_exit(&error);
    printf("client %zu task %zu result %lld\n", sizeof client_options.options,
           sizeof task_options.options, (long long)n);
    gw_value_unref(value);
    gw_future_release(future);
    gw_client_close(client);
    return 0;
}
