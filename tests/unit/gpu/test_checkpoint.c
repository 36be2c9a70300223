/* Checkpoint files: truncated, corrupt and foreign files are refused and the previous one is read;
 * a full disk loses nothing. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gangway/checkpoint.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 128 };

static char folder[PATH_BYTES / 2];
static char path[PATH_BYTES], previous[PATH_BYTES + 16], new_path[PATH_BYTES + 16];

static int folder_make(void **state)
{
    (void)snprintf(folder, sizeof folder, "/tmp/gangway-checkpoint-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/model.ckpt", folder);
    (void)snprintf(previous, sizeof previous, "%s.previous", path);
    (void)snprintf(new_path, sizeof new_path, "%s.new", path);
    return 0;
}

static int folder_remove(void **state)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) < 0)
            return -1;
    }
    return dir ? (closedir(dir), rmdir(folder)) : -1;
}

static const char weights[] = "weights of step";

/* A small checkpoint that contains its step. */
static int write_step(int64_t step, struct gw_error *error)
{
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    assert_non_null(checkpoint);
    assert_int_equal(gw_checkpoint_set_bytes(checkpoint, "w", weights, sizeof weights), 0);
    assert_int_equal(gw_checkpoint_set_i64(checkpoint, "step", step), 0);
    assert_int_equal(gw_checkpoint_set_bytes(checkpoint, "none", NULL, 0), 0);
    int rc = gw_checkpoint_file_write(checkpoint, path, error);
    gw_checkpoint_free(checkpoint);
    return rc;
}

/* The step of the file at `path`, and whether there was a warning; or the error. */
static int64_t read_step(bool *warned, struct gw_error *error)
{
    struct gw_checkpoint *checkpoint;
    char copy[sizeof weights];
    int64_t step;
    int rc = gw_checkpoint_file_read(path, &checkpoint, error);
    if (rc < 0)
        return rc;
    assert_int_equal(gw_checkpoint_copy(checkpoint, "w", copy, sizeof copy, NULL), 0);
    assert_memory_equal(copy, weights, sizeof copy);
    assert_int_equal(gw_checkpoint_i64(checkpoint, "step", &step), 0);
    const char *warning = gw_checkpoint_warning(checkpoint);
    *warned = warning != NULL;
    if (warning)
        (void)snprintf(error->text, sizeof error->text, "%s", warning);
    gw_checkpoint_free(checkpoint);
    return step;
}

static size_t load(const char *from, char *bytes, size_t room)
{
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    size_t got = fread(bytes, 1, room, file);
    assert_true(got < room);
    assert_int_equal(fclose(file), 0);
    return got;
}

