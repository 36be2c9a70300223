/* Network ports: each rank of a command has one, at which the other ranks of the gang reach it.
 *
 * TensorFlow's MultiWorkerMirroredStrategy needs the addresses of all ranks before any rank starts.
 * Each worker therefore reserves ports for its ranks, reports them when the ranks are ready, and
 * receives the addresses of all ranks with the message that starts the gang.
 *
 * Invariant: an address that goes into TF_CONFIG contains only characters that need no escapes in
 * JSON. */
#include "worker/core/processes/rank_port.h"

#include "graph/wire/frame.h"
#include "worker/core/model/core.h"

#include <inttypes.h>
#include <msgpack.h>
#include <stdio.h>
#include <string.h>

/* The kernel allows 128 KiB for one variable. The addresses of about 5,000 ranks exceed that. */
enum { DOOR_BYTES_MAX = 80, LINE_BYTES_MAX = 120 << 10, FRAME_BYTES = 96 };

const char *gw_rank_port_of(struct gw_node_core *core, const struct gw_attempt *run)
{
    const struct gw_gang *gang = run->gang;
    const uint32_t place = run->rank - gang->message.first_rank;
    if (place >= gang->port_count || !gang->own_address)
        return "";
    char *door = gw_core_scratch(core, DOOR_BYTES_MAX);
    const bool six = strchr(gang->own_address, ':') != NULL;
    (void)snprintf(door, DOOR_BYTES_MAX, "%s%s%s:%" PRIu32, six ? "[" : "", gang->own_address,
                   six ? "]" : "", gang->ports[place]);
    return door;
}

static bool is_door(const msgpack_object *item)
{
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  ".:-%[]";
    if (item->type != MSGPACK_OBJECT_STR || !item->via.str.size ||
        item->via.str.size >= DOOR_BYTES_MAX)
        return false;
    for (uint32_t i = 0; i < item->via.str.size; i++)
        if (!memchr(allowed, item->via.str.ptr[i], sizeof allowed - 1))
            return false;
    return true;
}

/* Returns the addresses as the elements of a JSON list, in order of ranks. NULL: an address is
 * malformed, or the list is too long. */
static char *write_list(struct gw_node_core *core, const msgpack_object_array *doors)
{
    size_t bytes = 1, at = 0;
    for (uint32_t i = 0; i < doors->size; i++) {
        if (!is_door(&doors->ptr[i]))
            return NULL;
        bytes += doors->ptr[i].via.str.size + 4;
    }
    if (bytes > LINE_BYTES_MAX)
        return NULL;
    char *text = gw_core_scratch(core, bytes);
    text[0] = '\0';
    for (uint32_t i = 0; i < doors->size; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%s\"%.*s\"", i ? ", " : "",
                               (int)doors->ptr[i].via.str.size, doors->ptr[i].via.str.ptr);
    return text;
}

const char *gw_rank_port_tf_config(struct gw_node_core *core, const struct gw_attempt *run)
{
    const struct gw_bin doors = run->gang->doors;
    if (!doors.size || gw_frame_check(doors.data, doors.size, NULL) < 0)
        return NULL;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    const char *list = NULL;
    if (msgpack_unpack_next(&unpacked, doors.data, doors.size, NULL) == MSGPACK_UNPACK_SUCCESS &&
        unpacked.data.type == MSGPACK_OBJECT_ARRAY &&
        unpacked.data.via.array.size == run->gang->message.world)
        list = write_list(core, &unpacked.data.via.array);
    msgpack_unpacked_destroy(&unpacked);
    if (!list)
        return NULL;
    const size_t bytes = strlen(list) + FRAME_BYTES;
    char *line = gw_core_scratch(core, bytes);
    (void)snprintf(line, bytes,
                   "TF_CONFIG={\"cluster\": {\"worker\": [%s]}, "
                   "\"task\": {\"type\": \"worker\", \"index\": %" PRIu32 "}}",
                   list, run->rank);
    return line;
}
