/* Values as MessagePack: encoded and decoded, read by msgpack-c, too, and refused if they are
 * malformed. */
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "graph/wire/value_file.h"

#include <math.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A value of every type, with integers at the limits of their encodings. */
static struct gw_value *sample(void)
{
    static const int64_t borders[] = {
        0,   1,    127,  128,    255,    256,       65535,     65536,      -1,        -32,
        -33, -128, -129, -32768, -32769, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
    static char text[70000];
    memset(text, 't', sizeof text - 1);
    struct gw_value *list = gw_list(), *dict = gw_dict(), *many = gw_list();
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++)
        gw_list_push(list, gw_i64(borders[i]));
    gw_list_push(list, gw_f64(-1.5e300));
    gw_list_push(list, gw_f64(INFINITY));
    gw_list_push(list, gw_bool(true));
    gw_list_push(list, gw_bool(false));
    gw_list_push(list, gw_nil());
    gw_list_push(list, gw_str(""));
    gw_list_push(list, gw_str(text));
    gw_list_push(list, gw_str(text + sizeof text - 32));
    gw_list_push(list, gw_str(text + sizeof text - 300));
    gw_list_push(list, gw_bytes_copy(text, 0));
    gw_list_push(list, gw_bytes_copy(text, 300));
    gw_list_push(list, gw_bytes_copy(text, sizeof text));
    for (int i = 0; i < 20; i++) {
        char key[8] = {'k', (char)('a' + i)};
        gw_dict_set(dict, key, gw_i64(i));
        gw_list_push(many, gw_list());
    }
    gw_list_push(list, dict);
    gw_list_push(list, many);
    return list;
}

static void encoded_value_decodes_to_an_equal_value(void **state)
{
    struct gw_value *value = sample(), *back = NULL;
    struct gw_buffer buffer = {0};
    assert_int_equal(gw_codec_encode(value, NULL, &buffer), 0);
    assert_int_equal(gw_codec_decode(buffer.data, buffer.size, NULL, &back, NULL), 0);
    assert_true(gw_value_equal(value, back));

    msgpack_unpacked other; /* an independent reader sees one whole object */
    msgpack_unpacked_init(&other);
    size_t at = 0;
    assert_int_equal(msgpack_unpack_next(&other, (const char *)buffer.data, buffer.size, &at),
                     MSGPACK_UNPACK_SUCCESS);
    assert_int_equal(at, buffer.size);
    assert_int_equal(other.data.via.array.size, gw_value_count(value));
    assert_true(other.data.via.array.ptr[18].via.u64 == INT64_MAX);
    assert_true(other.data.via.array.ptr[19].via.i64 == INT64_MIN);
    msgpack_unpacked_destroy(&other);
    gw_value_unref(value);
    gw_value_unref(back);
    gw_buffer_deinit(&buffer);
}

static int released;
static void on_release(void *data, size_t bytes)
{
    released++;
    free(data);
}

static void text_array_encodes_like_a_list_of_strings(void **state)
{
    enum { TEXTS_MAX = 70000 };
    static const size_t lengths[] = {0, 1, 31, 32, 255, 256, 65535, 65536},
                        counts[] = {0, 1, 15, 16, 65535, TEXTS_MAX};
    const char **texts = malloc(TEXTS_MAX * sizeof *texts);
    char *long_text = malloc(65537);
    memset(long_text, 't', 65536);
    long_text[65536] = 0;
    for (size_t i = 0; i < TEXTS_MAX; i++)
        texts[i] = long_text + 65536 - (i < 64 ? lengths[i % 8] : i % 8);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct gw_buffer wanted = {0}, got = {0};
        struct gw_value *list = gw_list();
        for (size_t k = 0; k < counts[i]; k++)
            assert_int_equal(gw_list_push(list, gw_str(texts[k])), 0);
        assert_int_equal(gw_codec_encode(list, NULL, &wanted), 0);
        assert_int_equal(gw_codec_encode_texts(texts, counts[i], &got), 0);
        assert_int_equal(got.size, wanted.size);
        assert_memory_equal(got.data, wanted.data, wanted.size);
        gw_value_unref(list);
        gw_buffer_deinit(&wanted);
        gw_buffer_deinit(&got);
    }
    free(long_text);
    free(texts);
}

