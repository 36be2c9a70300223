/* Fills in the placeholders in braces in a command's arguments, and in the environment variables
 * that its user set.
 *
 * An element of an array job has {index}, {line} and the fields of its line, {1}, {2} and so on. A
 * rank has {rank}, {local_rank}, {node_rank} and {world_size}. {{} stands for an opening brace:
 * {{}1} gives the text {1}. Other text in braces stays unchanged. */
#include "worker/core/processes/template.h"

#include "graph/base/field.h"
#include "graph/wire/frame.h"

#include <inttypes.h>
#include <msgpack.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_BYTES = 24 };

void gw_template_init(struct gw_template *template, const struct gw_attempt *run)
{
    *template = (struct gw_template){.run = run};
    msgpack_unpacked_init(&template->unpacked);
    if (!run->args_size || gw_frame_check(run->args, run->args_size, NULL) < 0 ||
        msgpack_unpack_next(&template->unpacked, run->args, run->args_size, NULL) !=
            MSGPACK_UNPACK_SUCCESS ||
        template->unpacked.data.type != MSGPACK_OBJECT_ARRAY)
        return;
    const msgpack_object_array *list = &template->unpacked.data.via.array;
    if (list->size > 0 && (list->ptr[0].type == MSGPACK_OBJECT_POSITIVE_INTEGER ||
                           list->ptr[0].type == MSGPACK_OBJECT_NEGATIVE_INTEGER))
        template->index = &list->ptr[0];
    if (template->index && list->size > 1 && list->ptr[1].type == MSGPACK_OBJECT_STR)
        template->line = &list->ptr[1].via.str;
}

void gw_template_deinit(struct gw_template *template)
{
    msgpack_unpacked_destroy(&template->unpacked);
}

bool gw_template_fills(const struct gw_template *template)
{
    return template->index || template->run->gang;
}

/* Returns the value of a placeholder. NULL: there is no placeholder of this name. */
static const char *value_of(const struct gw_template *template, const char *name, size_t length,
                            char number[static NUMBER_BYTES], size_t *bytes)
{
    const struct gw_gang *gang = template->run->gang;
    const struct {
        const char *name;
        bool known;
        int64_t value;
    } numbers[] = {
        {"index", template->index != NULL, template->index ? template->index->via.i64 : 0},
        {"rank", gang != NULL, template->run->rank},
        {"local_rank", gang != NULL, gang ? template->run->rank - gang->message.first_rank : 0},
        {"node_rank", gang != NULL, gang ? gang->message.group_rank : 0},
        {"world_size", gang != NULL, gang ? gang->message.world : 0},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].known && strlen(numbers[i].name) == length &&
            memcmp(numbers[i].name, name, length) == 0) {
            *bytes = (size_t)snprintf(number, NUMBER_BYTES, "%" PRId64, numbers[i].value);
            return number;
        }
    if (length == 1 && *name == '{') {
        *bytes = 1;
        return name;
    }
    if (!template->line)
        return NULL;
    const uint32_t field = gw_field_number(name, length);
    if (field)
        return gw_field_find(template->line->ptr, template->line->size, field, bytes);
    if (length != strlen("line") || memcmp(name, "line", length) != 0)
        return NULL;
    *bytes = template->line->size;
    return *bytes ? template->line->ptr : "";
}

void gw_template_pack(const struct gw_template *template, msgpack_packer *packer, const char *text,
                      size_t bytes)
{
    char number[NUMBER_BYTES];
    msgpack_sbuffer filled;
    msgpack_sbuffer_init(&filled);
    for (size_t at = 0; at < bytes;) {
        size_t size = 1, skip = 1;
        const char *close = text[at] == '{' ? memchr(text + at, '}', bytes - at) : NULL;
        const char *value = NULL;
        if (close) {
            size_t length = (size_t)(close - text) - at - 1;
            value = value_of(template, text + at + 1, length, number, &size);
            skip = value ? length + 2 : 1;
            size = value ? size : 1;
        }
        (void)msgpack_sbuffer_write(&filled, value ? value : text + at, size);
        at += skip;
    }
    msgpack_pack_str_with_body(packer, filled.data ? filled.data : "", filled.size);
    msgpack_sbuffer_destroy(&filled);
}
