/* Containers, arena, log and transition tables, compared with naive versions of themselves. */
#include "tests/unit/unit.h"

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/digest.h"
#include "graph/base/field.h"
#include "graph/base/heap.h"
#include "graph/base/log.h"
#include "graph/base/map.h"
#include "graph/base/sm.h"
#include "graph/base/strmap.h"
#include "graph/base/text.h"
#include "graph/base/thread.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static void array_pushes_removes_and_refuses_overflow(void **state)
{
    GW_ARRAY(uint32_t) array = {0};
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(gw_array_push(&array, i * 3), 0);
    assert_int_equal(array.count, 1000);
    gw_array_remove_swap(&array, 0);
    assert_int_equal(array.items[0], 999 * 3);
    assert_int_equal(array.count, 999);

    uint64_t sum = 0;
    uint32_t *item;
    GW_ARRAY_EACH (&array, item)
        sum += *item;
    assert_int_equal(sum, 3 * 999 * 1000 / 2);

    assert_int_equal(gw_array_reserve(&array, SIZE_MAX), GW_ENOMEM);
    assert_int_equal(gw_array_reserve(&array, SIZE_MAX / 2), GW_ENOMEM);
    assert_int_equal(array.count, 999);
    gw_array_clear(&array);
    assert_int_equal(array.count, 0);
    gw_array_deinit(&array);
    assert_null(array.items);
}

struct thing {
    uint32_t rank;
    size_t at; /* its place in the heap */
};

static bool is_less(const struct thing *a, const struct thing *b)
{
    return a->rank < b->rank;
}

static void put(struct thing **items, size_t at, struct thing *thing)
{
    items[at] = thing;
    thing->at = at;
}

GW_HEAP(things, struct thing *, is_less, put)

static void heap_pops_the_minimum_and_removes_any_item(void **state)
{
    enum { THINGS = 300 };
    struct thing all[THINGS];
    GW_ARRAY(struct thing *) heap = {0};
    uint64_t seed = 7;
    uint32_t before = 0;
    for (uint32_t i = 0; i < THINGS; i++) {
        all[i].rank = next_random(&seed) % 50;
        assert_int_equal(gw_array_push(&heap, &all[i]), 0);
        things_up(heap.items, heap.count - 1);
    }
    for (uint32_t i = 0; i < THINGS; i += 3) { /* every third item, wherever it is */
        assert_ptr_equal(heap.items[all[i].at], &all[i]);
        things_remove(heap.items, &heap.count, all[i].at);
    }
    for (uint32_t left = THINGS - THINGS / 3; left > 0; left--) {
        assert_int_equal(heap.count, left);
        assert_true(heap.items[0]->rank >= before);
        before = heap.items[0]->rank;
        things_remove(heap.items, &heap.count, 0);
    }
    gw_array_deinit(&heap);
}

enum { KEYS = 512 };

/* The special keys of the open addressing are ordinary keys for the user. */
static uint64_t key_of(uint32_t i)
{
    return i == 0 ? UINT64_MAX : i == 1 ? 0 : (uint64_t)i << (i % 2 * 40);
}

static void map_matches_a_table_after_random_operations(void **state)
{
    struct gw_map map = {0};
    bool there[KEYS] = {0};
    uint64_t values[KEYS] = {0};
    uint64_t random = 7;
    size_t count = 0;
    uint64_t value;

    assert_false(gw_map_get(&map, 1, &value));
    assert_false(gw_map_remove(&map, 1));
    for (int step = 0; step < 20000; step++) {
        uint32_t k = next_random(&random) % KEYS;
        if (next_random(&random) % 2) {
            values[k] = next_random(&random);
            count += !there[k];
            there[k] = true;
            assert_int_equal(gw_map_put(&map, key_of(k), values[k]), 0);
        } else {
            assert_int_equal(gw_map_remove(&map, key_of(k)), there[k]);
            count -= there[k];
            there[k] = false;
        }
        assert_int_equal(map.count, count);
        k = next_random(&random) % KEYS;
        assert_int_equal(gw_map_get(&map, key_of(k), &value), there[k]);
        if (there[k])
            assert_int_equal(value, values[k]);
    }
    for (uint32_t k = 0; k < KEYS; k++) {
        assert_int_equal(gw_map_get(&map, key_of(k), &value), there[k]);
        if (there[k])
            assert_int_equal(value, values[k]);
    }

    size_t at = 0, seen = 0;
    uint64_t key;
    while (gw_map_next(&map, &at, &key, &value)) {
        seen++;
        assert_true(gw_map_get(&map, key, NULL));
    }
    assert_int_equal(seen, count);
    gw_map_deinit(&map);
    at = 0;
    assert_false(gw_map_next(&map, &at, &key, &value));
}