static void decoded_bytes_hold_a_reference_to_their_buffer(void **state)
{
    struct gw_value *value = gw_list(), *back = NULL;
    struct gw_buffer buffer = {0};
    const void *data;
    size_t bytes;
    gw_list_push(value, gw_bytes("12345", 5));
    gw_list_push(value, gw_str("text"));
    assert_int_equal(gw_codec_encode(value, NULL, &buffer), 0);
    gw_value_unref(value);

    released = 0;
    struct gw_value *owner = gw_bytes_owned(buffer.data, buffer.size, on_release);
    assert_int_equal(gw_codec_decode(buffer.data, buffer.size, owner, &back, NULL), 0);
    gw_value_unref(owner);
    assert_int_equal(released, 0);
    assert_int_equal(gw_value_get_bytes(gw_value_at(back, 0), &data, &bytes, NULL), 0);
    assert_ptr_equal(data, buffer.data + 3);
    gw_value_unref(back);
    assert_int_equal(released, 1);
}

static void references_encode_as_a_list_of_dependencies(void **state)
{
    struct gw_codec_deps deps = {0};
    struct gw_buffer buffer = {0};
    struct gw_value *list = gw_list(), *back = NULL;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 100; i++)
            gw_list_push(list, gw_result_rank((gw_node){i * 3}, i % 2 ? (int32_t)i : GW_RANK_ALL));
    assert_int_equal(gw_codec_encode(list, NULL, &buffer), GW_EINVAL);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(gw_codec_encode(list, &deps, &buffer), 0);
    assert_int_equal(deps.list.count, 100);
    assert_int_equal(deps.list.items[5].index, 15);
    assert_int_equal(deps.list.items[5].rank, 5);
    assert_int_equal(deps.list.items[4].rank, GW_DEP_ALL);
    assert_int_equal(gw_codec_decode(buffer.data, buffer.size, NULL, &back, NULL), 0);
    for (uint32_t i = 0; i < 200; i++) {
        gw_node node;
        int32_t rank;
        assert_int_equal(gw_value_get_result(gw_value_at(back, i), &node, &rank), 0);
        assert_int_equal(node.index, i % 100);
    }
    gw_value_unref(back);
    gw_value_unref(list);

    gw_codec_deps_clear(&deps);
    buffer.size = 0;
    list = gw_result((gw_node){9});
    assert_int_equal(gw_codec_encode(list, &deps, &buffer), 0);
    assert_int_equal(deps.list.count, 1);
    assert_memory_equal(buffer.data, "\xd6\x01\0\0\0\0", 6);
    gw_value_unref(list);
    list = gw_result_rank((gw_node){9}, -2);
    assert_int_equal(gw_codec_encode(list, &deps, &buffer), GW_EINVAL);
    gw_value_unref(list);
    gw_codec_deps_deinit(&deps);
    gw_buffer_deinit(&buffer);
}

static void list_with_a_failed_item_cannot_be_encoded(void **state)
{
    struct gw_value *list = gw_list();
    struct gw_buffer buffer = {0};
    gw_list_push(list, NULL);
    assert_int_equal(gw_codec_encode(list, NULL, &buffer), GW_ENOMEM);
    assert_int_equal(gw_codec_encode(NULL, NULL, &buffer), GW_ENOMEM);
    assert_int_equal(buffer.size, 0);
    gw_value_unref(list);
}

static void assert_refused(const void *data, size_t bytes, const char *wanted)
{
    struct gw_value *value = NULL;
    struct gw_error error;
    assert_int_equal(gw_codec_decode(data, bytes, NULL, &value, &error), GW_EPROTO);
    if (!strstr(error.text, wanted))
        fail_msg("\"%s\" says nothing of \"%s\"", error.text, wanted);
    assert_null(value);
}

