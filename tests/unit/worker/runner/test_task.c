/* Tasks inside this process: arguments, results, errors, gangs of threads, checkpoints, gw_init. */
#include "tests/unit/arithmetic_tasks.h"
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/runner/args.h"
#include "worker/runner/runner.h"
#include "worker/runner/task.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int describe(struct gw_task *task)
{
    bool b;
    int64_t n;
    const char *text;
    const void *data;
    size_t bytes;
    struct gw_value *value;
    char line[256];
    if (gw_task_arg_bool(task, 0, &b) < 0 || gw_task_arg_i64(task, 1, &n) < 0 ||
        gw_task_arg_str(task, 2, &text) < 0 || gw_task_arg_bytes(task, 3, &data, &bytes) < 0 ||
        gw_task_arg_value(task, 4, &value) < 0)
        return GW_EINVAL;
    snprintf(line, sizeof line, "%d %ld %s %zu %zu of %u, job %lu task %u try %u rank %u of %u", b,
             (long)n, text, bytes, gw_value_count(value), gw_task_arg_count(task),
             (unsigned long)gw_task_job(task), gw_task_index(task), gw_task_try(task),
             gw_task_rank(task), gw_task_world(task));
    return gw_task_return(task, gw_str(line));
}
GW_TASK(describe);

static int echo(struct gw_task *task)
{
    struct gw_value *value;
    int rc = gw_task_arg_value(task, 0, &value);
    return rc < 0 ? rc : gw_task_return(task, gw_value_ref(value));
}
GW_TASK(echo);

static int nothing(struct gw_task *task)
{
    (void)task;
    return 0;
}
GW_TASK(nothing);

/* Returns 1, as a main function may return an error; there is no message for it. */
static int return_one(struct gw_task *task)
{
    int rc = gw_task_step(task, 0, NULL, 0);
    return rc < 0 ? rc : 1;
}
GW_TASK(return_one);

static int fail_silently(struct gw_task *task)
{
    (void)task;
    return GW_EIO;
}
GW_TASK(fail_silently);

static int fail_aloud(struct gw_task *task)
{
    return gw_task_fail(task, GW_ENOENT, "no file number %d", 7);
}
GW_TASK(fail_aloud);

static int no_memory(struct gw_task *task)
{
    return gw_task_return(task, NULL);
}
GW_TASK(no_memory);

static int large(struct gw_task *task)
{
    int64_t bytes;
    if (gw_task_arg_i64(task, 0, &bytes) < 0)
        return GW_EINVAL;
    char *data = malloc((size_t)bytes);
    if (!data)
        return GW_ENOMEM;
    for (int64_t i = 0; i < bytes; i++)
        data[i] = (char)(i * 7);
    int rc = gw_task_return(task, gw_bytes(data, (size_t)bytes));
    free(data); /* the result is a copy */
    return rc;
}
GW_TASK(large);

/* Each rank adds its rank; `wrong` (argument 0) is the rank that fails instead, -1: none. */
static int sum_ranks(struct gw_task *task)
{
    int64_t wrong, sum = gw_task_rank(task);
    if (gw_task_arg_i64(task, 0, &wrong) < 0)
        return GW_EINVAL;
    if (wrong == (int64_t)gw_task_rank(task))
        return gw_task_fail(task, GW_EIO, "this one fails");
    int rc = gw_comm_all_reduce(gw_task_comm(task),
                                GW_COMM_ARGS(.recv = &sum, .count = 1, .dtype = GW_DTYPE_I64),
                                gw_task_error(task));
    return rc < 0 ? rc : gw_task_return(task, gw_i64(sum * 100 + gw_task_rank(task)));
}
GW_TASK(sum_ranks);

/* Ranks that disagree about the step must get an error. */
static int steps_apart(struct gw_task *task)
{
    return gw_task_step(task, gw_task_rank(task) == 1 ? 5 : 4, "loss", 1.0);
}
GW_TASK(steps_apart);

