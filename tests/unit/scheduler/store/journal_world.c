/* See journal_world.h. */
#include "tests/unit/scheduler/store/journal_world.h"

#include "graph/base/dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_on_committed(uint64_t number, void *arg)
{
    struct seen *seen = arg;
    seen->last = number;
    seen->calls++;
}

static void test_on_room(const struct gw_error *why, void *arg)
{
    struct seen *seen = arg;
    if (why)
        (void)snprintf(seen->text, sizeof seen->text, "%s", why->text);
    *(why ? &seen->full : &seen->roomy) += 1;
}

static void test_on_failed(const struct gw_error *error, void *arg)
{
    struct seen *seen = arg;
    (void)snprintf(seen->text, sizeof seen->text, "%s", error->text);
    seen->failed++;
}

int world_open(struct world *world, const char *dir)
{
    const struct gw_journal_callbacks callbacks = {test_on_committed, test_on_room, test_on_failed,
                                                   &world->seen};
    memset(world, 0, sizeof *world);
    assert_int_equal(uv_loop_init(&world->loop), 0);
    return gw_journal_open(&world->loop, dir, &callbacks, &world->facts, &world->journal,
                           &world->error);
}

void world_close(struct world *world)
{
    if (world->journal)
        gw_journal_close(world->journal);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    gw_buffer_deinit(&world->facts);
}

void append(struct world *world, uint64_t number, const char *text)
{
    const struct gw_bin fact = {text, (uint32_t)strlen(text)};
    assert_int_equal(gw_journal_append(world->journal, number, fact, false), 0);
}

char *make_dir(char dir[PATH_MAX])
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(dir, PATH_MAX, "%s/gw-journal-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(dir));
    return dir;
}

void remove_dir(const char *dir)
{
    struct gw_error error;
    assert_int_equal(gw_dir_remove(dir, &error), 0);
}

void path_in(const char *dir, const char *name, char path[PATH_MAX])
{
    assert_true(snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX);
}

size_t read_file(const char *path, uint8_t **bytes)
{
    FILE *file = fopen(path, "re");
    *bytes = NULL;
    if (!file)
        return 0;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    *bytes = malloc(size + 1);
    assert_non_null(*bytes);
    assert_int_equal(fread(*bytes, 1, size, file), size);
    (void)fclose(file);
    return size;
}

void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

bool there_is(const char *dir, const char *name)
{
    char path[PATH_MAX];
    path_in(dir, name, path);
    return access(path, F_OK) == 0;
}