static void decode_errors_state_the_cause(void **state)
{
    assert_refused("\xcf\x80\0\0\0\0\0\0\0", 9, "above 2^63");
    assert_refused("\x91\xa3"
                   "a\0b",
                   5, "NUL");
    assert_refused("\x81\x01\x02", 3, "key");
    assert_refused("\x81\xa1\0\x02", 4, "key");
    assert_refused("\xd6\x02\0\0\0\0", 6, "no reference");
    assert_refused("\xd4\x01\0", 3, "no reference");
    assert_refused("\xdd\xff\xff\xff\xff", 5, "announced");
    assert_refused("", 0, "damaged");
}

static void huge_announced_sizes_allocate_nothing(void **state)
{
    struct gw_value *value;
    gw_alloc_fail_after(-1);
    assert_int_equal(gw_codec_decode("\xdd\xff\xff\xff\xff", 5, NULL, &value, NULL), GW_EPROTO);
    assert_int_equal(gw_codec_decode("\xdf\xff\xff\xff\xff", 5, NULL, &value, NULL), GW_EPROTO);
    assert_int_equal(gw_alloc_count(), 0);
}

static void truncated_and_corrupt_values_are_refused(void **state)
{
    struct gw_value *value = gw_list(), *dict = gw_dict(), *back;
    struct gw_buffer buffer = {0};
    struct gw_codec_deps deps = {0};
    gw_dict_set(dict, "key", gw_str("text"));
    gw_dict_set(dict, "f", gw_f64(1.5));
    gw_list_push(value, dict);
    gw_list_push(value, gw_result((gw_node){1}));
    gw_list_push(value, gw_bytes("12345678", 8));
    gw_list_push(value, gw_i64(-70000));
    assert_int_equal(gw_codec_encode(value, &deps, &buffer), 0);
    for (size_t bytes = 0; bytes < buffer.size; bytes++) {
        uint8_t *copy = malloc(bytes ? bytes : 1);
        memcpy(copy, buffer.data, bytes);
        assert_int_equal(gw_codec_decode(copy, bytes, NULL, &back, NULL), GW_EPROTO);
        free(copy);
    }
    for (size_t bit = 0; bit < buffer.size * 8; bit++) {
        buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int rc = gw_codec_decode(buffer.data, buffer.size, NULL, &back, NULL);
        buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_true(rc == 0 || rc == GW_EPROTO);
        if (rc == 0)
            gw_value_unref(back);
    }
    gw_value_unref(value);
    gw_codec_deps_deinit(&deps);
    gw_buffer_deinit(&buffer);
}

static void codec_reports_out_of_memory_at_every_allocation(void **state)
{
    struct gw_value *value = sample(), *back = NULL;
    struct gw_buffer buffer = {0};
    struct gw_error error;
    gw_alloc_fail_after(0);
    assert_int_equal(gw_codec_encode(value, NULL, &buffer), GW_ENOMEM);
    gw_alloc_fail_after(-1);
    assert_int_equal(gw_codec_encode(value, NULL, &buffer), 0);
    int rc = GW_ENOMEM;
    for (int64_t count = 0; rc < 0; count++) {
        gw_alloc_fail_after(count);
        rc = gw_codec_decode(buffer.data, buffer.size, NULL, &back, &error);
        gw_alloc_fail_after(-1);
        if (rc < 0) {
            assert_int_equal(rc, GW_ENOMEM);
            assert_string_equal(error.text, "out of memory");
        }
        assert_true(count < 1000);
    }
    assert_true(gw_value_equal(value, back));
    gw_value_unref(value);
    gw_value_unref(back);
    gw_buffer_deinit(&buffer);
}