/* Continues from the checkpoint for two steps; the value is the step where it began. */
static int resume(struct gw_task *task)
{
    double state[3] = {-1, -1, -1};
    int64_t step = -1, began;
    int rc = gw_checkpoint_load(task, state, sizeof state, &step);
    if (rc < 0)
        return rc;
    began = step;
    if (step > 0 && state[2] != (double)step)
        return gw_task_fail(task, GW_ECORRUPT, "the state is another's");
    for (int i = 0; i < 2; i++, step++)
        if ((rc = gw_task_step(task, step, "loss", 0.5)) != GW_CONTINUE)
            return gw_task_fail(task, GW_EABORTED, "step %d answered %d", i, rc);
    state[2] = (double)step;
    rc = gw_checkpoint_save(task, state, sizeof state, step);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(began));
}
GW_TASK(resume);

static int resume_smaller(struct gw_task *task)
{
    int64_t step;
    double state;
    return gw_checkpoint_load(task, &state, sizeof state, &step);
}
GW_TASK(resume_smaller);

/* Saves sections from rank 0, and finds them on every rank. The value is the step of before. */
static int resume_sections(struct gw_task *task)
{
    const bool is_root = gw_task_rank(task) == 0;
    struct gw_checkpoint *set;
    int64_t epoch = -1, before, step;
    char name[8] = "weights", loaded[8];
    int rc = gw_task_checkpoint_load(task, &set, &before);
    if (rc == 0 && set)
        rc = gw_checkpoint_i64(set, "epoch", &epoch);
    gw_checkpoint_free(set);
    if (rc < 0 || epoch != (before ? 2 : -1))
        return gw_task_fail(task, GW_ECORRUPT, "epoch %ld at step %ld", (long)epoch, (long)before);
    set = is_root ? gw_checkpoint_new() : NULL;
    if (set && (gw_checkpoint_set_i64(set, "epoch", 2) < 0 ||
                gw_checkpoint_set_bytes(set, "name", name, sizeof name) < 0))
        return GW_ENOMEM;
    rc = gw_task_checkpoint_save(task, set, before + 7);
    if (rc == 0 && set && gw_task_checkpoint_save(task, set, before + 8) != GW_EEXIST)
        rc = gw_task_fail(task, GW_EINVAL, "a set was saved twice");
    gw_checkpoint_free(set);
    if (rc == 0)
        rc = gw_task_checkpoint_load(task, &set, &step);
    if (rc < 0)
        return rc;
    rc = gw_checkpoint_copy(set, "name", loaded, sizeof loaded, gw_task_error(task));
    gw_checkpoint_free(set);
    if (rc == 0 && (step != before + 7 || strcmp(loaded, name) != 0))
        rc = gw_task_fail(task, GW_ECORRUPT, "step %ld, name %s", (long)step, loaded);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(before));
}
GW_TASK(resume_sections);

/* Loads one section into a place. The value is the step of before. */
static int resume_into(struct gw_task *task)
{
    const uint32_t last = gw_task_world(task) - 1;
    struct gw_checkpoint *set = gw_checkpoint_new();
    char weights[8] = "weights", loaded[8] = "before";
    struct gw_checkpoint_place place = {"w", loaded, sizeof loaded};
    const void *data;
    size_t bytes;
    int64_t before, step, epoch = 0;
    struct gw_checkpoint *found;
    int rc = gw_task_checkpoint_load_into(task, &place, 1, &found, &before);
    if (rc < 0)
        return rc;
    if (!found != !before || strcmp(loaded, before ? "weights" : "before") != 0)
        return gw_task_fail(task, GW_ECORRUPT, "%s at step %ld", loaded, (long)before);
    gw_checkpoint_free(found);
    if (gw_checkpoint_set_bytes(set, "w", weights, sizeof weights) < 0 ||
        gw_checkpoint_set_i64(set, "epoch", 2) < 0)
        return GW_ENOMEM;
    rc = gw_task_checkpoint_save(task, set, before + 7);
    gw_checkpoint_free(set);
    memset(loaded, 0, sizeof loaded);
    if (rc == 0)
        rc = gw_task_checkpoint_load_into(task, &place, 1, &found, &step);
    if (rc < 0)
        return rc;
    if (step != before + 7 || strcmp(loaded, "weights") != 0 ||
        gw_checkpoint_i64(found, "epoch", &epoch) < 0 || epoch != 2 ||
        gw_checkpoint_bytes(found, "w", &data, &bytes) != GW_ENOENT)
        return gw_task_fail(task, GW_ECORRUPT, "%s at step %ld", loaded, (long)step);
    gw_checkpoint_free(found);
    if (gw_task_rank(task) == last)
        place.bytes--;
    if (gw_task_checkpoint_load_into(task, &place, 1, &found, &step) != GW_EMISMATCH)
        return gw_task_fail(task, GW_ECORRUPT, "a place is too small on one rank");
    place = (struct gw_checkpoint_place){"other", loaded, sizeof loaded};
    if (gw_task_checkpoint_load_into(task, &place, 1, &found, &step) != GW_EMISMATCH)
        return gw_task_fail(task, GW_ECORRUPT, "there is no such section");
    return gw_task_return(task, gw_i64(before));
}
GW_TASK(resume_into);