static void reserved_map_never_grows_or_overflows(void **state)
{
    struct gw_map map = {0};
    assert_int_equal(gw_map_reserve(&map, 1000), 0);
    struct gw_map_slot *slots = map.slots;
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(gw_map_put(&map, i, i), 0);
    assert_ptr_equal(map.slots, slots);
    assert_int_equal(gw_map_reserve(&map, SIZE_MAX), GW_ENOMEM);
    assert_int_equal(gw_map_reserve(&map, SIZE_MAX / 2), GW_ENOMEM);
    gw_map_deinit(&map);
}

static void strmap_matches_a_table_after_random_operations(void **state)
{
    struct gw_strmap map = {0};
    bool there[KEYS] = {0};
    uint64_t values[KEYS] = {0};
    uint64_t random = 11;
    size_t count = 0;
    uint64_t value;
    char key[16];

    assert_false(gw_strmap_get(&map, "", &value));
    for (int step = 0; step < 20000; step++) {
        uint32_t k = next_random(&random) % KEYS;
        snprintf(key, sizeof key, k ? "key-%u" : "", k);
        if (next_random(&random) % 2) {
            values[k] = next_random(&random);
            count += !there[k];
            there[k] = true;
            assert_int_equal(gw_strmap_put(&map, key, values[k]), 0);
        } else {
            assert_int_equal(gw_strmap_remove(&map, key), there[k]);
            count -= there[k];
            there[k] = false;
        }
        assert_int_equal(map.count, count);
    }
    for (uint32_t k = 0; k < KEYS; k++) {
        snprintf(key, sizeof key, k ? "key-%u" : "", k);
        assert_int_equal(gw_strmap_get(&map, key, &value), there[k]);
        if (there[k])
            assert_int_equal(value, values[k]);
    }
    size_t at = 0, seen = 0;
    const char *text;
    while (gw_strmap_next(&map, &at, &text, &value)) {
        seen++;
        assert_true(gw_strmap_get(&map, text, NULL));
    }
    assert_int_equal(seen, count);
    gw_strmap_deinit(&map);
}

static void arena_returns_zeroed_aligned_memory(void **state)
{
    struct gw_arena arena = {0};
    for (int round = 0; round < 3; round++) {
        uint64_t random = 5;
        for (int i = 0; i < 500; i++) {
            size_t bytes = next_random(&random) % (i % 50 == 0 ? 600000 : 300);
            unsigned char *memory = gw_arena_alloc(&arena, bytes);
            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory % 16, 0);
            for (size_t b = 0; b < bytes; b++)
                if (memory[b])
                    fail_msg("byte %zu of %zu is not zero", b, bytes);
            memset(memory, 0xaa, bytes);
        }
        gw_arena_reset(&arena);
    }
    char *text = gw_arena_strdup(&arena, "gangway");
    assert_string_equal(text, "gangway");
    assert_memory_equal(gw_arena_copy(&arena, "ab", 2), "ab", 2);
    assert_non_null(gw_arena_copy(&arena, NULL, 0));
    assert_null(gw_arena_alloc(&arena, SIZE_MAX));
    assert_null(gw_arena_alloc(&arena, PTRDIFF_MAX));
    gw_arena_deinit(&arena);
    assert_null(arena.blocks);
}