/* A header that is encoded apart from its bytes equals the header of a joint encoding. */
static void separate_bytes_header_equals_the_encoded_header(void **state)
{
    static const size_t sizes[] = {256, 65535, 65536, 300000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gw_buffer buffer = {0};
        uint8_t *data = calloc(1, sizes[i]), to[GW_CODEC_HEAD_MAX];
        assert_non_null(data);
        struct gw_value *value = gw_bytes(data, sizes[i]);
        assert_int_equal(gw_codec_encode(value, NULL, &buffer), 0);
        const struct gw_bin head = gw_codec_bytes_head(sizes[i], to);
        assert_int_equal(head.size + sizes[i], buffer.size);
        assert_memory_equal(head.data, buffer.data, head.size);
        gw_buffer_deinit(&buffer);
        gw_value_unref(value);
        free(data);
    }
}

/* A file with a list of one bytes value, all of them x; returns the size of the list. */
static size_t file_with(size_t bytes, int x, int *fd)
{
    struct gw_buffer buffer = {0};
    struct gw_value *list = gw_list();
    char *data = malloc(bytes);
    assert_non_null(data);
    memset(data, x, bytes);
    assert_int_equal(gw_list_push(list, gw_bytes(data, bytes)), 0);
    assert_int_equal(gw_codec_encode(list, NULL, &buffer), 0);
    *fd = memfd_create("value", MFD_CLOEXEC);
    assert_int_equal(pwrite(*fd, buffer.data, buffer.size, 0), buffer.size);
    size_t size = buffer.size;
    gw_buffer_deinit(&buffer);
    gw_value_unref(list);
    free(data);
    return size;
}

/* Small files are read into the value's own memory; a mapping lives as long as any piece of it. */
static void value_decodes_from_a_file_and_outlives_the_file(void **state)
{
    static const size_t sizes[] = {1, 8192, 60000, 70000, 1 << 20};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gw_value *list = NULL;
        const void *data = NULL;
        size_t bytes = 0;
        int fd;
        size_t size = file_with(sizes[i], 'v', &fd);
        assert_int_equal(gw_value_file_decode(fd, size, &list, NULL), 0);
        if (sizes[i] <= 60000)
            assert_int_equal(ftruncate(fd, 0), 0);
        close(fd);
        struct gw_value *item = gw_value_ref(gw_value_at(list, 0));
        gw_value_unref(list);
        assert_int_equal(gw_value_get_bytes(item, &data, &bytes, NULL), 0);
        assert_int_equal(bytes, sizes[i]);
        assert_int_equal(((const char *)data)[0], 'v');
        assert_int_equal(((const char *)data)[bytes - 1], 'v');
        gw_value_unref(item);
    }
}

static void truncated_value_file_is_refused(void **state)
{
    static const size_t sizes[] = {8192, 1 << 20};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gw_value *value = NULL;
        struct gw_error error = {0};
        int fd;
        size_t size = file_with(sizes[i], 'v', &fd);
        assert_int_equal(ftruncate(fd, (off_t)(size / 2)), 0);
        assert_int_equal(gw_value_file_decode(fd, size, &value, &error), GW_EPROTO);
        assert_non_null(strstr(error.text, "only"));
        assert_null(value);
        close(fd);
        assert_int_equal(gw_value_file_decode(fd, size, &value, &error), GW_EIO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_value_decodes_to_an_equal_value),
        cmocka_unit_test(text_array_encodes_like_a_list_of_strings),
        cmocka_unit_test(decoded_bytes_hold_a_reference_to_their_buffer),
        cmocka_unit_test(separate_bytes_header_equals_the_encoded_header),
        cmocka_unit_test(value_decodes_from_a_file_and_outlives_the_file),
        cmocka_unit_test(truncated_value_file_is_refused),
        cmocka_unit_test(references_encode_as_a_list_of_dependencies),
        cmocka_unit_test(list_with_a_failed_item_cannot_be_encoded),
        cmocka_unit_test(decode_errors_state_the_cause),
        cmocka_unit_test(huge_announced_sizes_allocate_nothing),
        cmocka_unit_test(truncated_and_corrupt_values_are_refused),
        cmocka_unit_test(codec_reports_out_of_memory_at_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
