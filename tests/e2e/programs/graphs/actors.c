/* Actors on a real cluster: state, order, futures as arguments, crashes and restarts, names, and
 * which client holds which actor. `actors WHAT [ARGUMENT]`; prints "ok". */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct gw_client *client;

struct tally {
    int64_t n, last;
    char path[256]; /* written to when the actor is released; "": nothing */
};

static void let_go(void *state)
{
    struct tally *tally = state;
    for (clock_t begun = clock(); strstr(tally->path, "slow");)
        if (clock() - begun > CLOCKS_PER_SEC / 4) /* it takes a while */
            break;
    FILE *file = *tally->path ? fopen(tally->path, "w") : NULL;
    if (file) {
        fprintf(file, "%lld\n", (long long)tally->n);
        fclose(file);
    }
    free(tally);
}

/* (start, path): creates the actor. */
static int tally(struct gw_task *task)
{
    struct tally *state = calloc(1, sizeof *state);
    const char *path;
    if (!state || gw_task_arg_i64(task, 0, &state->n) < 0 || gw_task_arg_str(task, 1, &path) < 0) {
        free(state);
        return GW_EINVAL;
    }
    snprintf(state->path, sizeof state->path, "%s", path);
    int rc = gw_task_actor(task, state, let_go);
    if (rc < 0)
        free(state);
    return rc;
}
GW_TASK(tally);

/* (by): adds, and returns the sum. */
static int tally_add(struct gw_task *task)
{
    struct tally *state = gw_task_state(task);
    int64_t by;
    if (gw_task_arg_i64(task, 0, &by) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64(state->n += by));
}
GW_TASK(tally_add);

/* (number): fails if it is not the next number. */
static int tally_next(struct gw_task *task)
{
    struct tally *state = gw_task_state(task);
    int64_t number;
    if (gw_task_arg_i64(task, 0, &number) < 0)
        return GW_EINVAL;
    if (number != ++state->last)
        return gw_task_fail(task, GW_EMISMATCH, "%lld came after %lld", (long long)number,
                            (long long)state->last - 1);
    return 0;
}
GW_TASK(tally_next);

static int tally_pid(struct gw_task *task)
{
    printf("asked for its process\n");
    return gw_task_return(task, gw_i64(getpid()));
}
GW_TASK(tally_pid);

static int tally_crash(struct gw_task *task)
{
    (void)task;
    fprintf(stderr, "going down\n");
    fflush(stderr);
    return raise(SIGKILL);
}
GW_TASK(tally_crash);

static int tally_hang(struct gw_task *task)
{
    (void)task;
    return pause(); /* until it is ended */
}
GW_TASK(tally_hang);

/* (bytes): returns their size. */
static int tally_size(struct gw_task *task)
{
    const void *data;
    size_t bytes;
    if (gw_task_arg_bytes(task, 0, &data, &bytes) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64((int64_t)bytes));
}
GW_TASK(tally_size);

/* An ordinary task: (n) -> 2 n. */
static int twice(struct gw_task *task)
{
    int64_t n;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64(2 * n));
}
GW_TASK(twice);

/* (job of an actor, by): calls the actor from inside a task. */
static int from_task(struct gw_task *task)
{
    int64_t job, by;
    struct gw_actor *actor;
    struct gw_future *future;
    struct gw_value *value;
    struct gw_error *own = gw_task_error(task);
    if (gw_task_arg_i64(task, 0, &job) < 0 || gw_task_arg_i64(task, 1, &by) < 0)
        return GW_EINVAL;
    struct gw_client *inside = gw_task_client(task, own);
    int rc = inside ? gw_actor_find(inside, NULL, (uint64_t)job, &actor, own) : GW_EIO;
    if (rc < 0)
        return rc;
    rc = gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(by)), &future, own);
    if (rc == 0) {
        rc = gw_future_get(future, 0, &value, own);
        gw_future_release(future);
    }
    gw_actor_free(actor);
    return rc < 0 ? rc : gw_task_return(task, value);
}
GW_TASK(from_task);