enum { LAMP_OFF, LAMP_ON, LAMP_BROKEN };
static const struct gw_sm_state lamp_states[] = {
    [LAMP_OFF] = {"off", GW_SM_NEXT(LAMP_ON)},
    [LAMP_ON] = {"on", GW_SM_NEXT(LAMP_OFF) | GW_SM_NEXT(LAMP_BROKEN)},
    [LAMP_BROKEN] = {"broken", 0},
};

static void state_machine_counts_moves_and_draws_a_diagram(void **state)
{
    uint64_t taken[9] = {0};
    struct gw_sm sm = {"lamp", lamp_states, 3, taken};
    uint8_t lamp = LAMP_OFF;
    gw_sm_move(&sm, &lamp, LAMP_ON);
    gw_sm_move(&sm, &lamp, LAMP_OFF);
    gw_sm_move(&sm, &lamp, LAMP_ON);
    assert_int_equal(lamp, LAMP_ON);
    assert_int_equal(taken[LAMP_OFF * 3 + LAMP_ON], 2);
    assert_true(gw_sm_may(&sm, LAMP_ON, LAMP_BROKEN));
    assert_false(gw_sm_may(&sm, LAMP_BROKEN, LAMP_ON));
    assert_false(gw_sm_may(&sm, LAMP_OFF, 3));
    assert_string_equal(gw_sm_name(&sm, 2), "broken");
    assert_string_equal(gw_sm_name(&sm, 3), "?");

    char text[512] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    gw_sm_diagram(&sm, out);
    fclose(out);
    assert_non_null(strstr(text, "digraph \"lamp\""));
    assert_non_null(strstr(text, "\"off\" -> \"on\" [label=\"2\"];"));
    assert_non_null(strstr(text, "\"on\" -> \"broken\";"));
    assert_null(strstr(text, "\"off\" -> \"broken\""));
}

static void each_log_call_writes_a_single_line(void **state)
{
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    int saved = dup(STDERR_FILENO);
    dup2(pipe_fds[1], STDERR_FILENO);
    setenv("GANGWAY_LOG", "info", 1);
    gw_log_init("tester", GW_LOG_ERROR);
    gw_log_debug("unseen");
    gw_log_info("%d tasks", 3);
    char giant[6000];
    memset(giant, 'x', sizeof giant - 1);
    giant[sizeof giant - 1] = '\0';
    gw_log_warn("%s", giant);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipe_fds[1]);

    char text[8192];
    ssize_t bytes = 0, got;
    while ((got = read(pipe_fds[0], text + bytes, sizeof text - 1 - (size_t)bytes)) > 0)
        bytes += got;
    text[bytes] = '\0';
    close(pipe_fds[0]);
    assert_int_equal(text[4], '-');
    assert_int_equal(text[10], 'T');
    assert_memory_equal(text + 23, " tester info: 3 tasks\n", 22);
    assert_int_equal(text[bytes - 1], '\n');
    assert_null(strstr(text, "unseen"));
    unsetenv("GANGWAY_LOG");
    gw_log_init("tester", GW_LOG_WARN);
}

static void monotonic_clock_never_goes_back(void **state)
{
    uint64_t first = gw_clock_now_ns();
    assert_true(gw_clock_now_ns() >= first);
    assert_true(gw_clock_wall_ns() > UINT64_C(1700000000) * GW_NS_PER_S);
}