static void store(const char *to, const char *bytes, size_t count)
{
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static bool is_there(const char *name)
{
    struct stat status;
    return stat(name, &status) == 0;
}

static void checkpoint_sections_return_their_type_and_value(void **state)
{
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    const char long_name[GW_CHECKPOINT_NAME_MAX + 2] = {[0 ... GW_CHECKPOINT_NAME_MAX] = 'x'};
    const void *data;
    size_t bytes;
    int64_t value;
    struct gw_error error;
    assert_int_equal(gw_checkpoint_set_i64(checkpoint, "a", INT64_MIN), 0);
    assert_int_equal(gw_checkpoint_set_i64(checkpoint, "a", 1), GW_EEXIST);
    assert_int_equal(gw_checkpoint_set_bytes(checkpoint, "a", "x", 1), GW_EEXIST);
    assert_int_equal(gw_checkpoint_set_i64(checkpoint, "", 1), GW_EINVAL);
    assert_int_equal(gw_checkpoint_set_i64(checkpoint, long_name, 1), GW_EINVAL);
    assert_int_equal(gw_checkpoint_set_bytes(checkpoint, long_name + 1, "long", 4), 0);
    assert_int_equal(gw_checkpoint_i64(checkpoint, "a", &value), 0);
    assert_true(value == INT64_MIN);
    assert_int_equal(gw_checkpoint_i64(checkpoint, long_name + 1, &value), GW_EINVAL);
    assert_int_equal(gw_checkpoint_i64(checkpoint, "b", &value), GW_ENOENT);
    assert_int_equal(gw_checkpoint_bytes(checkpoint, "a", &data, &bytes), GW_EINVAL);
    assert_int_equal(gw_checkpoint_bytes(checkpoint, long_name + 1, &data, &bytes), 0);
    assert_int_equal(bytes, 4);
    char small[3];
    assert_int_equal(gw_checkpoint_copy(checkpoint, long_name + 1, small, 3, &error), GW_EMISMATCH);
    assert_non_null(strstr(error.text, "has 4 bytes, wanted 3"));
    assert_null(gw_checkpoint_warning(checkpoint));
    assert_int_equal(gw_checkpoint_file_write(checkpoint, path, &error), 0);
    gw_checkpoint_free(checkpoint);

    assert_int_equal(gw_checkpoint_file_read(path, &checkpoint, &error), 0);
    assert_int_equal(gw_checkpoint_i64(checkpoint, "a", &value), 0);
    assert_true(value == INT64_MIN);
    gw_checkpoint_free(checkpoint);
    gw_checkpoint_free(NULL);
}

static void previous_checkpoint_survives_an_interrupted_write(void **state)
{
    struct gw_error error;
    bool warned;
    assert_int_equal(read_step(&warned, &error), GW_ENOENT);
    for (int64_t step = 1; step <= 3; step++) {
        assert_int_equal(write_step(step, &error), 0);
        assert_int_equal(read_step(&warned, &error), step);
        assert_false(warned);
        assert_int_equal(is_there(previous), step > 1);
        assert_false(is_there(new_path));
    }
    /* The process died while it wrote the next file: the partial file does not matter. */
    store(new_path, "half", 4);
    assert_int_equal(read_step(&warned, &error), 3);
    /* The process died between two renames, on a file system without links. */
    assert_int_equal(rename(path, previous), 0);
    assert_int_equal(read_step(&warned, &error), 3);
    assert_true(warned);
    assert_int_equal(write_step(4, &error), 0);
    assert_int_equal(read_step(&warned, &error), 4);
    assert_false(warned);
}

static void truncated_checkpoint_falls_back_to_the_previous(void **state)
{
    char whole[1024];
    struct gw_error error;
    bool warned;
    assert_int_equal(write_step(1, &error), 0);
    assert_int_equal(write_step(2, &error), 0);
    const size_t bytes = load(path, whole, sizeof whole);
    for (size_t cut = 0; cut < bytes; cut++) {
        store(path, whole, cut);
        assert_int_equal(read_step(&warned, &error), 1);
        assert_true(warned);
    }
    whole[bytes] = 0;
    store(path, whole, bytes + 1); /* an extra byte at the end */
    assert_int_equal(read_step(&warned, &error), 1);
    assert_true(warned);
    store(path, whole, bytes);
    assert_int_equal(read_step(&warned, &error), 2);
    assert_false(warned);
}

static void corrupt_checkpoint_falls_back_to_the_previous(void **state)
{
    char whole[1024];
    struct gw_error error;
    bool warned;
    assert_int_equal(write_step(1, &error), 0);
    assert_int_equal(write_step(2, &error), 0);
    const size_t bytes = load(path, whole, sizeof whole);
    for (size_t i = 0; i < bytes; i++)
        for (int bit = 1; bit < 256; bit <<= 1) {
            whole[i] = (char)(whole[i] ^ bit);
            store(path, whole, bytes);
            whole[i] = (char)(whole[i] ^ bit);
            assert_int_equal(read_step(&warned, &error), 1);
            assert_true(warned);
        }
    whole[bytes - 1] ^= 1; /* the last section, "none", is empty: this byte is the step */
    store(path, whole, bytes);
    assert_int_equal(read_step(&warned, &error), 1);
    assert_non_null(strstr(error.text, "damaged in section \"step\""));
    store(previous, whole, bytes);
    assert_int_equal(read_step(&warned, &error), GW_ECORRUPT);
    assert_non_null(strstr(error.text, "model.ckpt: damaged"));
    assert_non_null(strstr(error.text, "model.ckpt.previous: damaged"));
}

static void file_of_another_program_is_not_a_checkpoint(void **state)
{
    struct gw_error error;
    bool warned;
    store(path, "PK\003\004 a zip file of another program", 35);
    assert_int_equal(read_step(&warned, &error), GW_ECORRUPT);
    assert_non_null(strstr(error.text, "not a checkpoint of Gangway"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_step(&warned, &error), GW_ECORRUPT);
    assert_int_equal(write_step(1, &error), GW_EINVAL);
    assert_int_equal(rmdir(path), 0);
    struct gw_checkpoint *checkpoint;
    assert_int_equal(gw_checkpoint_file_read("", &checkpoint, &error), GW_EINVAL);
}

static void file_size_limit_leaves_the_last_checkpoint_intact(void **state)
{
    struct gw_error error;
    bool warned;
    struct rlimit usual, tight;
    char whole[1024];
    assert_int_equal(write_step(1, &error), 0);
    assert_int_equal(write_step(2, &error), 0);
    const size_t bytes = load(path, whole, sizeof whole);

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    for (size_t room = 0; room < bytes; room += 7) {
        tight = (struct rlimit){.rlim_cur = room, .rlim_max = usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        int rc = write_step(3, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
        assert_int_equal(rc, GW_EIO);
        assert_non_null(strstr(error.text, strerror(EFBIG)));
        assert_non_null(strstr(error.text, "ulimit -f"));
        assert_false(is_there(new_path));
        assert_int_equal(read_step(&warned, &error), 2);
        assert_false(warned);
    }
    assert_int_equal(write_step(3, &error), 0);
    assert_int_equal(read_step(&warned, &error), 3);
}

/* This test runs last, because the process stays in a mount namespace of its own. */
static void full_file_system_leaves_the_last_checkpoint_intact(void **state)
{
    enum { BYTES = 40000 };
    static const char large[BYTES];
    struct gw_checkpoint *checkpoint = gw_checkpoint_new(), *found;
    struct gw_error error;
    (void)state;
    assert_int_equal(gw_checkpoint_set_bytes(checkpoint, "state", large, BYTES), 0);
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=65536") < 0) {
        gw_checkpoint_free(checkpoint);
        print_message("mounting is not permitted: not tested\n");
        skip();
    }
    assert_int_equal(gw_checkpoint_file_write(checkpoint, path, &error), 0);
    assert_int_equal(gw_checkpoint_file_write(checkpoint, path, &error), GW_EIO);
    assert_non_null(strstr(error.text, strerror(ENOSPC)));
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "bytes are free there; make room"));
    assert_false(is_there(new_path));
    assert_int_equal(gw_checkpoint_file_read(path, &found, &error), 0);
    gw_checkpoint_free(found);
    gw_checkpoint_free(checkpoint);
    assert_int_equal(umount2(folder, MNT_DETACH), 0);
}

static void checkpoint_in_a_missing_folder_is_refused(void **state)
{
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    struct gw_error error;
    char nowhere[PATH_BYTES + 16];
    (void)snprintf(nowhere, sizeof nowhere, "%s/none/model.ckpt", folder);
    assert_int_equal(gw_checkpoint_file_write(checkpoint, nowhere, &error), GW_EIO);
    assert_non_null(strstr(error.text, strerror(ENOENT)));
    gw_checkpoint_free(checkpoint);
}

/* All ranks get rank 0's checkpoint, or rank 0's error. */
static int rank_checkpoint(struct world_rank *self)
{
    enum { BYTES = 700001 };
    struct gw_checkpoint *checkpoint = NULL;
    struct gw_error error;
    const void *data;
    size_t bytes;
    int64_t step;
    RANK_CHECK_RC(gw_checkpoint_comm_load(self->comm, path, &checkpoint, &error), GW_ENOENT);
    RANK_CHECK(strstr(error.text, "model.ckpt"));
    char *memory = calloc(1, BYTES);
    RANK_CHECK(memory);
    for (int64_t k = 1; k <= 2; k++) {
        memset(memory, (int)k, BYTES);
        checkpoint = NULL;
        if (self->rank == 0) {
            checkpoint = gw_checkpoint_new();
            RANK_CHECK_RC(gw_checkpoint_set_bytes(checkpoint, "w", memory, BYTES), 0);
            RANK_CHECK_RC(gw_checkpoint_set_i64(checkpoint, "step", k), 0);
        }
        RANK_CHECK_RC(gw_checkpoint_comm_save(checkpoint, self->comm, path, &error), 0);
        gw_checkpoint_free(checkpoint);
        RANK_CHECK_RC(gw_checkpoint_comm_load(self->comm, path, &checkpoint, &error), 0);
        RANK_CHECK(!gw_checkpoint_warning(checkpoint));
        RANK_CHECK_RC(gw_checkpoint_i64(checkpoint, "step", &step), 0);
        RANK_CHECK_RC(gw_checkpoint_bytes(checkpoint, "w", &data, &bytes), 0);
        RANK_CHECK(step == k && bytes == BYTES && memcmp(data, memory, bytes) == 0);
        gw_checkpoint_free(checkpoint);
    }
    if (self->rank == 0)
        RANK_CHECK(truncate(path, 1000) == 0);
    RANK_CHECK_RC(gw_checkpoint_comm_load(self->comm, path, &checkpoint, &error), 0);
    RANK_CHECK_RC(gw_checkpoint_i64(checkpoint, "step", &step), 0);
    RANK_CHECK(step == 1 && strstr(gw_checkpoint_warning(checkpoint), "truncated"));
    gw_checkpoint_free(checkpoint);

    /* If rank 0 cannot write, no rank writes. */
    checkpoint = gw_checkpoint_new();
    RANK_CHECK_RC(gw_checkpoint_comm_save(checkpoint, self->comm, "/none/model.ckpt", &error),
                  GW_EIO);
    RANK_CHECK(strstr(error.text, "/none/model.ckpt"));
    gw_checkpoint_free(checkpoint);
    free(memory);
    return 0;
}

static void collective_checkpoint_agrees_on_all_ranks(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 3, .function = rank_checkpoint};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(checkpoint_sections_return_their_type_and_value),
        IN_FOLDER(previous_checkpoint_survives_an_interrupted_write),
        IN_FOLDER(truncated_checkpoint_falls_back_to_the_previous),
        IN_FOLDER(corrupt_checkpoint_falls_back_to_the_previous),
        IN_FOLDER(file_of_another_program_is_not_a_checkpoint),
        IN_FOLDER(file_size_limit_leaves_the_last_checkpoint_intact),
        IN_FOLDER(checkpoint_in_a_missing_folder_is_refused),
        IN_FOLDER(collective_checkpoint_agrees_on_all_ranks),
        IN_FOLDER(full_file_system_leaves_the_last_checkpoint_intact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
