/* Coordination between clients and tasks, on a running cluster; each subject is a function with
 * asserts. Arguments: the subject, and a fifo on which tasks report that they run. */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static struct gw_client *client;

static int64_t number_of(struct gw_value *value)
{
    int64_t n;
    MUST(gw_value_get_i64(value, &n, &error));
    gw_value_unref(value);
    return n;
}

/* -- Task functions ------------------------------------------------------------------------------
 */

/* Increments a variable `n` times under a lock: no increment may be lost. */
static int raise_locked(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_client *own = gw_task_client(task, why);
    int64_t n, x;
    if (!own || gw_task_arg_i64(task, 0, &n) < 0)
        return why->code;
    for (int64_t i = 0; i < n; i++) {
        struct gw_variable variable;
        int rc = gw_lock_acquire(own, "counter", UINT64_MAX, why);
        if (rc == 0)
            rc = gw_variable_get(own, "count", UINT64_MAX, &variable, why);
        if (rc == 0) {
            (void)gw_value_get_i64(variable.value, &x, NULL);
            gw_value_unref(variable.value);
            struct gw_value *next = gw_i64(x + 1);
            rc = gw_variable_set(own, "count", next, NULL, why);
            gw_value_unref(next);
        }
        if (rc == 0)
            rc = gw_lock_release(own, "counter", why);
        if (rc < 0)
            return rc;
    }
    return gw_task_return(task, gw_nil());
}
GW_TASK(raise_locked);

/* Returns the value that it takes from a queue of its own job. */
static int take_own(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_client *own = gw_task_client(task, why);
    struct gw_value *value;
    int rc = own ? gw_queue_get(own, "./box", UINT64_MAX, &value, why) : why->code;
    return rc < 0 ? rc : gw_task_return(task, value);
}
GW_TASK(take_own);

/* Increments it without a lock, by comparing versions. */
static int raise_compared(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_client *own = gw_task_client(task, why);
    int64_t n, x;
    if (!own || gw_task_arg_i64(task, 0, &n) < 0)
        return why->code;
    for (int64_t i = 0; i < n;) {
        struct gw_variable variable;
        if (gw_variable_get(own, "count", UINT64_MAX, &variable, why) < 0)
            return why->code;
        (void)gw_value_get_i64(variable.value, &x, NULL);
        gw_value_unref(variable.value);
        struct gw_value *next = gw_i64(x + 1);
        int rc = gw_variable_replace(own, "count", variable.version, next, NULL, why);
        gw_value_unref(next);
        if (rc < 0 && rc != GW_EAGAIN)
            return rc;
        i += rc == 0;
    }
    return gw_task_return(task, gw_nil());
}
GW_TASK(raise_compared);

/* Puts 0 to n - 1 into a small queue and closes it. */
static int produce(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_client *own = gw_task_client(task, why);
    int64_t n;
    if (!own || gw_task_arg_i64(task, 0, &n) < 0)
        return why->code;
    for (int64_t i = 0; i < n; i++) {
        struct gw_value *value = gw_i64(i);
        int rc = gw_queue_put(own, "work", value, UINT64_MAX, why);
        gw_value_unref(value);
        if (rc < 0)
            return rc;
    }
    return gw_queue_close(own, "work", why);
}
GW_TASK(produce);

/* Sums the values of the queue until it is closed. */
static int consume(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_client *own = gw_task_client(task, why);
    int64_t sum = 0, n;
    if (!own)
        return why->code;
    for (;;) {
        struct gw_value *values[5];
        struct gw_queue_batch batch = {.values = values, .max = 5};
        int rc = gw_queue_get_many(own, "work", UINT64_MAX, &batch, why);
        if (rc == GW_ECLOSED)
            return gw_task_return(task, gw_i64(sum));
        if (rc < 0)
            return rc;
        for (uint32_t i = 0; i < batch.count; i++) {
            (void)gw_value_get_i64(values[i], &n, NULL);
            gw_value_unref(values[i]);
            sum += n;
        }
    }
}
GW_TASK(consume);

/* Takes the semaphore "gate", reports that, and dies, hangs or returns with it. */
static int hold(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_client *own = gw_task_client(task, why);
    const char *path, *how;
    if (!own || gw_task_arg_str(task, 0, &path) < 0 || gw_task_arg_str(task, 1, &how) < 0 ||
        gw_semaphore_acquire(own, "gate", UINT64_MAX, why) < 0)
        return why->code;
    if (strcmp(how, "returns") == 0)
        return gw_task_return(task, gw_nil());
    subject_say_pid(path, "holds");
    for (;;)
        pause();
}
GW_TASK(hold);