/* These are the first two vectors of the authors' table: key 00 to 0f, input 00 01 02... */
static void digest_matches_siphash_test_vectors(void **state)
{
    static const struct {
        size_t bytes;
        const char *digest;
    } vectors[] = {
        {0, "\xa3\x81\x7f\x04\xba\x25\xa8\xe6\x6d\xf6\x72\x14\xc7\x55\x02\x93"},
        {1, "\xda\x87\xc1\xd8\x6b\x99\xaf\x44\x34\x76\x59\x11\x9b\x22\xfc\x45"},
    };
    const struct gw_digest key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint8_t input[64];
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct gw_digest digest = gw_digest_bytes(key, input, vectors[i].bytes);
        assert_memory_equal(&digest, vectors[i].digest, sizeof digest);
    }
    for (size_t a = 0; a < sizeof input; a++) /* every byte and every length matters */
        for (size_t b = 0; b < a; b++) {
            struct gw_digest x = gw_digest_bytes(key, input, a), y = gw_digest_bytes(key, input, b);
            assert_memory_not_equal(&x, &y, sizeof x);
        }
    for (size_t i = 0; i < 20; i++) {
        struct gw_digest x = gw_digest_bytes(key, input, 20), y;
        input[i] ^= 0x80;
        y = gw_digest_bytes(key, input, 20);
        input[i] ^= 0x80;
        assert_memory_not_equal(&x, &y, sizeof x);
    }
}

__attribute__((format(printf, 3, 4))) static int set_by_list(struct gw_error *error, int code,
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = gw_error_set_v(error, code, format, args);
    va_end(args);
    return rc;
}

static void error_functions_format_and_prefix_texts(void **state)
{
    struct gw_error error;
    assert_int_equal(gw_error_set(&error, GW_EINVAL, "bad %d", 7), GW_EINVAL);
    assert_int_equal(gw_error_prefix(&error, "task %s", "a"), GW_EINVAL);
    assert_string_equal(error.text, "task a: bad 7");
    assert_string_equal(gw_error_name(GW_ECYCLE), "GW_ECYCLE");
    assert_string_equal(gw_error_name(-999), "GW_E?");
    assert_int_equal(gw_error_set(NULL, GW_EIO, "x"), GW_EIO);
    assert_int_equal(set_by_list(&error, GW_ENOENT, "no %s number %d", "file", 7), GW_ENOENT);
    assert_int_equal(error.code, GW_ENOENT);
    assert_string_equal(error.text, "no file number 7");
    assert_int_equal(set_by_list(NULL, GW_EIO, "x"), GW_EIO);
}

static void text_check_accepts_only_printable_utf8_lines(void **state)
{
    static const char *const well[] = {"",
                                       "a b",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\xe2\x80\x8d",
                                       "\xe2\x80\xa7",
                                       "\xe2\x80\xaf",
                                       "\xe2\x81\xa5"};
    static const char *const ill[] = {
        "a\nb",
        "\x7f",
        "\xff\xfe",
        "\xc3",
        "\xc0\xaf",
        "\xed\xa0\x80",
        "\xc2\x85",
        "\xe2\x82\xacx\x80",
        "\xf4\x90\x80\x80",
        "\t",
        "a\xe2\x80\xa8z", /* U+2028 ends a line */
        "\xe2\x80\xa9",
        "\xe2\x80\xaa", /* U+202A to U+202E reverse the following text */
        "\xe2\x80\xae z",
        "\xe2\x81\xa6", /* so do U+2066 to U+2069 */
        "\xe2\x81\xa9"};
    (void)state;
    for (size_t i = 0; i < sizeof well / sizeof *well; i++)
        assert_true(gw_text_is_line(well[i], strlen(well[i])));
    for (size_t i = 0; i < sizeof ill / sizeof *ill; i++)
        assert_false(gw_text_is_line(ill[i], strlen(ill[i])));
    assert_false(gw_text_is_line("a\0b", 3));
}

static void duration_text_has_suitable_units(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } all[] = {{0, "0s"},
               {1, "1ns"},
               {850 * GW_NS_PER_US, "850us"},
               {12 * GW_NS_PER_MS, "12ms"},
               {GW_NS_PER_S, "1s"},
               {4250 * GW_NS_PER_MS, "4.3s"},
               {999999999, "1s"},
               {59949 * GW_NS_PER_MS, "59.9s"},
               {59950 * GW_NS_PER_MS, "1m"},
               {60 * GW_NS_PER_S, "1m"},
               {185 * GW_NS_PER_S, "3m05s"},
               {5400 * GW_NS_PER_S, "1h30m"},
               {86400 * GW_NS_PER_S, "1d"},
               {187200 * GW_NS_PER_S, "2d04h"},
               {UINT64_MAX, "213503d23h"}};
    char text[GW_TEXT_DURATION_ROOM];
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_string_equal(gw_text_duration(all[i].ns, text), all[i].text);
}