/* (name of an actor): calls the actor by a client of its own. */
static int from_client(struct gw_task *task)
{
    const char *name;
    struct gw_client *other;
    struct gw_actor *actor;
    struct gw_error *own = gw_task_error(task);
    if (gw_task_arg_str(task, 0, &name) < 0)
        return GW_EINVAL;
    int rc = gw_client_open(NULL, &other, own);
    if (rc < 0)
        return rc;
    rc = gw_actor_find(other, name, 0, &actor, own);
    if (rc == 0) {
        rc = gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(7)), NULL, own);
        gw_actor_free(actor);
    }
    gw_client_close(other);
    return rc;
}
GW_TASK(from_client);

/* Creates the actor ./box, and waits until the event ./done is set. */
static int own_box(struct gw_task *task)
{
    struct gw_actor *actor, *found;
    struct gw_error *own = gw_task_error(task);
    struct gw_client *inside = gw_task_client(task, own);
    int rc = inside ? gw_actor_new(inside, tally, GW_ACTOR(.name = "./box"),
                                   GW_ARGS(gw_i64(100), gw_str("")), &actor, own)
                    : GW_EIO;
    if (rc < 0)
        return rc;
    rc = gw_actor_find(inside, "./box", 0, &found, own);
    if (rc == 0)
        gw_actor_free(found);
    if (rc == 0)
        rc = gw_event_set(inside, "./made", own);
    if (rc == 0)
        rc = gw_event_wait(inside, "./done", GW_FOREVER, own);
    gw_actor_free(actor);
    return rc;
}
GW_TASK(own_box);

static int64_t get(struct gw_future *future)
{
    const int64_t n = subject_i64(future, 0);
    gw_future_release(future);
    return n;
}

static struct gw_actor *make(const struct gw_actor_options *options, const char *path)
{
    struct gw_actor *actor;
    CHECK(gw_actor_new(client, tally, options, GW_ARGS(gw_i64(100), gw_str(path)), &actor,
                       &error) == 0);
    return actor;
}

static void state(void)
{
    struct gw_actor *actor = make(NULL, "");
    struct gw_future *future, *other;
    for (int64_t i = 1; i <= 3; i++) {
        CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(i)), &future, &error) == 0);
        CHECK(get(future) == 100 + i * (i + 1) / 2);
    }
    static char large[3 << 20];
    CHECK(gw_actor_call(actor, tally_size, NULL, GW_ARGS(gw_bytes(large, sizeof large)), &future,
                        &error) == 0);
    CHECK(get(future) == sizeof large);

    /* arguments are futures of tasks and of calls; results are futures of calls */
    CHECK(gw_submit(client, twice, NULL, GW_ARGS(gw_i64(7)), &other, &error) == 0);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_result_of(other)), &future, &error) ==
          0);
    struct gw_future *after;
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_result_of(future)), &after, &error) ==
          0);
    CHECK(get(future) == 120);
    CHECK(get(after) == 240);
    gw_future_release(other);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(0)), &future, &error) == 0);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, twice, NULL, gw_result_future(graph, future));
    CHECK(gw_client_submit(client, graph, node, &other, &error) == 0);
    gw_graph_free(graph);
    CHECK(get(other) == 480);
    gw_future_release(future);

    struct gw_value *value;
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_str("x")), &future, &error) == 0);
    CHECK(gw_future_get(future, 0, &value, &error) == GW_ETASK && strstr(error.text, "tally_add"));
    gw_future_release(future);
    gw_actor_free(actor);
}

static void order(void)
{
    enum { CALLS = 20000 };
    struct gw_actor *actor = make(NULL, "");
    static struct gw_future *futures[CALLS];
    for (int64_t i = 0; i < CALLS; i++)
        CHECK(gw_actor_call(actor, tally_next, NULL, GW_ARGS(gw_i64(i + 1)),
                            i % 7 ? &futures[i] : NULL, &error) == 0);
    gw_actor_free(actor); /* the calls continue */
    for (int i = 0; i < CALLS; i++) {
        struct gw_value *value;
        if (i % 7 == 0)
            continue;
        CHECK(gw_future_get(futures[i], 0, &value, &error) == 0);
        gw_value_unref(value);
        gw_future_release(futures[i]);
    }
}

