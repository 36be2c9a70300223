/* Programs on disk: built from a content store, found again, never incomplete. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/store/folder.h"
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
    file->bytes = strlen(content);
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

static void program_is_built_from_its_files(void **state)
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
        assert_int_equal(gw_manifest_lacks(&manifest, &blobs, lacks, 2), 0);
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

static void missing_file_of_a_program_is_listed(void **state)
{
    struct gw_manifest_file files[] = {{.name = "prog"}, {.name = "libx.so.1"}};
    const struct gw_manifest manifest = {files, 2};
    uint8_t lacks[2 * GW_HASH_BYTES];
    char path[PATH_MAX];
    struct gw_error error;
    put("another executable", &files[0]);
    memset(files[1].hash, 77, GW_HASH_BYTES);
    assert_int_equal(gw_manifest_lacks(&manifest, &blobs, lacks, 2), 1);
    assert_memory_equal(lacks, files[1].hash, GW_HASH_BYTES);
    const struct gw_program_build build = {dir, &blobs, &manifest, program};
    assert_int_equal(gw_program_build(&build, path, &error), GW_ENOENT);
    assert_false(gw_program_find(dir, program, path)); /* no incomplete program stays */
}

/* Files that a task writes beside its own count; the target of a link does not. */
static void size_of_a_work_folder_counts_new_files_but_not_links(void **state)
{
    enum { BYTES = 256 << 10 };
    struct gw_manifest_file files[] = {{.name = "a/data", .mode = 0640}};
    const struct gw_manifest manifest = {files, 1};
    char folder[PATH_MAX], path[PATH_MAX + 16];
    uint64_t before, after, free_bytes;
    (void)state;
    put("data of a task", &files[0]);
    (void)snprintf(folder, sizeof folder, "%s/folder", dir);
    assert_int_equal(gw_folder_lay(folder, &blobs, &manifest, NULL), 0);
    gw_folder_count(folder, UINT64_MAX, &before, &free_bytes);
    assert_in_range(before, 0, BYTES - 1);
    assert_true(free_bytes > 0);
    char *data = malloc(BYTES);
    assert_non_null(data);
    memset(data, 'x', BYTES);
    (void)snprintf(path, sizeof path, "%s/a/left", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, data, BYTES), BYTES);
    assert_int_equal(fsync(fd), 0); /* some file systems count only then */
    close(fd);
    free(data);
    (void)snprintf(path, sizeof path, "%s/link", folder);
    assert_int_equal(symlink("a/left", path), 0);
    gw_folder_count(folder, UINT64_MAX, &after, &free_bytes);
    assert_in_range(after - before, BYTES, 2 * BYTES - 1);
    assert_int_equal(gw_dir_remove(folder, NULL), 0);
    gw_folder_count(folder, UINT64_MAX, &after, &free_bytes);
    assert_int_equal(after, 0);
}

/* No file is written through a link, whoever made the manifest. */
static void links_are_created_but_never_followed(void **state)
{
    struct gw_manifest_file files[] = {{.name = "a", .mode = S_IFLNK | 0777},
                                       {.name = "b/data", .mode = 0640},
                                       {.name = "c", .mode = S_IFLNK | 0777},
                                       {.name = "a/c", .mode = S_IFLNK | 0777}};
    struct gw_manifest manifest = {files, 3};
    char folder[PATH_MAX], path[PATH_MAX + 16], target[16] = "";
    struct gw_error error;
    (void)state;
    put("b", &files[0]);
    put("data of a task", &files[1]);
    put("/no/such", &files[2]);
    files[3] = files[2];
    files[3].name = "a/c";
    (void)snprintf(folder, sizeof folder, "%s/folder", dir);
    assert_int_equal(gw_folder_lay(folder, &blobs, &manifest, &error), 0);
    (void)snprintf(path, sizeof path, "%s/a/data", folder);
    must_hold(path, "data of a task");
    (void)snprintf(path, sizeof path, "%s/c", folder);
    assert_int_equal(readlink(path, target, sizeof target), 8);
    assert_memory_equal(target, "/no/such", 8);
    assert_int_equal(gw_dir_remove(folder, NULL), 0);
    manifest.count = 4;
    assert_int_equal(gw_folder_lay(folder, &blobs, &manifest, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "cannot make the link a: File exists"));
}

static void work_folders_hold_private_copies(void **state)
{
    struct gw_manifest_file files[] = {{.name = "a/b/data", .mode = 0640},
                                       {.name = "run.sh", .mode = 0755}};
    const struct gw_manifest manifest = {files, 2};
    char folder[PATH_MAX], path[PATH_MAX + 16];
    struct gw_error error;
    struct stat info;
    (void)state;
    put("data of a task", &files[0]);
    put("a script", &files[1]);
    (void)snprintf(folder, sizeof folder, "%s/folder", dir);
    for (int i = 0; i < 2; i++) { /* the second time, after the first copy was overwritten */
        assert_int_equal(gw_folder_lay(folder, &blobs, &manifest, &error), 0);
        (void)snprintf(path, sizeof path, "%s/run.sh", folder);
        must_hold(path, "a script");
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0755);
        (void)snprintf(path, sizeof path, "%s/a/b/data", folder);
        must_hold(path, "data of a task");
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0640);
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, "x", 1), 1);
        close(fd);
        assert_int_equal(gw_dir_remove(folder, NULL), 0);
    }
    memset(files[1].hash, 78, GW_HASH_BYTES);
    assert_int_equal(gw_folder_lay(folder, &blobs, &manifest, &error), GW_ENOENT);
    assert_non_null(strstr(error.text, "run.sh"));
    assert_int_equal(access(folder, F_OK), -1); /* no incomplete folder stays */
}

static void program_name_with_a_folder_is_refused(void **state)
{
    struct gw_manifest_file files[] = {{.name = "bin/prog"}};
    const struct gw_manifest manifest = {files, 1};
    const uint8_t hash[GW_HASH_BYTES] = {99};
    const struct gw_program_build build = {dir, &blobs, &manifest, hash};
    char path[PATH_MAX];
    struct gw_error error;
    (void)state;
    put("an executable", &files[0]);
    assert_int_equal(gw_program_build(&build, path, &error), GW_EINVAL);
    assert_false(gw_program_find(dir, hash, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_is_built_from_its_files),
        cmocka_unit_test(missing_file_of_a_program_is_listed),
        cmocka_unit_test(links_are_created_but_never_followed),
        cmocka_unit_test(work_folders_hold_private_copies),
        cmocka_unit_test(size_of_a_work_folder_counts_new_files_but_not_links),
        cmocka_unit_test(program_name_with_a_folder_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
