/* Frames of a console: any split of the stream gives the same frames; an oversized frame is an
 * error. */
#include "graph/wire/console.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gw_buffer stream_of_three(void)
{
    static const char bytes[GW_CONSOLE_BYTES_MAX] = {1};
    uint8_t head[GW_CONSOLE_HEAD_BYTES];
    struct gw_buffer stream = {0};
    gw_console_head(head, GW_CONSOLE_OUT, 5);
    assert_int_equal(gw_buffer_append(&stream, head, sizeof head), 0);
    assert_int_equal(gw_buffer_append(&stream, "hello", 5), 0);
    gw_console_head(head, GW_CONSOLE_IN, 0);
    assert_int_equal(gw_buffer_append(&stream, head, sizeof head), 0);
    gw_console_head(head, GW_CONSOLE_ERR, sizeof bytes);
    assert_int_equal(gw_buffer_append(&stream, head, sizeof head), 0);
    assert_int_equal(gw_buffer_append(&stream, bytes, sizeof bytes), 0);
    return stream;
}

static void console_frames_decode_if_split_at_any_byte(void **state)
{
    static const struct {
        uint8_t kind;
        uint32_t bytes;
    } wanted[] = {{GW_CONSOLE_OUT, 5}, {GW_CONSOLE_IN, 0}, {GW_CONSOLE_ERR, GW_CONSOLE_BYTES_MAX}};
    struct gw_buffer stream = stream_of_three();
    (void)state;
    for (size_t piece = 1; piece <= stream.size; piece += piece < 64 ? 1 : 997) {
        struct gw_console console = {0};
        size_t frames = 0;
        for (size_t at = 0; at < stream.size; at += piece) {
            size_t left = stream.size - at;
            uint8_t kind;
            struct gw_bin data;
            assert_int_equal(
                gw_console_feed(&console, stream.data + at, left < piece ? left : piece), 0);
            while (gw_console_next(&console, &kind, &data) == 1) {
                assert_true(frames < 3);
                assert_int_equal(kind, wanted[frames].kind);
                assert_int_equal(data.size, wanted[frames].bytes);
                if (kind == GW_CONSOLE_OUT)
                    assert_memory_equal(data.data, "hello", 5);
                frames++;
            }
        }
        assert_int_equal(frames, 3);
        gw_console_deinit(&console);
    }
    gw_buffer_deinit(&stream);
}

static void console_frame_above_the_limit_is_refused(void **state)
{
    uint8_t head[GW_CONSOLE_HEAD_BYTES], kind;
    struct gw_console console = {0};
    struct gw_bin data;
    (void)state;
    gw_console_head(head, GW_CONSOLE_IN, GW_CONSOLE_BYTES_MAX + 1);
    assert_int_equal(gw_console_feed(&console, head, sizeof head - 1), 0);
    assert_int_equal(gw_console_next(&console, &kind, &data), 0);
    assert_int_equal(gw_console_feed(&console, head + sizeof head - 1, 1), 0);
    assert_int_equal(gw_console_next(&console, &kind, &data), GW_EPROTO);
    gw_console_deinit(&console);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(console_frames_decode_if_split_at_any_byte),
        cmocka_unit_test(console_frame_above_the_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