/* The running call fails; the other calls continue if the actor may be restarted. */
static void crash(void)
{
    struct gw_actor *actor = make(GW_ACTOR(.restarts = 1), "");
    struct gw_future *before, *down, *after, *late;
    struct gw_value *value;
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(1)), &before, &error) == 0);
    CHECK(get(before) == 101);
    CHECK(gw_actor_call(actor, tally_crash, NULL, GW_ARGS(), &down, &error) == 0);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(2)), &after, &error) == 0);
    CHECK(gw_future_get(down, 0, &value, &error) == GW_ECRASHED);
    CHECK(strstr(error.text, "signal 9") && strstr(error.text, "going down"));
    CHECK(get(after) == 102); /* restarted with the same arguments */
    gw_future_release(down);
    CHECK(gw_actor_call(actor, tally_crash, NULL, GW_ARGS(), &down, &error) == 0);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(2)), &late, &error) == 0);
    CHECK(gw_future_get(down, 0, &value, &error) == GW_ECRASHED);
    CHECK(gw_future_get(late, 0, &value, &error) == GW_EACTOR);
    CHECK(strstr(error.text, "actor tally") && strstr(error.text, "signal 9"));
    gw_future_release(late);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(2)), &late, &error) == 0);
    CHECK(gw_future_get(late, 0, &value, &error) == GW_EACTOR);
    gw_future_release(late);
    gw_future_release(down);
    gw_actor_free(actor);
}

/* The actor is killed while it is busy: its running call, the queued calls and all later calls fail
 * with the reason. */
static void killed(void)
{
    struct gw_actor *actor = make(GW_ACTOR(.restarts = 1), "");
    struct gw_future *futures[3];
    struct gw_value *value;
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(1)), &futures[0], &error) == 0);
    CHECK(get(futures[0]) == 101);
    CHECK(gw_actor_call(actor, tally_hang, NULL, GW_ARGS(), &futures[0], &error) == 0);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(2)), &futures[1], &error) == 0);
    CHECK(gw_actor_kill(actor, &error) == 0);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(2)), &futures[2], &error) == 0);
    for (int i = 0; i < 3; i++) {
        int rc = gw_future_get(futures[i], 0, &value, &error);
        CHECK(rc == GW_EACTOR || (i == 0 && rc == GW_ECRASHED)); /* the call had begun, or not */
        CHECK(rc == GW_ECRASHED || strstr(error.text, "it was cancelled"));
        gw_future_release(futures[i]);
    }
    CHECK(gw_actor_kill(actor, &error) == 0);
    gw_actor_free(actor);
}

/* The creation of the actor fails: its calls fail with the reason. */
static void cannot(void)
{
    struct gw_actor *actor;
    struct gw_future *future;
    struct gw_value *value;
    CHECK(gw_actor_new(client, tally, NULL, GW_ARGS(gw_str("x"), gw_str("")), &actor, &error) == 0);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(2)), &future, &error) == 0);
    CHECK(gw_future_get(future, 0, &value, &error) == GW_EACTOR);
    CHECK(strstr(error.text, "argument 0"));
    gw_future_release(future);
    gw_actor_free(actor);
    CHECK(gw_actor_new(client, tally, GW_ACTOR(.restarts = 1000), GW_ARGS(gw_i64(1), gw_str("")),
                       &actor, &error) == GW_EINVAL);
    /* a method cannot be called as a plain task */
    CHECK(gw_submit(client, tally, NULL, GW_ARGS(gw_i64(1), gw_str("")), &future, &error) == 0);
    CHECK(gw_future_get(future, 0, &value, &error) == GW_ETASK &&
          strstr(error.text, "gw_actor_new"));
    gw_future_release(future);
}

static void inside(void)
{
    struct gw_actor *actor = make(GW_ACTOR(.name = "inside"), "");
    struct gw_future *future;
    CHECK(gw_submit(client, from_task, NULL,
                    GW_ARGS(gw_i64((int64_t)gw_actor_job(actor)), gw_i64(5)), &future,
                    &error) == 0);
    CHECK(get(future) == 105);
    struct gw_value *value;
    CHECK(gw_submit(client, from_client, NULL, GW_ARGS(gw_str("inside")), &future, &error) == 0);
    CHECK(gw_future_get(future, 0, &value, &error) == 0);
    gw_value_unref(value);
    gw_future_release(future);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(0)), &future, &error) == 0);
    CHECK(get(future) == 112);
    /* A call of an actor must not wait for another call of the same actor. */
    CHECK(gw_actor_call(actor, from_task, NULL,
                        GW_ARGS(gw_i64((int64_t)gw_actor_job(actor)), gw_i64(5)), &future,
                        &error) == 0);
    CHECK(gw_future_get(future, 0, &value, &error) == GW_ETASK &&
          strstr(error.text, "would never end"));
    gw_future_release(future);
    gw_actor_free(actor);
}