static void reals_have_as_few_digits_as_they_need(void **state)
{
    static const char *const all[] = {
        "0.1", "3", "-0.2", "1e-300", "0.31868550193880761", "1e+22", "123456789012345"};
    char text[GW_TEXT_REAL_ROOM];
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const double real = strtod(all[i], NULL);
        assert_true(strlen(gw_text_real(real, text)) <= strlen(all[i]));
        assert_true(strtod(text, NULL) == real);
    }
    assert_string_equal(gw_text_real(0.1 + 0.2, text), "0.30000000000000004");
    assert_string_equal(gw_text_real(0.3186855019388076, text), "0.3186855019388076");
}

static void field_functions_find_count_and_number_fields(void **state)
{
    static const char line[] = "  one\ttwo \"three  four\" ";
    static const char *const fields[] = {"one", "two", "\"three", "four\""};
    size_t bytes;
    for (uint32_t i = 0; i < 4; i++) {
        const char *field = gw_field_find(line, sizeof line - 1, i + 1, &bytes);
        assert_non_null(field);
        assert_int_equal(bytes, strlen(fields[i]));
        assert_memory_equal(field, fields[i], bytes);
    }
    assert_null(gw_field_find(line, sizeof line - 1, 5, &bytes));
    assert_null(gw_field_find(" \t", 2, 1, &bytes));
    assert_null(gw_field_find(NULL, 0, 1, &bytes));
    assert_int_equal(gw_field_count(line, sizeof line - 1), 4);
    assert_int_equal(gw_field_count("", 0), 0);
    static const char *const names[] = {"",   "0",  "01",         "1a",  "-1",
                                        "+1", "1 ", "1234567890", "line"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(gw_field_number(names[i], strlen(names[i])), 0);
    assert_int_equal(gw_field_number("1}", 1), 1);
    assert_int_equal(gw_field_number("10", 2), 10);
    assert_int_equal(gw_field_number("999999999", 9), 999999999);
}

static void *blocked_read(void *arg)
{
    (void)pthread_sigmask(SIG_BLOCK, NULL, arg);
    return NULL;
}

static void thread_of_a_library_blocks_signals_and_its_creator_does_not(void **state)
{
    sigset_t before, during, after;
    pthread_t thread;
    (void)blocked_read(&before);
    assert_int_equal(gw_thread_start(&thread, blocked_read, &during), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)blocked_read(&after);
    for (int signal = 1; signal < SIGRTMIN; signal++) {
        if (signal != SIGKILL && signal != SIGSTOP && signal < 32)
            assert_true(sigismember(&during, signal));
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals_have_as_few_digits_as_they_need),
        cmocka_unit_test(field_functions_find_count_and_number_fields),
        cmocka_unit_test(array_pushes_removes_and_refuses_overflow),
        cmocka_unit_test(heap_pops_the_minimum_and_removes_any_item),
        cmocka_unit_test(map_matches_a_table_after_random_operations),
        cmocka_unit_test(reserved_map_never_grows_or_overflows),
        cmocka_unit_test(strmap_matches_a_table_after_random_operations),
        cmocka_unit_test(arena_returns_zeroed_aligned_memory),
        cmocka_unit_test(state_machine_counts_moves_and_draws_a_diagram),
        cmocka_unit_test(each_log_call_writes_a_single_line),
        cmocka_unit_test(monotonic_clock_never_goes_back),
        cmocka_unit_test(digest_matches_siphash_test_vectors),
        cmocka_unit_test(error_functions_format_and_prefix_texts),
        cmocka_unit_test(text_check_accepts_only_printable_utf8_lines),
        cmocka_unit_test(thread_of_a_library_blocks_signals_and_its_creator_does_not),
        cmocka_unit_test(duration_text_has_suitable_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