/* Waits for one object of each kind, selected by number. */
static int wait_for(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_client *own = gw_task_client(task, why);
    struct gw_variable variable;
    struct gw_value *value;
    int64_t which;
    if (!own || gw_task_arg_i64(task, 0, &which) < 0)
        return why->code;
    switch (which) {
    case 0:
        return gw_semaphore_acquire(own, "gate", UINT64_MAX, why);
    case 1:
        return gw_lock_acquire(own, "own", UINT64_MAX, why);
    case 2:
        return gw_event_wait(own, "go", UINT64_MAX, why);
    case 3:
        return gw_variable_get(own, "news", UINT64_MAX, &variable, why);
    case 4:
        return gw_queue_get(own, "work", UINT64_MAX, &value, why);
    default:
        value = gw_i64(which);
        int rc = gw_queue_put(own, "full", value, UINT64_MAX, why);
        gw_value_unref(value);
        return rc;
    }
}
GW_TASK(wait_for);

/* -- Subjects ------------------------------------------------------------------------------------
 */

static void test_counter(const char *fifo)
{
    struct gw_future *futures[6];
    struct gw_value *values[6], *zero = gw_i64(0);
    uint64_t version;
    MUST(gw_variable_set(client, "count", zero, &version, &error));
    gw_value_unref(zero);
    assert(version == 1);
    for (int i = 0; i < 3; i++)
        MUST(gw_submit(client, raise_locked, NULL, GW_ARGS(gw_i64(20)), &futures[i], &error));
    MUST(gw_gather(client, futures, 3, values, &error));
    for (int i = 3; i < 6; i++)
        MUST(gw_submit(client, raise_compared, NULL, GW_ARGS(gw_i64(20)), &futures[i], &error));
    MUST(gw_gather(client, futures + 3, 3, values + 3, &error));
    for (int i = 0; i < 6; i++) {
        gw_value_unref(values[i]);
        gw_future_release(futures[i]);
    }
    struct gw_variable variable;
    MUST(gw_variable_get(client, "count", 0, &variable, &error));
    assert(variable.version == 121);
    assert(number_of(variable.value) == 120);
    MUST(gw_sync_delete(client, "variable", "count", &error));
}

static void test_queue(const char *fifo)
{
    struct gw_future *futures[3];
    MUST(gw_queue_open(client, "work", 7, &error));
    int rc = gw_queue_open(client, "work", 8, &error);
    assert(rc == GW_EEXIST);
    MUST(gw_submit(client, consume, NULL, GW_ARGS(), &futures[0], &error));
    MUST(gw_submit(client, consume, NULL, GW_ARGS(), &futures[1], &error));
    MUST(gw_submit(client, produce, NULL, GW_ARGS(gw_i64(300)), &futures[2], &error));
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        struct gw_value *value;
        MUST(gw_future_get(futures[i], 0, &value, &error));
        if (i < 2)
            sum += number_of(value);
        else
            gw_value_unref(value);
        gw_future_release(futures[i]);
    }
    assert(sum == 300 * 299 / 2);
    struct gw_value *none;
    rc = gw_queue_get(client, "work", UINT64_MAX, &none, &error);
    assert(rc == GW_ECLOSED && strstr(error.text, "queue work is closed"));
    rc = gw_queue_open(client, "work", 7, &error);
    assert(rc == GW_ECLOSED && strstr(error.text, "queue work is closed"));
    rc = gw_queue_open(client, "work", 8, &error);
    assert(rc == GW_EEXIST);
    MUST(gw_sync_delete(client, "queue", "work", &error));
    MUST(gw_queue_open(client, "work", 7, &error));
    MUST(gw_sync_delete(client, "queue", "work", &error));
}

/* A lease ends with its holder: a task that returned, a task that is killed (by the test), a client
 * that closed. */
