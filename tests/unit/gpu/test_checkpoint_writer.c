/* Checkpoints in the background: which files are kept, that the copy is of the moment of the save,
 * and that errors come back. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <gangway/checkpoint_writer.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 128, WEIGHTS = 100000 };

static char folder[PATH_BYTES / 2];
static char path[PATH_BYTES];
static float weights[WEIGHTS];

static int folder_make(void **state)
{
    /* A name with characters that patterns of files use. */
    (void)snprintf(folder, sizeof folder, "/tmp/gangway-writer-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/model[1]*", folder);
    return 0;
}

static int folder_remove(void **state)
{
    char command[PATH_BYTES];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static struct gw_checkpoint_writer *writer_open(bool is_max)
{
    struct gw_checkpoint_writer *writer;
    assert_int_equal(
        gw_checkpoint_writer_open(GW_CHECKPOINT_WRITER_OPTIONS(.path = path, .is_max = is_max),
                                  &writer, NULL),
        0);
    return writer;
}

/* Saves weights that are all `step`, and changes them at once. */
static void save(struct gw_checkpoint_writer *writer, int step, double metric)
{
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = (float)step;
    assert_int_equal(gw_checkpoint_set_bytes(checkpoint, "w", weights, sizeof weights), 0);
    assert_int_equal(gw_checkpoint_set_i64(checkpoint, "step", step), 0);
    assert_int_equal(gw_checkpoint_writer_save(writer, checkpoint, (uint64_t)step, metric, NULL),
                     0);
    gw_checkpoint_free(checkpoint);
    memset(weights, 0xff, sizeof weights);
}

/* The step of the checkpoint PATH + suffix, or -1 if there is none. */
static int step_in(const char *suffix)
{
    char file[2 * PATH_BYTES];
    float found[WEIGHTS];
    int64_t step;
    struct gw_checkpoint *checkpoint;
    (void)snprintf(file, sizeof file, "%s%s", path, suffix);
    if (gw_checkpoint_file_read(file, &checkpoint, NULL) < 0)
        return -1;
    assert_int_equal(gw_checkpoint_i64(checkpoint, "step", &step), 0);
    assert_int_equal(gw_checkpoint_copy(checkpoint, "w", found, sizeof found, NULL), 0);
    for (int i = 0; i < WEIGHTS; i++)
        assert_true(found[i] == (float)step);
    gw_checkpoint_free(checkpoint);
    return (int)step;
}

static void writer_has_the_last_and_the_best(void **state)
{
    struct gw_checkpoint_writer *writer = writer_open(false);
    save(writer, 9, 3);
    save(writer, 10, 1);
    save(writer, 100, NAN);
    save(writer, 101, 2);
    assert_int_equal(gw_checkpoint_writer_wait(writer, NULL), 0);
    assert_int_equal(step_in(""), 101);
    assert_int_equal(step_in(".best"), 10);
    assert_int_equal(step_in(".100"), 100);
    assert_int_equal(step_in(".101"), 101);
    assert_int_equal(step_in(".9"), -1);
    assert_int_equal(step_in(".10"), -1);
    assert_int_equal(gw_checkpoint_writer_close(writer, NULL), 0);

    writer = writer_open(false); /* a restarted program knows the best of the earlier one */
    save(writer, 102, 1.5);
    assert_int_equal(gw_checkpoint_writer_wait(writer, NULL), 0);
    assert_int_equal(step_in(".best"), 10);
    assert_int_equal(step_in(".100"), -1);
    save(writer, 103, 0.5);
    assert_int_equal(gw_checkpoint_writer_close(writer, NULL), 0);
    assert_int_equal(step_in(".best"), 103);
}

static void training_that_goes_back_has_its_last_saves(void **state)
{
    struct gw_checkpoint_writer *writer = writer_open(false);
    save(writer, 100, 1);
    save(writer, 110, 1);
    save(writer, 70, 1);
    assert_int_equal(gw_checkpoint_writer_wait(writer, NULL), 0);
    assert_int_equal(step_in(".70"), 70);
    save(writer, 80, 1);
    assert_int_equal(gw_checkpoint_writer_close(writer, NULL), 0);
    assert_int_equal(step_in(".70"), 70);
    assert_int_equal(step_in(".80"), 80);
    assert_int_equal(step_in(".100"), -1);
    assert_int_equal(step_in(".110"), -1);
}

static void save_that_was_started_has_the_data_before_copied(void **state)
{
    struct gw_checkpoint_writer *writer = writer_open(false);
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = 5;
    assert_int_equal(gw_checkpoint_set_bytes(checkpoint, "w", weights, sizeof weights), 0);
    assert_int_equal(gw_checkpoint_set_i64(checkpoint, "step", 5), 0);
    gw_checkpoint_writer_copied(writer); /* there is no save */
    assert_int_equal(gw_checkpoint_writer_start(writer, checkpoint, 5, 1, NULL), 0);
    gw_checkpoint_writer_copied(writer);
    gw_checkpoint_free(checkpoint);
    memset(weights, 0xff, sizeof weights);
    assert_int_equal(gw_checkpoint_writer_close(writer, NULL), 0);
    assert_int_equal(step_in(".5"), 5);
}

static void writer_returns_the_error_of_the_save_before(void **state)
{
    char file[2 * PATH_BYTES];
    struct gw_error error;
    struct gw_checkpoint_writer *writer = writer_open(true);
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    (void)snprintf(file, sizeof file, "%s.7", path);
    assert_int_equal(mkdir(file, 0700), 0);
    save(writer, 7, 1);
    assert_int_equal(gw_checkpoint_writer_save(writer, checkpoint, 8, 1, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "not a regular file"));
    assert_int_equal(gw_checkpoint_set_i64(checkpoint, "gangway.metric", 1), 0);
    assert_int_equal(gw_checkpoint_writer_save(writer, checkpoint, 8, 1, &error), GW_EEXIST);
    save(writer, 9, 1); /* the writer goes on */
    assert_int_equal(gw_checkpoint_writer_wait(writer, NULL), 0);
    assert_int_equal(step_in(""), 9);
    gw_checkpoint_free(checkpoint);
    assert_int_equal(gw_checkpoint_writer_close(writer, NULL), 0);
    assert_int_equal(
        gw_checkpoint_writer_open(GW_CHECKPOINT_WRITER_OPTIONS(.path = ""), &writer, NULL),
        GW_EINVAL);
    assert_int_equal(gw_checkpoint_writer_close(NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writer_has_the_last_and_the_best, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(training_that_goes_back_has_its_last_saves, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(save_that_was_started_has_the_data_before_copied,
                                        folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(writer_returns_the_error_of_the_save_before, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
