/* All decoders of graph/wire on one input; its first byte chooses: 0 a message, 1 a value, 2 a
 * stream into a channel.
 *
 * What holds beside "no report of a sanitizer": what was decoded encodes again, and decodes to the
 * same; a message's columns agree; a channel ends in an error or waits for more. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fill.h"

#include "graph/wire/channel.h"
#include "graph/wire/codec.h"
#include "graph/wire/frame.h"
#include "graph/wire/relation.h"

#include <assert.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INPUT_MESSAGE, INPUT_VALUE, INPUT_STREAM, INPUTS };

static void check_message(const struct gw_message *message)
{
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    struct gw_message again;
    char text[128];
    for (const struct gw_relation *r = gw_relation_of(message->type); r->kind; r++)
        assert(gw_relation_holds(r, message));
    gw_message_format(message, text, sizeof text);
    int rc = gw_message_encode(message, 0, &buffer);
    assert(rc == 0);
    rc = gw_message_decode(buffer.data + GW_FRAME_HEADER_BYTES, buffer.size - GW_FRAME_HEADER_BYTES,
                           &arena, &again, NULL);
    assert(rc == 0);
    assert(!gw_fill_difference(message, &again));
    gw_arena_deinit(&arena);
    gw_buffer_deinit(&buffer);
}

static void try_message(const uint8_t *data, size_t size)
{
    struct gw_arena arena = {0};
    struct gw_message message;
    struct gw_error error = {0};
    int rc = gw_message_decode(data, size, &arena, &message, &error);
    if (rc == 0)
        check_message(&message);
    else
        assert(rc == GW_EPROTO && error.code == rc && error.text[0]);
    gw_arena_deinit(&arena);
}

/* References are numbered anew when a value is encoded, so it is the second encoding that repeats.
 */
static void check_value(const struct gw_value *value)
{
    struct gw_buffer buffers[2] = {{0}};
    struct gw_codec_deps deps = {0};
    struct gw_value *again;
    char text[128];
    (void)gw_value_format(value, text, sizeof text);
    int rc = gw_codec_encode(value, &deps, &buffers[0]);
    assert(rc == 0);
    rc = gw_codec_decode(buffers[0].data, buffers[0].size, NULL, &again, NULL);
    assert(rc == 0);
    gw_codec_deps_clear(&deps);
    rc = gw_codec_encode(again, &deps, &buffers[1]);
    assert(rc == 0);
    assert(buffers[0].size == buffers[1].size);
    assert(memcmp(buffers[0].data, buffers[1].data, buffers[0].size) == 0);
    gw_value_unref(again);
    gw_codec_deps_deinit(&deps);
    gw_buffer_deinit(&buffers[0]);
    gw_buffer_deinit(&buffers[1]);
}

static void try_value(const uint8_t *data, size_t size)
{
    struct gw_value *value;
    struct gw_error error = {0};
    int rc = gw_codec_decode(data, size, NULL, &value, &error);
    if (rc == 0) {
        check_value(value);
        gw_value_unref(value);
    } else {
        assert(rc == GW_EPROTO && error.code == rc && error.text[0]);
    }
}

static void try_stream(const uint8_t *data, size_t size)
{
    struct gw_channel *channel;
    int pair[2], fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count;
    int rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair);
    assert(rc == 0);
    rc = gw_channel_new(pair[0], &channel);
    assert(rc == 0);
    while (size) {
        ssize_t sent = send(pair[1], data, size, MSG_NOSIGNAL);
        if (sent < 0)
            break;
        data += sent;
        size -= (size_t)sent;
        struct gw_message message;
        while ((rc = gw_channel_get(channel, true, &message, fds, &fd_count, NULL)) == 0)
            check_message(&message);
        assert(rc == GW_EAGAIN || rc == GW_EPROTO);
        if (rc == GW_EPROTO)
            break;
    }
    close(pair[1]);
    gw_channel_free(channel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0] % INPUTS) {
    case INPUT_MESSAGE:
        try_message(data + 1, size - 1);
        break;
    case INPUT_VALUE:
        try_value(data + 1, size - 1);
        break;
    case INPUT_STREAM:
        try_stream(data + 1, size - 1);
        break;
    }
    return 0;
}

/* -- Seeds -- */

static struct gw_value *seed_value(void)
{
    struct gw_value *list = gw_list(), *dict = gw_dict();
    gw_dict_set(dict, "lr", gw_f64(0.1));
    gw_dict_set(dict, "name", gw_str("gangway"));
    gw_list_push(list, dict);
    gw_list_push(list, gw_result((gw_node){3}));
    gw_list_push(list, gw_result((gw_node){1}));
    gw_list_push(list, gw_bytes_copy("0123456789", 10));
    gw_list_push(list, gw_i64(-70000));
    gw_list_push(list, gw_nil());
    gw_list_push(list, gw_bool(true));
    return list;
}

size_t gw_fuzz_seed(uint32_t i, uint8_t *data, size_t room)
{
    struct gw_buffer buffer = {0};
    struct gw_codec_deps deps = {0};
    uint8_t input = INPUT_VALUE;
    size_t skip = 0;
    if (i < 2 * GW_FILL_TYPES) {
        input = i % 2 ? INPUT_STREAM : INPUT_MESSAGE;
        skip = i % 2 ? 0 : GW_FRAME_HEADER_BYTES;
        for (uint32_t k = 0; k <= i % 2; k++) { /* two frames make a stream */
            struct gw_message message = gw_fill(gw_fill_types[(i / 2 + k) % GW_FILL_TYPES]);
            int rc = gw_message_encode(&message, 0, &buffer);
            assert(rc == 0);
        }
    } else if (i == 2 * GW_FILL_TYPES) {
        struct gw_value *value = seed_value();
        int rc = gw_codec_encode(value, &deps, &buffer);
        assert(rc == 0);
        gw_value_unref(value);
    }
    size_t size = buffer.size ? buffer.size - skip + 1 : 0;
    assert(size <= room);
    if (size) {
        data[0] = input;
        memcpy(data + 1, buffer.data + skip, size - 1);
    }
    gw_codec_deps_deinit(&deps);
    gw_buffer_deinit(&buffer);
    return size;
}