/* Whether `explain` prints this text for the task of a future. */
static bool is_explained(const struct gw_future *future, const char *text)
{
    struct gw_value *filter = gw_dict(), *answer;
    const char *why;
    CHECK(gw_dict_set(filter, "job", gw_i64((int64_t)gw_future_job(future))) == 0);
    CHECK(gw_dict_set(filter, "index", gw_i64(gw_future_index(future))) == 0);
    CHECK(gw_client_query(client, "explain", filter, &answer, &error) == 0);
    CHECK(gw_value_get_str(answer, &why, &error) == 0);
    const bool has = strstr(why, text) != NULL;
    gw_value_unref(answer);
    gw_value_unref(filter);
    return has;
}

/* Calls behind a call that waits run after it; calls behind a long call end at once if they are
 * cancelled, and the long call continues. */
static void behind(void)
{
    struct gw_actor *actor = make(NULL, ""), *other = make(NULL, "");
    struct gw_future *future, *long_one, *queued;
    struct gw_value *value;
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(1)), &future, &error) == 0);
    CHECK(get(future) == 101); /* the calls are short: the next ones are in the runner together */
    CHECK(gw_actor_call(actor, from_task, NULL,
                        GW_ARGS(gw_i64((int64_t)gw_actor_job(other)), gw_i64(5)), &future,
                        &error) == 0);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(1)), &queued, &error) == 0);
    CHECK(get(future) == 105);
    CHECK(get(queued) == 102);

    CHECK(gw_actor_call(actor, tally_hang, NULL, GW_ARGS(), &long_one, &error) == 0);
    for (int hard = 0; hard < 2; hard++) {
        CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(1)), &queued, &error) == 0);
        CHECK(gw_future_cancel(queued, hard, &error) == 0);
        CHECK(gw_future_get(queued, 0, &value, &error) == GW_ECANCELLED);
        gw_future_release(queued);
    }
    CHECK(gw_future_cancel(long_one, false, &error) == 0);
    bool told = false;
    for (int i = 0; i < 500 && !told;
         i++) { /* after its runner has reported that, and it continues */
        told = is_explained(long_one, "after it had begun: a call of an actor runs to its end");
        CHECK(gw_future_wait(long_one, 20000000) == GW_ETIMEDOUT);
    }
    CHECK(told);
    CHECK(gw_actor_kill(actor, &error) == 0);
    gw_future_release(long_one);
    gw_actor_free(actor);

    /* a call that is silent for too long ends with its actor */
    CHECK(gw_actor_call(other, tally_hang, GW_OPTIONS(.inactivity_timeout_ns = 200000000),
                        GW_ARGS(), &long_one, &error) == 0);
    CHECK(gw_future_get(long_one, 0, &value, &error) == GW_ETIMEDOUT);
    CHECK(strstr(error.text, "inactivity timeout") != NULL);
    gw_future_release(long_one);
    gw_actor_free(other);
}

/* Creates a named actor and calls it until this program is killed. path: see tally. */
static void retain(const char *path)
{
    struct gw_actor *actor = make(GW_ACTOR(.name = "kept"), path);
    struct gw_future *future;
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(1)), &future, &error) == 0);
    CHECK(get(future) == 101);
    struct gw_actor *again;
    CHECK(gw_actor_new(client, tally, GW_ACTOR(.name = "kept"), GW_ARGS(gw_i64(1), gw_str("")),
                       &again, &error) == GW_EEXIST);
    puts("kept");
    fflush(stdout);
    for (;;)
        pause();
}

/* Finds the actor, prints that, waits until a line is written to a fifo, and calls it. */
static void find(const char *fifo)
{
    struct gw_actor *actor;
    struct gw_future *future;
    CHECK(gw_actor_find(client, "kept", 0, &actor, &error) == 0);
    CHECK(gw_actor_call(actor, tally_pid, NULL, GW_ARGS(), NULL, &error) == 0);
    puts("found");
    fflush(stdout);
    FILE *file = fopen(fifo, "r");
    CHECK(file && fgetc(file) != EOF);
    fclose(file);
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(10)), &future, &error) == 0);
    CHECK(get(future) == 111);
    gw_actor_free(actor);
}