static void test_holders(const char *fifo)
{
    struct gw_future *future;
    struct gw_value *value;
    struct gw_client *other;
    MUST(gw_semaphore_open(client, "gate", 1, &error));
    MUST(gw_submit(client, hold, NULL, GW_ARGS(gw_str(fifo), gw_str("returns")), &future, &error));
    MUST(gw_future_get(future, 0, &value, &error));
    gw_value_unref(value);
    gw_future_release(future);

    MUST(gw_client_open(NULL, &other, &error));
    uint64_t before, after;
    MUST(gw_semaphore_acquire_fenced(other, "gate", 30 * SECOND, &before, &error));
    int rc = gw_semaphore_acquire(client, "gate", 0, &error);
    assert(rc == GW_ETIMEDOUT);
    rc = gw_semaphore_acquire(client, "gate", SECOND / 100, &error);
    assert(rc == GW_ETIMEDOUT);
    rc = gw_semaphore_release(client, "gate", &error);
    assert(rc == GW_EINVAL);
    gw_client_close(other);

    static const struct gw_task_options once = GW_INIT(gw_task_options, .name = "holder");
    MUST(gw_semaphore_acquire_fenced(client, "gate", 30 * SECOND, &after, &error));
    assert(before > 0 && after > before); /* later writes of the other holder have an older fence */
    struct gw_value *all;
    int64_t shown;
    MUST(gw_client_query(client, "sync", NULL, &all, &error));
    MUST(gw_value_get_i64(gw_value_find(gw_value_at(all, 0), "fence"), &shown, &error));
    assert((uint64_t)shown == after);
    gw_value_unref(all);
    MUST(gw_submit(client, hold, &once, GW_ARGS(gw_str(fifo), gw_str("hangs")), &future, &error));
    MUST(gw_semaphore_release(client, "gate", &error));
    puts("holder"); /* the test kills it each time it starts */
    fflush(stdout);
    rc = gw_future_get(future, 0, &value, &error);
    assert(rc == GW_ECRASHED);
    gw_future_release(future);
    MUST(gw_semaphore_acquire(client, "gate", 30 * SECOND, &error));
    MUST(gw_semaphore_release(client, "gate", &error));
    MUST(gw_sync_delete(client, "semaphore", "gate", &error));
}

static void test_events(const char *fifo)
{
    int rc = gw_event_wait(client, "go", SECOND / 100, &error);
    assert(rc == GW_ETIMEDOUT);
    MUST(gw_event_set(client, "go", &error));
    MUST(gw_event_wait(client, "go", 0, &error));
    MUST(gw_event_clear(client, "go", &error));
    rc = gw_event_wait(client, "go", 0, &error);
    assert(rc == GW_ETIMEDOUT);
    struct gw_value *all;
    MUST(gw_client_query(client, "sync", NULL, &all, &error));
    assert(gw_value_count(all) == 0); /* a cleared event uses no memory */
    gw_value_unref(all);
}

/* A follower of a variable sees its latest value, once; every lease has a larger number than the
 * leases before it. */
static void test_news(const char *fifo)
{
    struct gw_variable news = {0};
    uint64_t version, fence = 0, before = 0, none = 0;
    int rc = gw_variable_next(client, "news", SECOND / 100, &news, &error);
    assert(rc == GW_ETIMEDOUT);
    for (int64_t i = 1; i <= 3; i++) {
        struct gw_value *value = gw_i64(10 * i);
        MUST(gw_variable_set(client, "news", value, &version, &error));
        gw_value_unref(value);
        assert(version == (uint64_t)i);
        if (i == 2)
            continue; /* the value was not examined */
        MUST(gw_variable_next(client, "news", UINT64_MAX, &news, &error));
        assert(news.version == version && number_of(news.value) == 10 * i);
    }
    rc = gw_variable_next(client, "news", SECOND / 100, &news, &error);
    assert(rc == GW_ETIMEDOUT && news.version == 3);
    MUST(gw_sync_delete(client, "variable", "news", &error));

    for (int i = 0; i < 3; i++) {
        const char *name = i == 1 ? "other" : "own";
        MUST(gw_lock_acquire_fenced(client, name, 0, &fence, &error));
        rc = gw_lock_acquire_fenced(client, name, 0, &none, &error);
        assert(rc == GW_ETIMEDOUT && none == 0 && fence > before);
        before = fence;
        MUST(gw_lock_release(client, name, &error));
    }
}

static int put(uint64_t job, int64_t number)
{
    char name[32];
    struct gw_value *value = gw_i64(number);
    (void)snprintf(name, sizeof name, "%llu/box", (unsigned long long)job);
    int rc = gw_queue_put(client, name, value, 0, &error);
    gw_value_unref(value);
    return rc;
}

/* Two jobs have a queue of the same name each. A queue ends with its job, also with values in it.
 */
