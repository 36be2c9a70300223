/* Frames and messages: every type encoded and decoded, truncated at every byte, with every bit
 * flipped, and with malicious content. */
#include "tests/unit/alloc.h"
#include "tests/unit/fill.h"
#include "tests/unit/unit.h"

#include "graph/wire/frame.h"
#include "graph/wire/relation.h"

#include <stdlib.h>

static void encode(const struct gw_message *message, struct gw_buffer *buffer)
{
    buffer->size = 0;
    assert_int_equal(gw_message_encode(message, 0, buffer), 0);
}

static int decode(const uint8_t *payload, size_t bytes, struct gw_arena *arena,
                  struct gw_message *message, struct gw_error *error)
{
    /* a copy of exactly this size, so that ASan detects a read beyond it */
    uint8_t *copy = malloc(bytes ? bytes : 1);
    memcpy(copy, payload, bytes);
    struct gw_message decoded;
    int rc = gw_message_decode(copy, bytes, arena, &decoded, error);
    if (rc == 0) { /* reads all bytes that it refers to */
        assert_null(gw_fill_difference(&decoded, &decoded));
        for (const struct gw_relation *r = gw_relation_of(decoded.type); r->kind; r++)
            assert_true(gw_relation_holds(r, &decoded));
        *message = decoded;
    }
    free(copy);
    gw_arena_reset(arena);
    return rc;
}

static void frame_header_decodes_to_equal_fields(void **state)
{
    uint8_t bytes[GW_FRAME_HEADER_BYTES];
    struct gw_frame_header header = {.bytes = 0x123, .fds = 7}, read = {0};
    struct gw_error error;
    gw_frame_header_write(bytes, &header);
    static const uint8_t wanted[] = {0x23, 0x01, 0, 0, 7, 0, 0x47, 0x57};
    assert_memory_equal(bytes, wanted, sizeof wanted);
    assert_int_equal(gw_frame_header_read(bytes, &read, &error), 0);
    assert_int_equal(read.bytes, 0x123);
    assert_int_equal(read.fds, 7);

    header = (struct gw_frame_header){.bytes = GW_FRAME_BULK_BYTES_MAX, .fds = GW_FRAME_FDS_MAX};
    gw_frame_header_write(bytes, &header);
    assert_int_equal(gw_frame_header_read(bytes, &read, NULL), 0);
    header.bytes++;
    gw_frame_header_write(bytes, &header);
    assert_int_equal(gw_frame_header_read(bytes, &read, &error), GW_EPROTO);
    header = (struct gw_frame_header){.bytes = 1, .fds = GW_FRAME_FDS_MAX + 1};
    gw_frame_header_write(bytes, &header);
    assert_int_equal(gw_frame_header_read(bytes, &read, &error), GW_EPROTO);
    assert_int_equal(gw_frame_header_read((const uint8_t *)"GET / HT", &read, &error), GW_EPROTO);
    assert_string_equal(error.text, "not a Gangway peer");
}

/* The encoding must not change by accident, because other versions read it. */
static void encoded_message_matches_the_golden_bytes(void **state)
{
    static const uint8_t wanted[] = {
        19,   0,    0,    0, 2, 0, 0x47, 0x57,       /* header: 19 bytes, 2 descriptors */
        0x97, 56,   1,    2, 3,                      /* 7 items: kill, term, peer, sequence */
        0xc4, 8,    42,   0, 0, 0, 0,    0,    0, 0, /* attempt */
        0xcd, 0x01, 0x2c,                            /* grace_ns 300 */
        3,                                           /* reason */
    };
    uint64_t attempt = 42;
    struct gw_message message = {.type = GW_MESSAGE_kill, .term = 1, .peer = 2, .sequence = 3};
    message.kill.attempt = (struct gw_col64){&attempt, 1};
    message.kill.grace_ns = 300;
    message.kill.reason = 3;
    struct gw_buffer buffer = {0};
    assert_int_equal(gw_message_encode(&message, 2, &buffer), 0);
    assert_int_equal(buffer.size, sizeof wanted);
    assert_memory_equal(buffer.data, wanted, sizeof wanted);
    gw_buffer_deinit(&buffer);
}