/* Rank 1 has no folder for checkpoints. */
static int load_without_folder(struct gw_task *task)
{
    struct gw_comm *comm = gw_task_comm(task);
    struct gw_checkpoint *set;
    int64_t step;
    if (gw_task_rank(task) == 0 && !gw_task_checkpoint_dir(task))
        return GW_EIO;
    int rc = gw_comm_barrier(comm, NULL);
    if (rc == 0 && gw_task_rank(task) == 1)
        unsetenv("GANGWAY_CHECKPOINTS");
    if (rc == 0)
        rc = gw_comm_barrier(comm, NULL);
    if (rc == 0)
        rc = gw_task_checkpoint_load(task, &set, &step);
    if (rc != GW_ENOENT || !strstr(gw_task_error(task)->text, "there is no folder"))
        return gw_task_fail(task, GW_EINVAL, "%s", gw_error_text(rc));
    return gw_task_return(task, gw_i64(0));
}
GW_TASK(load_without_folder);

/* Runs an ordinary task; takes the arguments. */
static int call(const struct gw_function *function, struct gw_value *args, struct gw_value **value,
                struct gw_error *error)
{
    const struct gw_runner_call made = {
        .function = function, .args = args, .job = 7, .index = 3, .try_number = 1};
    error->text[0] = '\0';
    int rc = gw_runner_call(&made, value, error);
    gw_value_unref(args);
    return rc;
}

static struct gw_value *list_of(struct gw_value *a, struct gw_value *b)
{
    struct gw_value *list = gw_list();
    if (a)
        assert_int_equal(gw_list_push(list, a), 0);
    if (b)
        assert_int_equal(gw_list_push(list, b), 0);
    return list;
}

static void arguments_of_every_type_reach_the_function(void **state)
{
    struct gw_value *value;
    struct gw_error error;
    const char *text;
    double sum;
    assert_int_equal(call(GW_FUNCTION(add), list_of(gw_f64(0.5), gw_i64(2)), &value, &error), 0);
    assert_int_equal(gw_value_get_f64(value, &sum, NULL), 0);
    assert_true(sum == 2.5);
    gw_value_unref(value);

    struct gw_value *args = list_of(gw_bool(true), gw_i64(-4));
    assert_int_equal(gw_list_push(args, gw_str("word")), 0);
    assert_int_equal(gw_list_push(args, gw_bytes_copy("abc", 3)), 0);
    assert_int_equal(gw_list_push(args, list_of(gw_nil(), gw_nil())), 0);
    assert_int_equal(call(GW_FUNCTION(describe), args, &value, &error), 0);
    assert_int_equal(gw_value_get_str(value, &text, NULL), 0);
    assert_string_equal(text, "1 -4 word 3 2 of 5, job 7 task 3 try 1 rank 0 of 1");
    gw_value_unref(value);
}

