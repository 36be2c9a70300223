/* Formats values as text for people. */
#include "graph/value/value.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The output buffer. `length` also counts characters that did not fit. */
struct out {
    char *text;
    size_t room, length;
};

static void GW_PRINTF(2, 3) put(struct out *out, const char *format, ...)
{
    size_t left = out->length < out->room ? out->room - out->length : 0;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(left ? out->text + out->length : NULL, left, format, args);
    va_end(args);
    out->length += length > 0 ? (size_t)length : 0;
}

static void put_text(struct out *out, const char *text)
{
    put(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            put(out, "\\%c", c);
        else if (c == '\n')
            put(out, "\\n");
        else if (c == '\t')
            put(out, "\\t");
        else if (c < 0x20)
            put(out, "\\u%04x", c);
        else
            put(out, "%c", c);
    }
    put(out, "\"");
}

/* Writes a number with the fewest digits (6 to 17) that read back as the same number. */
static void put_number(struct out *out, double d)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, d);
        if (strtod(text, NULL) == d)
            break;
    }
    put(out, "%s", text);
}

static void put_bytes(struct out *out, size_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double size = (double)bytes;
    size_t unit = 0;
    if (bytes < 1000) {
        put(out, "<%zu bytes>", bytes);
        return;
    }
    for (size /= 1000; size >= 1000 && unit < 3; size /= 1000)
        unit++;
    put(out, "<%.1f %s of bytes>", size, units[unit]);
}

static void put_value(struct out *out, const struct gw_value *value)
{
    size_t count = gw_value_count(value);
    switch (gw_value_type(value)) {
    case GW_NIL:
        put(out, "null");
        break;
    case GW_BOOL:
        put(out, value->b ? "true" : "false");
        break;
    case GW_I64:
        put(out, "%" PRId64, value->i);
        break;
    case GW_F64:
        put_number(out, value->f);
        break;
    case GW_STR:
        put_text(out, value->str.text);
        break;
    case GW_BYTES:
        put_bytes(out, value->bytes.count);
        break;
    case GW_LIST:
        put(out, "[");
        for (size_t i = 0; i < count; i++) {
            put(out, i ? ", " : "");
            put_value(out, gw_value_at(value, i));
        }
        put(out, "]");
        break;
    case GW_DICT:
        put(out, "{");
        for (size_t i = 0; i < count; i++) {
            put(out, i ? ", " : "");
            put_text(out, gw_value_key(value, i));
            put(out, ": ");
            put_value(out, gw_value_at(value, i));
        }
        put(out, "}");
        break;
    case GW_RESULT:
        put(out, "<result of node %" PRIu32 ">", value->ref.node.index);
        break;
    }
}

size_t gw_value_format(const struct gw_value *value, char *text, size_t text_bytes)
{
    struct out out = {text, text_bytes, 0};
    if (text_bytes)
        text[0] = '\0';
    put_value(&out, value);
    return out.length;
}