static void every_message_type_decodes_to_equal_fields(void **state)
{
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    struct gw_error error;
    for (size_t i = 0; i < GW_FILL_TYPES; i++) {
        struct gw_message message = gw_fill(gw_fill_types[i]), decoded;
        encode(&message, &buffer);
        int rc = gw_message_decode(buffer.data + GW_FRAME_HEADER_BYTES,
                                   buffer.size - GW_FRAME_HEADER_BYTES, &arena, &decoded, &error);
        if (rc < 0)
            fail_msg("%s: %s", gw_message_name(message.type), error.text);
        const char *difference = gw_fill_difference(&message, &decoded);
        if (difference)
            fail_msg("%s: %s differs", gw_message_name(message.type), difference);
    }
    gw_arena_deinit(&arena);
    gw_buffer_deinit(&buffer);
}

static void empty_fields_decode_to_empty_text_and_columns(void **state)
{
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    struct gw_message message = {.type = GW_MESSAGE_submit}, decoded;
    encode(&message, &buffer);
    assert_int_equal(gw_message_decode(buffer.data + GW_FRAME_HEADER_BYTES,
                                       buffer.size - GW_FRAME_HEADER_BYTES, &arena, &decoded, NULL),
                     0);
    assert_string_equal(decoded.submit.name, "");
    assert_int_equal(decoded.submit.spec.count, 0);
    gw_arena_deinit(&arena);
    gw_buffer_deinit(&buffer);
}

static void message_truncated_at_any_byte_is_refused(void **state)
{
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    struct gw_error error;
    struct gw_message decoded;
    for (size_t i = 0; i < GW_FILL_TYPES; i++) {
        struct gw_message message = gw_fill(gw_fill_types[i]);
        encode(&message, &buffer);
        const uint8_t *payload = buffer.data + GW_FRAME_HEADER_BYTES;
        for (size_t bytes = 0; bytes < buffer.size - GW_FRAME_HEADER_BYTES; bytes++)
            assert_int_equal(decode(payload, bytes, &arena, &decoded, &error), GW_EPROTO);
    }
    gw_arena_deinit(&arena);
    gw_buffer_deinit(&buffer);
}