static void test_scope(const char *fifo)
{
    struct gw_future *futures[3];
    for (int i = 0; i < 2; i++)
        MUST(gw_submit(client, take_own, NULL, GW_ARGS(), &futures[i], &error));
    for (int i = 1; i >= 0; i--)
        MUST(put(gw_future_job(futures[i]), 10 + i));
    for (int i = 0; i < 2; i++)
        assert(subject_i64(futures[i], 0) == 10 + i);
    assert(put(gw_future_job(futures[0]), 1) == GW_ENOENT && strstr(error.text, "has ended"));
    assert(put(12345, 1) == GW_ENOENT);
    MUST(gw_submit(client, hang, NULL, GW_ARGS(gw_str(fifo)), &futures[2], &error));
    subject_hear(fifo, NULL, 0);
    MUST(put(gw_future_job(futures[2]), 1));
    MUST(gw_future_cancel(futures[2], true, &error));
    assert(gw_future_wait(futures[2], UINT64_MAX) == 0);
    assert(gw_lock_acquire(client, "./own", 0, &error) == GW_EINVAL);
    for (int i = 0; i < 3; i++)
        gw_future_release(futures[i]);
}

static void test_wrong(const char *fifo)
{
    char name[400];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    int rc = gw_lock_acquire(client, name, 0, &error);
    assert(rc == GW_EINVAL);
    rc = gw_lock_acquire(client, "", 0, &error);
    assert(rc == GW_EINVAL);
    rc = gw_lock_acquire(client, "a\nb", 0, &error);
    assert(rc == GW_EINVAL);
    rc = gw_lock_release(client, "nobody's", &error);
    assert(rc == GW_EINVAL && strstr(error.text, "there is none"));
    rc = gw_semaphore_acquire(client, "unknown", 0, &error);
    assert(rc == GW_ENOENT && strstr(error.text, "gw_semaphore_open"));
    rc = gw_semaphore_open(client, "none", 0, &error);
    assert(rc == GW_EINVAL);
    rc = gw_sync_delete(client, "mutex", "m", &error);
    assert(rc == GW_EINVAL);
    rc = gw_sync_delete(client, "queue", "m", &error);
    assert(rc == GW_ENOENT);
    char *large = calloc(1, 1 << 20);
    assert(large);
    struct gw_value *value = gw_bytes_copy(large, 1 << 20);
    free(large);
    rc = gw_variable_set(client, "large", value, NULL, &error);
    assert(rc == GW_ELIMIT && strstr(error.text, "publish"));
    gw_value_unref(value);
    rc = gw_variable_set(client, "nothing", NULL, NULL, &error);
    assert(rc == GW_ENOMEM);
    rc = gw_queue_put(client, "nothing", NULL, 0,
                      &error); /* a request for many values would lose them all */
    assert(rc == GW_ENOMEM && strstr(error.text, "nothing: there is no value"));
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "many %d", i);
        MUST(gw_queue_open(client, name, 1, &error));
    }
    rc = gw_queue_open(client, "one more", 1, &error);
    assert(rc == GW_ELIMIT && strstr(error.text, "gangway sync list"));
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "many %d", i);
        MUST(gw_sync_delete(client, "queue", name, &error));
    }
}

/* Waits for an object that is never set: the test deletes it. */
static void test_deleted(const char *fifo)
{
    MUST(gw_semaphore_open(client, "stuck", 1, &error));
    MUST(gw_semaphore_acquire(client, "stuck", 0, &error));
    puts("stuck");
    fflush(stdout);
    int rc = gw_semaphore_acquire(client, "stuck", UINT64_MAX, &error);
    assert(rc == GW_ECANCELLED);
}

/* Tasks that wait, one for each kind: the test checks explain, and kills this program. */
static void test_waits(const char *fifo)
{
    struct gw_future *futures[6];
    struct gw_value *value = gw_i64(0);
    MUST(gw_semaphore_open(client, "gate", 1, &error));
    MUST(gw_semaphore_acquire(client, "gate", 0, &error));
    MUST(gw_lock_acquire(client, "own", 0, &error));
    MUST(gw_queue_open(client, "work", 3, &error));
    MUST(gw_queue_open(client, "full", 1, &error));
    MUST(gw_queue_put(client, "full", value, 0, &error));
    gw_value_unref(value);
    for (int i = 0; i < 6; i++)
        MUST(gw_submit(client, wait_for, NULL, GW_ARGS(gw_i64(i)), &futures[i], &error));
    puts("held");
    fflush(stdout);
    (void)gw_future_get(futures[0], 0, &value, &error);
}

int main(int argc, char **argv)
{
    static const struct subject list[] = {
        {"counter", test_counter}, {"queue", test_queue}, {"holders", test_holders},
        {"events", test_events},   {"wrong", test_wrong}, {"deleted", test_deleted},
        {"waits", test_waits},     {"news", test_news},   {"scope", test_scope},
    };
    const struct subjects subjects = {
        .client = &client, .list = list, .count = sizeof list / sizeof *list};
    return subjects_main(&subjects, argc, argv);
}
