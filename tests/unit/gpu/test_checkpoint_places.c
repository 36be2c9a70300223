/* gw_checkpoint_comm_load_into: sections go straight into memory of all ranks, on the host or on a
 * device; what differs from the file or between ranks is every rank's error. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include <gangway/checkpoint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef COMM_HOOKS
#define COMM_HOOKS comm_host_hooks
#endif
extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { CHUNK = 16 << 20, LARGE = 2 * CHUNK + 5, RANKS = 3 };

static char path[] = "/tmp/gangway-places-XXXXXX";

static char large[LARGE];

/* Sections of a chunk, of more, of one byte, of none; a small one and a number. */
static void file_write(void)
{
    struct gw_checkpoint *set = gw_checkpoint_new();
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * 7 + i / 1000);
    assert_int_equal(gw_checkpoint_set_bytes(set, "large", large, LARGE), 0);
    assert_int_equal(gw_checkpoint_set_bytes(set, "chunk", large + 1, CHUNK), 0);
    assert_int_equal(gw_checkpoint_set_i64(set, "step", 7), 0);
    assert_int_equal(gw_checkpoint_set_bytes(set, "byte", large + 2, 1), 0);
    assert_int_equal(gw_checkpoint_set_bytes(set, "none", NULL, 0), 0);
    assert_int_equal(gw_checkpoint_set_bytes(set, "small", large + 3, 100), 0);
    assert_int_equal(gw_checkpoint_file_write(set, path, NULL), 0);
    gw_checkpoint_free(set);
}

static int memory_check(struct world_rank *self, const void *memory, size_t from, size_t bytes)
{
    static char seen[LARGE];
    hooks->copy(seen, memory, bytes);
    RANK_CHECK(memcmp(seen, large + from, bytes) == 0);
    return 0;
}

static int rank_loads(struct world_rank *self)
{
    struct gw_checkpoint *set;
    const void *data;
    void *memory;
    size_t bytes;
    int64_t step;
    RANK_CHECK_RC(gw_comm_alloc(self->comm, LARGE + CHUNK + 64, &memory, NULL), 0);
    const struct gw_checkpoint_place places[] = {
        {"none", NULL, 0},
        {"chunk", (char *)memory + LARGE, CHUNK},
        {"large", memory, LARGE},
        {"byte", (char *)memory + LARGE + CHUNK, 1},
    };
    RANK_CHECK_RC(gw_checkpoint_comm_load_into(self->comm, path, places, 4, &set, NULL), 0);
    RANK_CHECK_RC(memory_check(self, memory, 0, LARGE), 0);
    RANK_CHECK_RC(memory_check(self, (char *)memory + LARGE, 1, CHUNK), 0);
    RANK_CHECK_RC(memory_check(self, (char *)memory + LARGE + CHUNK, 2, 1), 0);
    RANK_CHECK_RC(gw_checkpoint_i64(set, "step", &step), 0);
    RANK_CHECK(step == 7);
    RANK_CHECK_RC(gw_checkpoint_bytes(set, "small", &data, &bytes), 0);
    RANK_CHECK(bytes == 100 && *(const char *)data == large[3]);
    RANK_CHECK_RC(gw_checkpoint_bytes(set, "large", &data, &bytes), GW_ENOENT);
    RANK_CHECK_RC(gw_checkpoint_bytes(set, "none", &data, &bytes), GW_ENOENT);
    gw_checkpoint_free(set);
    gw_comm_dealloc(self->comm, memory);
    return 0;
}

static void sections_go_to_their_places_on_all_ranks(void **state)
{
    file_write();
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        struct world world = {.hooks = hooks, .ranks = ranks, .function = rank_loads};
        assert_int_equal(world_run(&world), 0);
    }
}

static int refusal_check(struct world_rank *self, struct gw_checkpoint_place place, int wanted,
                         const char *text)
{
    struct gw_checkpoint *set = NULL;
    struct gw_error error;
    RANK_CHECK_RC(gw_checkpoint_comm_load_into(self->comm, path, &place, 1, &set, &error), wanted);
    RANK_CHECK(strstr(error.text, text) && !set);
    return 0;
}

static int rank_is_refused(struct world_rank *self)
{
    char memory[128];
    struct gw_checkpoint *set = NULL;
    struct gw_error error;
#define REFUSED(wanted, text, ...)                                                                 \
    RANK_CHECK_RC(refusal_check(self, (struct gw_checkpoint_place){__VA_ARGS__}, wanted, text), 0)
    REFUSED(GW_EMISMATCH, "there is no section \"other\"", "other", memory, 1);
    REFUSED(GW_EINVAL, "section \"step\": it is an integer", "step", memory, 8);
    REFUSED(GW_EMISMATCH, "has 100 bytes, its place 99", "small", memory, 99);
    REFUSED(GW_EMISMATCH, "has 100 bytes, its place 101", "small", memory, 101);
    if (self->ranks > 1) { /* the last rank passes others */
        const bool is_last = self->rank == self->ranks - 1;
        REFUSED(GW_EMISMATCH, "rank 2 passes places with other names or sizes than rank 0",
                is_last ? "byte" : "small", memory, 100);
        REFUSED(GW_EMISMATCH, "rank 2 passes places", "small", memory, is_last ? 99 : 100);
    }
    RANK_CHECK_RC(gw_checkpoint_comm_load_into(self->comm, "/nowhere/there", NULL, 0, &set, &error),
                  GW_ENOENT);
    REFUSED(GW_EMISMATCH, "its place 0", "small", NULL, 0);
    return 0; /* the communicator is whole */
}

static void wrong_places_are_the_error_of_all_ranks(void **state)
{
    file_write();
    for (int ranks = 1; ranks <= RANKS; ranks += 2) {
        struct world world = {.hooks = hooks, .ranks = ranks, .function = rank_is_refused};
        assert_int_equal(world_run(&world), 0);
    }
}

static int file_make(void **state)
{
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int file_remove(void **state)
{
    char previous[sizeof path + 16];
    (void)snprintf(previous, sizeof previous, "%s.previous", path);
    (void)unlink(previous);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_go_to_their_places_on_all_ranks),
        cmocka_unit_test(wrong_places_are_the_error_of_all_ranks),
    };
    return cmocka_run_group_tests(tests, file_make, file_remove);
}
