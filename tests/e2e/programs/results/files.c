/* Files in the folders of tasks, from C. `files FOLDER`: a folder with in.txt ("one") and
 * tree/deep/leaf ("leaf"); prints "ok". */
#include "tests/e2e/programs/check.h"

#include <errno.h>
#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gw_client *client;

/* (name): returns the content of the file, and then overwrites it. */
static int look(struct gw_task *task)
{
    const char *name;
    char text[64] = "";
    if (gw_task_arg_str(task, 0, &name) < 0)
        return GW_EINVAL;
    FILE *file = fopen(name, "r+");
    if (!file)
        return gw_task_fail(task, GW_ENOENT, "%s: %s", name, strerror(errno));
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    text[bytes] = '\0';
    rewind(file);
    fputs("spoilt", file);
    fclose(file);
    return gw_task_return(task, gw_str(text));
}
GW_TASK(look);

static int where(struct gw_task *task)
{
    char path[4096];
    return gw_task_return(task, gw_str(getcwd(path, sizeof path) ? path : ""));
}
GW_TASK(where);

/* Creates an actor, which stays in its folder. */
static int keeper(struct gw_task *task)
{
    static int state;
    return gw_task_actor(task, &state, NULL);
}
GW_TASK(keeper);

static void must_say(struct gw_future *future, const char *wanted)
{
    struct gw_value *value;
    const char *text;
    CHECK(gw_future_get(future, 0, &value, &error) == 0);
    CHECK(gw_value_get_str(value, &text, &error) == 0);
    if (strcmp(text, wanted) != 0) {
        fprintf(stderr, "\"%s\" instead of \"%s\"\n", text, wanted);
        exit(1);
    }
    gw_value_unref(value);
    gw_future_release(future);
}

/* One slot, so one runner: a task's changes of its files are invisible for the next task. */
static void test_runner(const char *in, const char *tree)
{
    const char *const files[] = {in, tree, NULL};
    struct gw_future *futures[3];
    char here[4096];
    CHECK(getcwd(here, sizeof here));
    CHECK(gw_submit(client, look, GW_OPTIONS(.files = files), GW_ARGS(gw_str("in.txt")),
                    &futures[0], &error) == 0);
    CHECK(gw_submit(client, look, GW_OPTIONS(.files = files), GW_ARGS(gw_str("in.txt")),
                    &futures[1], &error) == 0);
    CHECK(gw_submit(client, where, NULL, GW_ARGS(), &futures[2], &error) == 0);
    must_say(futures[2], here);
    must_say(futures[0], "one");
    must_say(futures[1], "one");
    CHECK(gw_submit(client, look, GW_OPTIONS(.files = files), GW_ARGS(gw_str("tree/deep/leaf")),
                    &futures[0], &error) == 0);
    must_say(futures[0], "leaf");
    CHECK(gw_submit(client, look, GW_OPTIONS(.files = files), GW_ARGS(gw_str("no")), &futures[0],
                    &error) == 0);
    CHECK(gw_future_wait(futures[0], UINT64_MAX) == 0);
    CHECK(gw_future_get(futures[0], 0, NULL, &error) == GW_ETASK);
    gw_future_release(futures[0]);
    CHECK(gw_submit(client, where, NULL, GW_ARGS(), &futures[0], &error) ==
          0); /* also after a failed task */
    must_say(futures[0], here);
}

static void test_gang(const char *in)
{
    const char *const files[] = {in, NULL};
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *future;
    gw_node gang = gw_call(graph, look, GW_GANG(.ranks = 2, .files = files), gw_str("in.txt"));
    CHECK(gw_client_submit(client, graph, gang, &future, &error) == 0);
    must_say(future, "one");
    gw_graph_free(graph);
}

static void test_actor(const char *in)
{
    const char *const files[] = {in, NULL};
    struct gw_actor *actor;
    struct gw_future *calls[2];
    CHECK(gw_actor_new(client, keeper, GW_ACTOR(.task = GW_OPTIONS(.files = files)), GW_ARGS(),
                       &actor, &error) == 0);
    CHECK(gw_actor_call(actor, look, NULL, GW_ARGS(gw_str("in.txt")), &calls[0], &error) == 0);
    CHECK(gw_actor_call(actor, look, NULL, GW_ARGS(gw_str("in.txt")), &calls[1], &error) == 0);
    must_say(calls[0], "one");
    must_say(calls[1], "spoilt"); /* the folder belongs to the actor */
    gw_actor_free(actor);
}

static void test_wrong(const char *in)
{
    static const struct {
        const char *text, *other;
        int code;
    } wrong[] = {
        {"/no/such/file", NULL, GW_ENOENT},
        {"/dev/null", NULL, GW_EINVAL},
        {"", NULL, GW_EINVAL},
        {":x", NULL, GW_EINVAL},
        {"..", NULL, GW_EINVAL},
        {NULL, "..", GW_EINVAL},
        {NULL, "a/../../b", GW_EINVAL},
        {NULL, "/b", GW_EINVAL},
        {NULL, "", GW_EINVAL},
    };
    struct gw_future *future;
    char text[4200];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const files[] = {text, NULL};
        (void)snprintf(text, sizeof text, "%s%s%s", wrong[i].text ? wrong[i].text : in,
                       wrong[i].other ? ":" : "", wrong[i].other ? wrong[i].other : "");
        if (!wrong[i].text && !*wrong[i].other)
            strcat(text, ":");
        int rc = gw_submit(client, where, GW_OPTIONS(.files = files), GW_ARGS(), &future, &error);
        if (rc != wrong[i].code) {
            fprintf(stderr, "%s: %d %s\n", text, rc, error.text);
            exit(1);
        }
    }
    const char *const twice[] = {in, in, NULL};
    CHECK(gw_submit(client, where, GW_OPTIONS(.files = twice), GW_ARGS(), &future, &error) ==
          GW_EEXIST);
    CHECK(strstr(error.text, "both have the name in.txt"));
}

/* Inside this process there are no separate folders. */
static void test_one_folder(const char *in)
{
    const char *const files[] = {in, NULL};
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *future;
    struct gw_actor *actor;
    gw_node gang = gw_call(graph, look, GW_GANG(.ranks = 2, .files = files), gw_str("in.txt"));
    CHECK(gw_client_submit(client, graph, gang, &future, &error) == GW_ENOTSUP);
    gw_graph_free(graph);
    CHECK(gw_actor_new(client, keeper, GW_ACTOR(.task = GW_OPTIONS(.files = files)), GW_ARGS(),
                       &actor, &error) == GW_ENOTSUP);
}

int main(int argc, char **argv)
{
    char in[4096], tree[4096];
    gw_init(&argc, &argv);
    if (argc != 2)
        return 2;
    (void)snprintf(in, sizeof in, "%s/in.txt", argv[1]);
    (void)snprintf(tree, sizeof tree, "%s/tree", argv[1]);
    CHECK(gw_client_open(GW_CLIENT_OPTIONS(.slots = 1), &client, &error) == 0);
    test_runner(in, tree);
    test_wrong(in);
    if (getenv("GANGWAY_INLINE")) {
        test_one_folder(in);
    } else {
        test_actor(in);
        test_gang(in); /* last, because the cluster grows for it */
    }
    gw_client_close(client);
    printf("ok\n");
    return 0;
}