static void message_with_any_bit_flipped_decodes_safely(void **state)
{
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    struct gw_message decoded;
    size_t accepted = 0, refused = 0;
    for (size_t i = 0; i < GW_FILL_TYPES; i++) {
        struct gw_message message = gw_fill(gw_fill_types[i]);
        encode(&message, &buffer);
        for (size_t bit = GW_FRAME_HEADER_BYTES * 8; bit < buffer.size * 8; bit++) {
            buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            int rc = decode(buffer.data + GW_FRAME_HEADER_BYTES,
                            buffer.size - GW_FRAME_HEADER_BYTES, &arena, &decoded, NULL);
            assert_true(rc == 0 || rc == GW_EPROTO);
            accepted += rc == 0;
            refused += rc != 0;
            buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    assert_true(accepted > 1000); /* flipped numbers are still numbers */
    assert_true(refused > 1000);
    gw_arena_deinit(&arena);
    gw_buffer_deinit(&buffer);
}

/* Decodes payload bytes of the test; the error must contain `wanted`. */
static void assert_refused(const void *payload, size_t bytes, const char *wanted)
{
    struct gw_arena arena = {0};
    struct gw_error error = {0};
    struct gw_message decoded;
    assert_int_equal(decode(payload, bytes, &arena, &decoded, &error), GW_EPROTO);
    if (!strstr(error.text, wanted))
        fail_msg("\"%s\" says nothing of \"%s\"", error.text, wanted);
    gw_arena_deinit(&arena);
}

/* A hello of the first version and a hello of a later version are understood, so that they can
 * be refused. */
static void hello_of_any_version_can_be_decoded(void **state)
{
    static const char *const hellos[] = {
        "\x99\x01\x00\x00\x00\x01\x02\x07\xa3"
        "0.0\xa1w",
        "\x9f\x01\x00\x00\x00\x01\x02\x07\xa3"
        "0.0\xa1w\x00\x00\x00\xc4\x00\x00\x2a",
    };
    for (size_t i = 0; i < sizeof hellos / sizeof *hellos; i++) {
        struct gw_arena arena = {0};
        struct gw_message message;
        const size_t bytes = i == 0 ? 14 : 21;
        assert_int_equal(gw_message_decode(hellos[i], bytes, &arena, &message, NULL), 0);
        assert_int_equal(message.hello.protocol, 1);
        assert_string_equal(message.hello.version, "0.0");
        assert_string_equal(message.hello.name, "w");
        assert_int_equal(message.hello.reconnects, 0);
        assert_int_equal(message.hello.secret.size, 0);
        gw_arena_deinit(&arena);
    }
    assert_refused("\x98\x01\x00\x00\x00\x01\x02\x07\xa0", 9, "message hello: name is missing");
}

static void decode_error_names_the_message_and_field(void **state)
{
    assert_refused("\x94\x7f\x00\x00\x00", 5, "unknown message type 127");
    assert_refused("\x93\x01\x00\x00", 4, "not a message");
    assert_refused("\x94\x01\x00\x00\xff", 5, "no envelope");
    assert_refused("\xc0", 1, "not a message");
    assert_refused("\x94\x3a\x00\x00\x00", 5, "message forget: job is missing");
    assert_refused("\x95\x3a\x00\x00\x00\xa1x", 7, "message forget: job has the wrong type");
    assert_refused("\x95\x3a\x00\x00\x00\x90", 6, "message forget: job has the wrong type");
    assert_refused("\x96\x39\x00\x00\x00\x01\xcf\x00\x00\x00\x01\x00\x00\x00\x00", 15,
                   "message control: command");
    assert_refused("\x97\x38\x00\x00\x00\xc4\x07"
                   "1234567\x00\x00",
                   16, "message kill: attempt");
    assert_refused("\x96\x03\x00\x00\x00\x00\xa3"
                   "a\0b",
                   10, "message refuse: text has the wrong type or value");
    assert_refused("\x95\x3a\x00\x00\x00\x01\x00", 7, "1 extra bytes after the object");
}

static void extra_fields_of_a_newer_peer_are_skipped(void **state)
{
    static const char payload[] = "\x97\x3a\x01\x02\x03\x07\x92\x01\xa1x\xc0";
    struct gw_arena arena = {0};
    struct gw_message decoded;
    assert_int_equal(gw_message_decode(payload, sizeof payload - 1, &arena, &decoded, NULL), 0);
    assert_int_equal(decoded.forget.job, 7);
    gw_arena_deinit(&arena);
}

/* Each relation in the table is broken once, by an extra row in its first field. */
static void columns_of_different_lengths_are_refused(void **state)
{
    static const uint32_t numbers[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    struct gw_error error;
    size_t broken = 0;
    for (size_t i = 0; i < GW_FILL_TYPES; i++)
        for (const struct gw_relation *r = gw_relation_of(gw_fill_types[i]); r->kind; r++) {
            struct gw_message message = gw_fill(gw_fill_types[i]);
            struct gw_col32 field = {numbers, r->kind >= GW_RELATION_HASH ? 31 : 2};
            memcpy((char *)&message + r->b, &field, sizeof field);
            assert_false(gw_relation_holds(r, &message));
            broken++;
        }
    assert_int_equal(broken, 66);

    /* through the decoder: a broken message cannot be encoded, so its bytes are changed */
    struct gw_message message = gw_fill(GW_MESSAGE_finished), decoded;
    encode(&message, &buffer);
    size_t at = 0;
    for (size_t i = GW_FRAME_HEADER_BYTES; i < buffer.size; i++)
        if (memcmp(buffer.data + i, "\xc4\x04\x01\0\0\0", 6) == 0)
            at = i + 2; /* the last column of 4 bytes: value_size */
    buffer.data[at] = 2;
    assert_int_equal(decode(buffer.data + GW_FRAME_HEADER_BYTES,
                            buffer.size - GW_FRAME_HEADER_BYTES, &arena, &decoded, &error),
                     GW_EPROTO);
    assert_string_equal(error.text, "message finished: value_size does not match values");
    gw_arena_deinit(&arena);
    gw_buffer_deinit(&buffer);
}

static void oversized_message_returns_elimit(void **state)
{
    struct gw_buffer buffer = {0};
    void *giant = calloc(1, 1 << 21);
    struct gw_message message = gw_fill(GW_MESSAGE_object);
    message.object.value = (struct gw_bin){giant, 1 << 20};
    encode(&(struct gw_message){.type = GW_MESSAGE_forget}, &buffer);
    size_t before = buffer.size;
    assert_int_equal(gw_message_encode(&message, 0, &buffer), GW_ELIMIT);
    assert_int_equal(buffer.size, before);
    message.object.value.size = 1 << 21;
    assert_int_equal(gw_message_encode(&message, 0, &buffer), GW_ELIMIT);
    message.object.value.size = (1 << 20) - 200;
    assert_int_equal(gw_message_encode(&message, 0, &buffer), 0);

    struct gw_message bulk = {.type = GW_MESSAGE_submit}; /* rows of tasks may be larger */
    bulk.submit.args = (struct gw_bin){giant, 1 << 21};
    bulk.submit.args_size = (struct gw_col32){(const uint32_t[]){1 << 21}, 1};
    bulk.submit.spec = bulk.submit.dep_count = (struct gw_col32){(const uint32_t[]){0}, 1};
    assert_int_equal(gw_message_encode(&bulk, 0, &buffer), 0);
    bulk.submit.args.size = 17 << 20;
    bulk.submit.args_size = (struct gw_col32){(const uint32_t[]){17 << 20}, 1};
    void *larger = calloc(1, 17 << 20);
    bulk.submit.args.data = larger;
    assert_int_equal(gw_message_encode(&bulk, 0, &buffer), GW_ELIMIT);
    free(larger);

    /* A control message that claims the same size is refused before it is decoded. */
    size_t at = buffer.size;
    struct gw_arena arena = {0};
    struct gw_error error;
    struct gw_message back;
    bulk.submit.args = (struct gw_bin){giant, 1 << 21};
    bulk.submit.args_size = (struct gw_col32){(const uint32_t[]){1 << 21}, 1};
    assert_int_equal(gw_message_encode(&bulk, 0, &buffer), 0);
    uint8_t *payload = buffer.data + at + GW_FRAME_HEADER_BYTES;
    assert_int_equal(payload[3], GW_MESSAGE_submit); /* behind the header of an array of 16 bits */
    payload[3] = GW_MESSAGE_scatter;
    assert_int_equal(
        gw_message_decode(payload, buffer.size - at - GW_FRAME_HEADER_BYTES, &arena, &back, &error),
        GW_EPROTO);
    assert_non_null(strstr(error.text, "more than 1048576"));
    gw_arena_deinit(&arena);

    struct gw_message columns = {.type = GW_MESSAGE_kill};
    columns.kill.attempt = (struct gw_col64){giant, UINT32_MAX};
    assert_int_equal(gw_message_encode(&columns, 0, &buffer), GW_ELIMIT);
    free(giant);
    gw_buffer_deinit(&buffer);
}

static int check_nested(size_t depth, bool map)
{
    uint8_t bytes[64];
    size_t at = 0;
    for (size_t i = 0; i < depth; i++) {
        bytes[at++] = map ? 0x81 : 0x91;
        if (map)
            bytes[at++] = 0x01;
    }
    bytes[at++] = 0xc0;
    return gw_frame_check(bytes, at, NULL);
}

static void frame_check_limits_depth_and_counts(void **state)
{
    assert_int_equal(check_nested(0, false), 0);
    assert_int_equal(check_nested(GW_FRAME_DEPTH_MAX, false), 0);
    assert_int_equal(check_nested(GW_FRAME_DEPTH_MAX + 1, false), GW_EPROTO);
    assert_int_equal(check_nested(GW_FRAME_DEPTH_MAX, true), 0);
    assert_int_equal(check_nested(GW_FRAME_DEPTH_MAX + 1, true), GW_EPROTO);
    assert_int_equal(gw_frame_check("", 0, NULL), GW_EPROTO);
    assert_int_equal(gw_frame_check("\x90", 1, NULL), 0);
    assert_int_equal(gw_frame_check("\xc1", 1, NULL), GW_EPROTO);
    assert_int_equal(gw_frame_check("\xc0\xc0", 2, NULL), GW_EPROTO);
    assert_int_equal(gw_frame_check("\x92\x90\x90", 3, NULL), 0);
    assert_int_equal(gw_frame_check("\xc9\xff\xff\xff\xff\x01", 6, NULL), GW_EPROTO);
    assert_int_equal(gw_frame_check("\xd8", 1, NULL), GW_EPROTO);
}

static void huge_announced_sizes_allocate_nothing(void **state)
{
    static const char *const giants[] = {"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff",
                                         "\xdd\x10\x00\x00\x00", "\xdf\x80\x00\x00\x00",
                                         "\xc6\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff"};
    struct gw_arena arena = {0};
    struct gw_message decoded;
    for (size_t i = 0; i < sizeof giants / sizeof *giants; i++) {
        gw_alloc_fail_after(-1);
        assert_int_equal(gw_frame_check(giants[i], 5, NULL), GW_EPROTO);
        assert_int_equal(gw_message_decode(giants[i], 5, &arena, &decoded, NULL), GW_EPROTO);
        assert_int_equal(gw_alloc_count(), 0);
    }
}

static void codec_reports_out_of_memory(void **state)
{
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    struct gw_message message = gw_fill(GW_MESSAGE_spec), decoded;
    struct gw_error error;
    gw_alloc_fail_after(0);
    assert_int_equal(gw_message_encode(&message, 0, &buffer), GW_ENOMEM);
    gw_alloc_fail_after(-1);
    encode(&message, &buffer);
    gw_alloc_fail_after(0);
    assert_int_equal(gw_message_decode(buffer.data + GW_FRAME_HEADER_BYTES,
                                       buffer.size - GW_FRAME_HEADER_BYTES, &arena, &decoded,
                                       &error),
                     GW_ENOMEM);
    gw_alloc_fail_after(-1);
    gw_buffer_deinit(&buffer);
}

static void message_format_truncates_to_the_buffer(void **state)
{
    char text[256];
    struct gw_message message = gw_fill(GW_MESSAGE_refuse);
    gw_message_format(&message, text, sizeof text);
    assert_string_equal(text, "refuse term=3 peer=18446744073709551615 sequence=70000 "
                              "code=-2000000000 text=\"text\"");
    gw_message_format(&message, text, 10);
    assert_string_equal(text, "refuse te");
    for (size_t i = 0; i < GW_FILL_TYPES; i++) {
        message = gw_fill(gw_fill_types[i]);
        for (size_t bytes = 0; bytes <= sizeof text; bytes++)
            gw_message_format(&message, text, bytes);
        assert_non_null(strstr(text, gw_message_name(message.type)));
    }
    assert_string_equal(gw_message_name(9999), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_header_decodes_to_equal_fields),
        cmocka_unit_test(encoded_message_matches_the_golden_bytes),
        cmocka_unit_test(every_message_type_decodes_to_equal_fields),
        cmocka_unit_test(empty_fields_decode_to_empty_text_and_columns),
        cmocka_unit_test(message_truncated_at_any_byte_is_refused),
        cmocka_unit_test(message_with_any_bit_flipped_decodes_safely),
        cmocka_unit_test(hello_of_any_version_can_be_decoded),
        cmocka_unit_test(decode_error_names_the_message_and_field),
        cmocka_unit_test(extra_fields_of_a_newer_peer_are_skipped),
        cmocka_unit_test(columns_of_different_lengths_are_refused),
        cmocka_unit_test(oversized_message_returns_elimit),
        cmocka_unit_test(frame_check_limits_depth_and_counts),
        cmocka_unit_test(huge_announced_sizes_allocate_nothing),
        cmocka_unit_test(codec_reports_out_of_memory),
        cmocka_unit_test(message_format_truncates_to_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
