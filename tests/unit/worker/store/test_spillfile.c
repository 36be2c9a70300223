/* Results in files: the bytes read equal the bytes written, or there is an error; folders of dead
 * workers are removed. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/store/spillfile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 3000000 };

struct world {
    char parent[64], path[PATH_MAX], file[PATH_MAX + 8];
    int lock_fd, memory_fd;
    struct gw_spillfile what;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct gw_error error;
    strcpy(w->parent, "/tmp/gw-spillfile-XXXXXX");
    assert_non_null(mkdtemp(w->parent));
    assert_int_equal(gw_spillfile_folder(w->parent, "/nowhere", w->path, &w->lock_fd, &error), 0);
    (void)snprintf(w->file, sizeof w->file, "%s/7", w->path);
    w->memory_fd = memfd_create("test", MFD_CLOEXEC);
    char *data = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (char)(i * 31 + i / 251);
    assert_int_equal(write(w->memory_fd, data, BYTES), BYTES);
    free(data);
    w->what.bytes = BYTES;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    close(w->memory_fd);
    close(w->lock_fd);
    int rc = gw_dir_remove(w->parent, NULL);
    free(w);
    return rc;
}

static void write_it(struct world *w)
{
    struct gw_error error;
    int fd;
    assert_int_equal(gw_spillfile_write(w->file, w->memory_fd, &w->what, &fd, &error), 0);
    close(fd);
}

static void spill_file_returns_the_written_bytes(void **state)
{
    struct world *w = *state;
    struct gw_error error;
    int fds[2];
    assert_int_equal(gw_spillfile_write(w->file, w->memory_fd, &w->what, &fds[0], &error), 0);
    assert_int_equal(gw_spillfile_open(w->file, &w->what, &fds[1], &error), 0);
    char *from = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, w->memory_fd, 0);
    for (int i = 0; i < 2; i++) {
        char *to = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fds[i], 0);
        assert_memory_equal(from, to, BYTES);
        munmap(to, BYTES);
        assert_int_equal(write(fds[i], "x", 1), -1); /* for reading */
        close(fds[i]);
    }
    munmap(from, BYTES);
    assert_int_equal(gw_spillfile_write(w->file, w->memory_fd, &w->what, &fds[0], &error), GW_EIO);
    assert_int_equal(access(w->file, F_OK), 0); /* never two results in a file */
}

static void damaged_spill_file_is_refused(void **state)
{
    struct world *w = *state;
    struct gw_error error;
    int fd;
    write_it(w);
    assert_int_equal(truncate(w->file, BYTES - 1), 0);
    assert_int_equal(gw_spillfile_open(w->file, &w->what, &fd, &error), GW_ECORRUPT);
    assert_non_null(strstr(error.text, "2999999 of 3000000 bytes"));
    assert_int_equal(unlink(w->file), 0);
    write_it(w);
    fd = open(w->file, O_WRONLY);
    assert_int_equal(pwrite(fd, "\xff\xff", 2, BYTES / 2), 2);
    close(fd);
    assert_int_equal(gw_spillfile_open(w->file, &w->what, &fd, &error), GW_ECORRUPT);
    assert_int_equal(unlink(w->file), 0);
    assert_int_equal(gw_spillfile_open(w->file, &w->what, &fd, &error), GW_EIO);
}

static void full_disk_leaves_no_spill_file(void **state)
{
    struct world *w = *state;
    struct gw_error error;
    struct rlimit before, limit;
    int fd;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = BYTES / 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int rc = gw_spillfile_write(w->file, w->memory_fd, &w->what, &fd, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, GW_EIO);
    assert_non_null(strstr(error.text, "File too large"));
    assert_int_equal(access(w->file, F_OK), -1);
}

static void spill_folder_of_a_dead_worker_is_removed(void **state)
{
    struct world *w = *state;
    struct gw_error error;
    char other[PATH_MAX], third[PATH_MAX];
    int fd, third_fd;
    assert_int_equal(gw_spillfile_folder(w->parent, "/nowhere", other, &fd, &error), 0);
    assert_int_equal(access(w->path, F_OK), 0); /* its worker lives: it holds the lock */
    close(fd);
    assert_int_equal(gw_spillfile_folder(w->parent, "/nowhere", third, &third_fd, &error), 0);
    assert_int_equal(access(w->path, F_OK), 0);
    assert_int_equal(access(other, F_OK), -1);
    close(third_fd);
    assert_int_equal(gw_spillfile_folder("/nowhere", "/tmp", third, &third_fd, &error), GW_EIO);
    assert_non_null(strstr(error.text, "/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(spill_file_returns_the_written_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_spill_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_disk_leaves_no_spill_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spill_folder_of_a_dead_worker_is_removed, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