/* The handle of one actor is freed, that of the other is not: both are released when the client has
 * closed, and their names are free. */
static void names(const char *path)
{
    struct gw_actor *actor = make(GW_ACTOR(.name = "named"), path);
    struct gw_future *future;
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(1)), &future, &error) == 0);
    CHECK(get(future) == 101);
    gw_actor_free(make(GW_ACTOR(.name = "freed"), ""));
    gw_client_close(client);
    CHECK(access(path, F_OK) == 0);
    client = NULL;
    CHECK(gw_actor_call(actor, tally_add, NULL, GW_ARGS(gw_i64(1)), &future, &error) == GW_ECLOSED);
    gw_actor_free(actor);
}

/* Two jobs have an actor of the same name each. The test removes the first one; the second one ends
 * with its job. Prints the jobs, and goes on when a line is written to a fifo. */
static void scope(const char *fifo)
{
    struct gw_future *jobs[2], *future;
    struct gw_actor *actors[2], *none;
    struct gw_value *value;
    char name[2][32], event[32];
    for (int i = 0; i < 2; i++) {
        CHECK(gw_submit(client, own_box, NULL, GW_ARGS(), &jobs[i], &error) == 0);
        (void)snprintf(name[i], sizeof name[i], "%llu/box",
                       (unsigned long long)gw_future_job(jobs[i]));
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(event, sizeof event, "%llu/made",
                       (unsigned long long)gw_future_job(jobs[i]));
        CHECK(gw_event_wait(client, event, GW_FOREVER, &error) == 0);
        CHECK(gw_actor_find(client, name[i], 0, &actors[i], &error) == 0);
        CHECK(gw_actor_call(actors[i], tally_add, NULL, GW_ARGS(gw_i64(i + 1)), &future, &error) ==
              0);
        CHECK(get(future) == 101 + i);
    }
    printf("made %s %s\n", name[0], name[1]);
    fflush(stdout);
    FILE *file = fopen(fifo, "r");
    CHECK(file && fgetc(file) != EOF);
    fclose(file);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(event, sizeof event, "%llu/done",
                       (unsigned long long)gw_future_job(jobs[i]));
        CHECK(gw_event_set(client, event, &error) == 0);
        CHECK(gw_future_get(jobs[i], 0, &value, &error) == 0);
        gw_value_unref(value);
        CHECK(gw_actor_call(actors[i], tally_add, NULL, GW_ARGS(gw_i64(1)), &future, &error) == 0);
        CHECK(gw_future_get(future, 0, &value, &error) == GW_EACTOR);
        CHECK(strstr(error.text, i ? "has ended with job" : "it was cancelled"));
        gw_future_release(future);
        CHECK(gw_actor_find(client, name[i], 0, &none, &error) == GW_ENOENT);
        CHECK(strstr(error.text, "which has ended"));
        gw_actor_free(actors[i]);
        gw_future_release(jobs[i]);
    }
    CHECK(gw_actor_new(client, tally, GW_ACTOR(.name = "./box"), GW_ARGS(), &none, &error) ==
          GW_EINVAL);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(what, "state") == 0)
        state();
    else if (strcmp(what, "order") == 0)
        order();
    else if (strcmp(what, "crash") == 0)
        crash();
    else if (strcmp(what, "killed") == 0)
        killed();
    else if (strcmp(what, "cannot") == 0)
        cannot();
    else if (strcmp(what, "inside") == 0)
        inside();
    else if (strcmp(what, "behind") == 0)
        behind();
    else if (strcmp(what, "keep") == 0 && argc > 2)
        retain(argv[2]);
    else if (strcmp(what, "names") == 0 && argc > 2)
        names(argv[2]);
    else if (strcmp(what, "scope") == 0 && argc > 2)
        scope(argv[2]);
    else if (strcmp(what, "find") == 0 && argc > 2)
        find(argv[2]);
    else
        return 2;
    gw_client_close(client);
    puts("ok");
    return 0;
}