static void argument_error_names_the_wanted_type(void **state)
{
    const struct {
        struct gw_value *args;
        const struct gw_function *function;
        const char *text;
    } cases[] = {
        {list_of(gw_f64(1), gw_str("x")), GW_FUNCTION(add),
         "add: argument 1 is a string, wanted a number"},
        {list_of(gw_f64(1), NULL), GW_FUNCTION(add), "add: has 1 argument, wanted at least 2"},
        {list_of(NULL, NULL), GW_FUNCTION(add), "add: has 0 arguments, wanted at least 1"},
        {list_of(gw_bool(true), gw_f64(1.5)), GW_FUNCTION(describe),
         "describe: argument 1 is 1.5, wanted a whole number"},
        {list_of(gw_list(), gw_f64(1.5)), GW_FUNCTION(describe),
         "describe: argument 0 is a list, wanted a bool"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_value *value = NULL;
        struct gw_error error;
        assert_int_equal(call(cases[i].function, cases[i].args, &value, &error), GW_EINVAL);
        assert_string_equal(error.text, cases[i].text);
    }
}

static void task_return_codes_map_to_error_texts(void **state)
{
    struct gw_value *value = NULL;
    struct gw_error error;
    assert_int_equal(call(GW_FUNCTION(nothing), gw_list(), &value, &error), 0);
    assert_int_equal(gw_value_type(value), GW_NIL);
    gw_value_unref(value);
    assert_int_equal(call(GW_FUNCTION(return_one), gw_list(), &value, &error), GW_ETASK);
    assert_string_equal(error.text, "return_one returned 1: a task function must return 0 for "
                                    "success or a negative GW_E... code, as gw_task_fail does");
    assert_int_equal(call(GW_FUNCTION(fail_silently), gw_list(), &value, &error), GW_EIO);
    assert_string_equal(error.text, "fail_silently returned -3 (GW_EIO: input/output error)");
    assert_int_equal(call(GW_FUNCTION(fail_aloud), gw_list(), &value, &error), GW_ENOENT);
    assert_string_equal(error.text, "no file number 7");
    assert_int_equal(call(GW_FUNCTION(no_memory), gw_list(), &value, &error), GW_ENOMEM);
    assert_string_equal(error.text, "no_memory: out of memory for its result");
}

static void results_of_every_size_are_returned(void **state)
{
    static const int64_t sizes[] = {0, 1, 4000, 4093, 4094, 4096, 65535, 65536, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gw_value *value;
        struct gw_error error;
        const void *data;
        size_t bytes;
        assert_int_equal(call(GW_FUNCTION(large), list_of(gw_i64(sizes[i]), NULL), &value, &error),
                         0);
        assert_int_equal(gw_value_get_bytes(value, &data, &bytes, NULL), 0);
        assert_int_equal(bytes, sizes[i]);
        for (size_t k = 0; k < bytes; k++)
            if (((const char *)data)[k] != (char)(k * 7))
                fail_msg("byte %zu of %zu", k, bytes);
        gw_value_unref(value);
    }
    /* a large value other than bytes */
    struct gw_value *list = gw_list(), *value;
    struct gw_error error;
    for (int i = 0; i < 3000; i++)
        assert_int_equal(gw_list_push(list, gw_f64(i)), 0);
    assert_int_equal(call(GW_FUNCTION(echo), list_of(gw_value_ref(list), NULL), &value, &error), 0);
    assert_true(gw_value_equal(list, value));
    gw_value_unref(value);
    gw_value_unref(list);
}

static void references_are_replaced_by_dependency_values(void **state)
{
    struct gw_value *deps[] = {gw_str("zero"), list_of(gw_i64(1), gw_i64(2)), NULL};
    struct gw_value *inner = gw_dict();
    assert_int_equal(gw_dict_set(inner, "a", gw_result((gw_node){1})), 0);
    assert_int_equal(gw_dict_set(inner, "b", list_of(gw_result((gw_node){0}), gw_nil())), 0);
    struct gw_value *plain = list_of(gw_i64(9), NULL);
    struct gw_value *args = list_of(inner, gw_value_ref(plain)), *resolved;
    assert_int_equal(gw_args_resolve(args, deps, 3, &resolved, NULL), 0);
    char text[128];
    gw_value_format(resolved, text, sizeof text);
    assert_string_equal(text, "[{\"a\": [1, 2], \"b\": [\"zero\", null]}, [9]]");
    assert_ptr_equal(gw_value_at(resolved, 1), plain); /* shared */
    gw_value_unref(resolved);
    gw_value_unref(args);
    gw_value_unref(plain);

    struct gw_error error;
    for (uint32_t k = 2; k < 4; k++) { /* one without data, one that is not there */
        args = list_of(gw_result((gw_node){k}), NULL);
        assert_int_equal(gw_args_resolve(args, deps, 3, &resolved, &error), GW_EPROTO);
        gw_value_unref(args);
    }
    gw_value_unref(deps[0]);
    gw_value_unref(deps[1]);
}

static void check_text(const struct gw_value *value, const char *expected)
{
    char text[128];
    gw_value_format(value, text, sizeof text);
    assert_string_equal(text, expected);
}

static void references_are_replaced_in_place_if_not_shared(void **state)
{
    struct gw_value *deps[] = {gw_str("zero"), list_of(gw_i64(1), gw_i64(2)), NULL};
    struct gw_value *resolved, *args = list_of(gw_result((gw_node){0}), gw_i64(7));
    assert_int_equal(gw_args_resolve_own(args, deps, 3, &resolved, NULL), 0);
    assert_ptr_equal(resolved, args); /* in place */
    check_text(resolved, "[\"zero\", 7]");
    gw_value_unref(resolved);

    args = list_of(gw_result((gw_node){0}), NULL); /* the arguments are shared */
    assert_int_equal(gw_args_resolve_own(gw_value_ref(args), deps, 3, &resolved, NULL), 0);
    check_text(resolved, "[\"zero\"]");
    assert_int_equal(gw_value_type(gw_value_at(args, 0)), GW_RESULT);
    gw_value_unref(resolved);
    gw_value_unref(args);

    args =
        list_of(gw_result((gw_node){1}), gw_result((gw_node){0})); /* a list is one level deeper */
    assert_int_equal(gw_args_resolve_own(args, deps, 3, &resolved, NULL), 0);
    check_text(resolved, "[[1, 2], \"zero\"]");
    gw_value_unref(resolved);

    struct gw_error error;
    for (uint32_t k = 2; k < 4; k++) { /* one without data, one that is not there */
        args = list_of(gw_result((gw_node){0}), gw_result((gw_node){k}));
        assert_int_equal(gw_args_resolve_own(args, deps, 3, &resolved, &error), GW_EPROTO);
    }
    gw_value_unref(deps[0]);
    gw_value_unref(deps[1]);
}

static int call_gang(const struct gw_function *function, int64_t argument, uint32_t ranks,
                     struct gw_value **values, struct gw_error *error)
{
    struct gw_value *args = list_of(gw_i64(argument), NULL);
    const struct gw_runner_call made = {
        .function = function, .args = args, .ranks = ranks, .job = 8, .index = 1};
    int rc = gw_runner_call(&made, values, error);
    gw_value_unref(args);
    return rc;
}

static void gang_of_threads_reduces_and_reports_failures(void **state)
{
    struct gw_value *values[3];
    struct gw_error error;
    assert_int_equal(call_gang(GW_FUNCTION(sum_ranks), -1, 3, values, &error), 0);
    for (int i = 0; i < 3; i++) {
        int64_t got;
        assert_int_equal(gw_value_get_i64(values[i], &got, NULL), 0);
        assert_int_equal(got, 300 + i);
        gw_value_unref(values[i]);
    }
    assert_int_equal(call_gang(GW_FUNCTION(sum_ranks), 1, 3, values, &error), GW_EIO);
    assert_string_equal(error.text, "rank 1: this one fails");
    assert_int_equal(call_gang(GW_FUNCTION(steps_apart), 0, 2, values, &error), GW_EMISMATCH);
    assert_non_null(strstr(error.text, "is at step"));
    assert_int_equal(call(GW_FUNCTION(sum_ranks), list_of(gw_i64(-1), NULL), values, &error), 0);
    gw_value_unref(values[0]); /* a single rank has a communicator, too */
}

static int64_t resume_gang(const struct gw_function *function, uint32_t ranks)
{
    struct gw_value *values[3];
    struct gw_error error;
    int64_t began = -1;
    int rc = call_gang(function, 0, ranks, values, &error);
    if (rc < 0)
        fail_msg("%s", error.text);
    for (uint32_t i = 0; i < (ranks ? ranks : 1); i++) {
        assert_int_equal(gw_value_get_i64(values[i], &began, NULL), 0);
        gw_value_unref(values[i]);
    }
    return began;
}

static void gang_of_threads_resumes_from_its_checkpoint(void **state)
{
    char dir[] = "/tmp/gangway-test-XXXXXX";
    struct gw_value *values[2];
    struct gw_error error;
    unsetenv("GANGWAY_CHECKPOINTS");
    assert_int_equal(call(GW_FUNCTION(resume), gw_list(), values, &error), GW_ENOENT);
    assert_non_null(strstr(error.text, "GANGWAY_CHECKPOINTS"));

    assert_non_null(mkdtemp(dir));
    setenv("GANGWAY_CHECKPOINTS", dir, 1);
    assert_int_equal(resume_gang(GW_FUNCTION(resume), 0), 0);
    assert_int_equal(resume_gang(GW_FUNCTION(resume), 3), 2);
    assert_int_equal(resume_gang(GW_FUNCTION(resume), 0), 4);
    assert_int_equal(call_gang(GW_FUNCTION(resume_smaller), 0, 2, values, &error), GW_EMISMATCH);
    unsetenv("GANGWAY_CHECKPOINTS");
    assert_int_equal(gw_dir_remove(dir, NULL), 0);
}

static void sections_of_a_checkpoint_reach_another_number_of_ranks(void **state)
{
    char dir[] = "/tmp/gangway-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    setenv("GANGWAY_CHECKPOINTS", dir, 1);
    assert_int_equal(resume_gang(GW_FUNCTION(resume_sections), 2), 0);
    assert_int_equal(resume_gang(GW_FUNCTION(resume_sections), 3), 7);
    assert_int_equal(resume_gang(GW_FUNCTION(resume_sections), 0), 14);
    unsetenv("GANGWAY_CHECKPOINTS");
    assert_int_equal(gw_dir_remove(dir, NULL), 0);
}

static void sections_are_loaded_into_places_of_all_ranks(void **state)
{
    char dir[] = "/tmp/gangway-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    setenv("GANGWAY_CHECKPOINTS", dir, 1);
    assert_int_equal(resume_gang(GW_FUNCTION(resume_into), 2), 0);
    assert_int_equal(resume_gang(GW_FUNCTION(resume_into), 3), 7);
    assert_int_equal(resume_gang(GW_FUNCTION(resume_into), 0), 14);
    unsetenv("GANGWAY_CHECKPOINTS");
    assert_int_equal(gw_dir_remove(dir, NULL), 0);
}

static void rank_without_folder_is_the_error_of_all_ranks(void **state)
{
    char dir[] = "/tmp/gangway-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    setenv("GANGWAY_CHECKPOINTS", dir, 1);
    (void)resume_gang(GW_FUNCTION(load_without_folder), 2);
    unsetenv("GANGWAY_CHECKPOINTS");
    assert_int_equal(gw_dir_remove(dir, NULL), 0);
}

static void gpu_count_follows_cuda_visible_devices(void **state)
{
    static const struct {
        const char *list;
        uint32_t count;
    } cases[] = {{"", 0},   {"0", 1},     {"3,1", 2}, {"GPU-ab,GPU-cd,GPU-ef", 3},
                 {"-1", 0}, {"1,-1,2", 1}};
    struct gw_task task;
    gw_task_init(&task);
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_int_equal(gw_task_gpu_count(&task), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("CUDA_VISIBLE_DEVICES", cases[i].list, 1);
        assert_int_equal(gw_task_gpu_count(&task), cases[i].count);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    gw_task_deinit(&task);
}

static void functions_are_found_by_exact_name(void **state)
{
    assert_ptr_equal(gw_function_find("add"), GW_FUNCTION(add));
    assert_null(gw_function_find("ad"));
    gw_function_register(GW_FUNCTION(add)); /* registering the same function again has no effect */
}

/* Runs `body` in a child, quietly, and returns its exit code and output. */
static int exit_code_of(void (*body)(void), char said[static 1024])
{
    int fds[2], status;
    size_t length = 0;
    ssize_t got;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        body();
        fflush(NULL);
        _exit(0);
    }
    close(fds[1]);
    while (length < 1023 && (got = read(fds[0], said + length, 1023 - length)) > 0)
        length += (size_t)got;
    said[length] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void register_twice(void)
{
    static const struct gw_function other = {"add", echo};
    gw_function_register(&other);
}

static void init_with(const char *option)
{
    char name[] = "program", dashes[] = "--", copy[64], rest[] = "--gangway-bogus";
    snprintf(copy, sizeof copy, "%s", option);
    char *arguments[] = {name, copy, dashes, rest, NULL}, **argv = arguments;
    int argc = 4;
    gw_init(&argc, &argv);
    printf("%d %s %s %s", argc, argv[1], getenv("GANGWAY_ADDRESS"), argv[argc] ? "more" : "end");
}

static void init_address(void)
{
    unsetenv("GANGWAY_ADDRESS");
    init_with("--gangway-address=unix:/x");
}

static void init_bogus(void)
{
    init_with("--gangway-adress=x");
}

static void init_other(void)
{
    setenv("GANGWAY_ADDRESS", "unset", 1);
    init_with("--mine");
}

static void init_functions(void)
{
    init_with("--gangway-functions");
}

static void init_bad_runner(void)
{
    setenv("GANGWAY_RUNNER_FD", "777", 1);
    init_with("--mine");
}

static void init_parses_and_removes_its_options(void **state)
{
    char said[1024];
    assert_int_equal(exit_code_of(register_twice, said), 2);
    assert_string_equal(said, "gangway: two task functions of this program are named add\n");
    assert_int_equal(exit_code_of(init_address, said), 0);
    assert_string_equal(said, "3 -- unix:/x end");
    assert_int_equal(exit_code_of(init_other, said), 0);
    assert_string_equal(said, "4 --mine unset end");
    assert_int_equal(exit_code_of(init_bogus, said), 2);
    assert_non_null(strstr(said, "unknown or incomplete option --gangway-adress=x"));
    assert_int_equal(exit_code_of(init_functions, said), 0);
    assert_non_null(strstr(said, "add\ndescribe\n"));
    assert_int_equal(exit_code_of(init_bad_runner, said), 2);
    assert_non_null(strstr(said, "GANGWAY_RUNNER_FD=777"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_of_every_type_reach_the_function),
        cmocka_unit_test(argument_error_names_the_wanted_type),
        cmocka_unit_test(task_return_codes_map_to_error_texts),
        cmocka_unit_test(results_of_every_size_are_returned),
        cmocka_unit_test(references_are_replaced_by_dependency_values),
        cmocka_unit_test(references_are_replaced_in_place_if_not_shared),
        cmocka_unit_test(gang_of_threads_reduces_and_reports_failures),
        cmocka_unit_test(gang_of_threads_resumes_from_its_checkpoint),
        cmocka_unit_test(sections_of_a_checkpoint_reach_another_number_of_ranks),
        cmocka_unit_test(sections_are_loaded_into_places_of_all_ranks),
        cmocka_unit_test(rank_without_folder_is_the_error_of_all_ranks),
        cmocka_unit_test(gpu_count_follows_cuda_visible_devices),
        cmocka_unit_test(functions_are_found_by_exact_name),
        cmocka_unit_test(init_parses_and_removes_its_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
