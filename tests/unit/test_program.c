/* Programs on disk: built whole from a content store, found again, never half. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/store/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static struct gw_blobs blobs;
static const uint8_t program[GW_HASH_BYTES] = {9, 9};

static int set_up(void **state)
{
    char path[128];
    strcpy(dir, "/tmp/gw-program-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/blobs", dir);
    return gw_blobs_init(&blobs, path, NULL);
}

static int tear_down(void **state)
{
    return gw_dir_remove(dir, NULL);
}

static void put(const char *content, struct gw_manifest_file *file)
{
    int fd = memfd_create("content", MFD_CLOEXEC);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    gw_hash_bytes(content, strlen(content), file->hash);
    assert_int_equal(gw_blobs_put(&blobs, file->hash, fd, NULL), 0);
    close(fd);
}

static void must_hold(const char *path, const char *content)
{
    char data[64] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s is not there", path);
    assert_int_equal(read(fd, data, sizeof data - 1), strlen(content));
    assert_string_equal(data, content);
    close(fd);
}

static void test_builds(void **state)
{
    static const char *const names[] = {"prog", "main", "lib"};
    for (int i = 0; i < 3; i++) {
        struct gw_manifest_file files[] = {{.name = names[i]}, {.name = "libx.so.1"}};
        const struct gw_manifest manifest = {files, 2};
        uint8_t hash[GW_HASH_BYTES] = {(uint8_t)i}, lacks[2 * GW_HASH_BYTES];
        char path[PATH_MAX], again[PATH_MAX], lib[PATH_MAX + 32];
        const struct gw_program_build build = {dir, &blobs, &manifest, hash};
        put("an executable", &files[0]);
        put("a library", &files[1]);
        assert_int_equal(gw_program_lacks(&blobs, &manifest, lacks), 0);
        assert_false(gw_program_find(dir, hash, path));
        assert_int_equal(gw_program_build(&build, path, NULL), 0);
        must_hold(path, "an executable");
        assert_string_equal(strrchr(path, '/') + 1, i == 0 ? "prog" : "program");
        assert_int_equal(access(path, X_OK), 0);
        snprintf(lib, sizeof lib, "%.*s/lib/libx.so.1", (int)(strrchr(path, '/') - path), path);
        must_hold(lib, "a library"); /* where LD_LIBRARY_PATH points */
        assert_true(gw_program_find(dir, hash, again));
        assert_string_equal(path, again);
        assert_int_equal(gw_program_build(&build, again, NULL), 0);
    }
}

static void test_lacks(void **state)
{
    struct gw_manifest_file files[] = {{.name = "prog"}, {.name = "libx.so.1"}};
    const struct gw_manifest manifest = {files, 2};
    uint8_t lacks[2 * GW_HASH_BYTES];
    char path[PATH_MAX];
    struct gw_error error;
    put("another executable", &files[0]);
    memset(files[1].hash, 77, GW_HASH_BYTES);
    assert_int_equal(gw_program_lacks(&blobs, &manifest, lacks), 1);
    assert_memory_equal(lacks, files[1].hash, GW_HASH_BYTES);
    const struct gw_program_build build = {dir, &blobs, &manifest, program};
    assert_int_equal(gw_program_build(&build, path, &error), GW_ENOENT);
    assert_false(gw_program_find(dir, program, path)); /* nothing half stays */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builds),
        cmocka_unit_test(test_lacks),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
