/* Prints values as aligned tables and as JSON. Widths are counted in UTF-8 characters. */
#include "client/cli/lib/table.h"

#include "client/cli/lib/units.h"
#include "graph/base/clock.h"
#include "graph/base/text.h"

#include <jansson.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { CELL_BYTES = 256, COLUMNS_MAX = 24, TEXT_MIN = 6, TEXT_WELL = 12, WATCH_S = 2 };

const char *gw_table_text(const struct gw_value *dict, const char *key)
{
    const char *text = "";
    const struct gw_value *value = gw_value_find(dict, key);
    if (value)
        (void)gw_value_get_str(value, &text, NULL);
    return text;
}

int64_t gw_table_number(const struct gw_value *dict, const char *key)
{
    int64_t number = 0;
    const struct gw_value *value = dict ? gw_value_find(dict, key) : NULL;
    if (value)
        (void)gw_value_get_i64(value, &number, NULL);
    return number;
}

bool gw_table_again(FILE *out)
{
    const struct timespec pause = {.tv_sec = WATCH_S};
    fflush(out);
    if (ferror(out))
        return false;
    (void)nanosleep(&pause, NULL);
    if (gw_table_is_terminal(out))
        fputs("\033[H\033[2J", out);
    return true;
}

bool gw_table_is_terminal(FILE *out)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    return isatty(fileno(out)) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

/* Returns the value of a key, or of b in the dict a for "a.b". */
static const struct gw_value *find(const struct gw_value *row, const char *key)
{
    char outer[64];
    const char *dot = strchr(key, '.');
    if (!dot)
        return gw_value_find(row, key);
    snprintf(outer, sizeof outer, "%.*s", (int)(dot - key), key);
    const struct gw_value *inner = gw_value_find(row, outer);
    return inner ? gw_value_find(inner, dot + 1) : NULL;
}

/* Returns the number of bytes of a control character (two for a C1 control in UTF-8), or 0 for any
 * other character. Control characters could manipulate the terminal, so names of jobs must not
 * print them. */
static size_t steering(const char *text)
{
    unsigned char c = (unsigned char)*text;
    return c < 0x20 || c == 0x7f ? 1 : c == 0xc2 && (text[1] & 0xe0) == 0x80 ? 2 : 0;
}

static void format_cell(const struct gw_column *column, const struct gw_value *row, char *text)
{
    const struct gw_value *value = find(row, column->key);
    const char *string;
    int64_t number;
    uint64_t now_ns = gw_clock_wall_ns();
    if (!value || gw_value_type(value) == GW_NIL) {
        strcpy(text, "-");
    } else if (column->cell == GW_CELL_COUNT) {
        snprintf(text, CELL_BYTES, "%zu", gw_value_count(value));
    } else if (gw_value_get_str(value, &string, NULL) == 0) {
        snprintf(text, CELL_BYTES, "%s", *string ? string : "-");
    } else if (column->cell >= GW_CELL_DURATION && gw_value_get_i64(value, &number, NULL) == 0) {
        uint64_t amount = number > 0 ? (uint64_t)number : 0;
        if (column->cell == GW_CELL_SIZE || column->cell == GW_CELL_MINOR_SIZE)
            gw_units_format_size(amount, text, CELL_BYTES);
        else if (column->cell == GW_CELL_SINCE)
            gw_text_duration(now_ns > amount ? now_ns - amount : 0, text);
        else
            gw_text_duration(amount, text);
        if (amount == 0 && column->cell == GW_CELL_SINCE)
            strcpy(text, "-");
    } else {
        gw_value_format(value, text, CELL_BYTES);
    }
    text[strcspn(text, "\n")] = '\0'; /* a table shows only the first line; `explain` shows all */
    for (char *c = text; *c; c++)
        for (size_t bytes = steering(c); bytes > 0; bytes--)
            c[bytes - 1] = '?';
}

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool is_minor(enum gw_cell cell)
{
    return cell == GW_CELL_MINOR_TEXT || cell == GW_CELL_MINOR_NUMBER || cell == GW_CELL_MINOR_SIZE;
}

static bool is_text(enum gw_cell cell)
{
    return cell == GW_CELL_TEXT || cell == GW_CELL_NAME || cell == GW_CELL_MINOR_TEXT;
}

/* Makes the widest text column narrower by one, if it is wider than `least`. Returns false if there
 * is none. */
static bool shrink(const struct gw_column *columns, size_t *widths, size_t count, size_t least)
{
    size_t widest = count;
    for (size_t k = 0; k < count; k++)
        if (is_text(columns[k].cell) && columns[k].cell != GW_CELL_NAME && widths[k] > least &&
            (widest == count || widths[k] > widths[widest]))
            widest = k;
    if (widest < count)
        widths[widest]--;
    return widest < count;
}

/* Makes the lines fit into the terminal, if `out` is one. First the widest text columns become
 * narrower while they stay readable, then minor columns are removed, then text columns become
 * narrower still. */
static void fit(FILE *out, const struct gw_column *columns, size_t *widths, size_t count)
{
    struct winsize window;
    size_t total = 2 * (count - 1);
    if (ioctl(fileno(out), TIOCGWINSZ, &window) < 0 || window.ws_col == 0)
        return;
    for (size_t k = 0; k < count; k++)
        total += widths[k];
    for (; total > window.ws_col; total--) {
        size_t least = count;
        if (shrink(columns, widths, count, TEXT_WELL))
            continue;
        for (size_t k = 0; k < count; k++)
            if (is_minor(columns[k].cell) && widths[k] > 0)
                least = k;
        if (least < count) {
            total -= widths[least] + 2 - 1; /* the loop subtracts the last 1 */
            widths[least] = 0;
        } else if (!shrink(columns, widths, count, TEXT_MIN)) {
            return;
        }
    }
}

/* Cuts the text to `width` characters; the last becomes an ellipsis. */
static void cut(char *text, size_t width)
{
    size_t at = 0;
    if (width_of(text) <= width)
        return;
    for (size_t seen = 0; text[at]; at++) {
        seen += ((unsigned char)text[at] & 0xc0) != 0x80;
        if (seen == width)
            break;
    }
    strcpy(text + at, "…");
}

static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last)
{
    int padding = (int)(width > width_of(text) ? width - width_of(text) : 0);
    if (right)
        fprintf(out, "%*s%s", padding, "", text);
    else
        fprintf(out, "%s%*s", text, last ? 0 : padding, "");
    fputs(last ? "\n" : "  ", out);
}

void gw_table_print(FILE *out, const struct gw_column *columns, const struct gw_value *rows)
{
    size_t widths[COLUMNS_MAX] = {0}, column_count = 0, row_count = gw_value_count(rows);
    char text[CELL_BYTES];
    bool bold = gw_table_is_terminal(out);
    for (; columns[column_count].key && column_count < COLUMNS_MAX; column_count++) {
        widths[column_count] = width_of(columns[column_count].header);
        for (size_t i = 0; i < row_count; i++) {
            format_cell(&columns[column_count], gw_value_at(rows, i), text);
            if (width_of(text) > widths[column_count])
                widths[column_count] = width_of(text);
        }
    }
    fit(out, columns, widths, column_count);
    size_t last = column_count - 1;
    while (last > 0 && widths[last] == 0)
        last--;
    if (bold)
        fputs("\033[1m", out);
    for (size_t k = 0; k <= last; k++)
        if (widths[k] > 0)
            print_cell(out, columns[k].header, widths[k], !is_text(columns[k].cell), k == last);
    if (bold)
        fputs("\033[0m", out);
    for (size_t i = 0; i < row_count; i++) {
        for (size_t k = 0; k <= last; k++) {
            if (widths[k] == 0)
                continue;
            format_cell(&columns[k], gw_value_at(rows, i), text);
            cut(text, widths[k]);
            print_cell(out, text, widths[k], !is_text(columns[k].cell), k == last);
        }
    }
}

void gw_table_print_dict(FILE *out, const struct gw_column *columns, const struct gw_value *dict)
{
    size_t width = 0;
    char text[CELL_BYTES];
    for (const struct gw_column *column = columns; column->key; column++)
        if (width_of(column->header) > width)
            width = width_of(column->header);
    for (const struct gw_column *column = columns; column->key; column++) {
        if (!find(dict, column->key))
            continue;
        format_cell(column, dict, text);
        print_cell(out, column->header, width, false, false);
        fprintf(out, "%s\n", text);
    }
}

static void print_word(FILE *out, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t bytes = steering(word + i);
        fputc(bytes ? '?' : word[i], out);
        i += bytes == 2;
    }
}

void gw_table_say(FILE *out, const char *text)
{
    for (size_t length; *text; text += length) {
        length = strcspn(text, "\n\t");
        print_word(out, text, length);
        if (text[length])
            fputc(text[length++], out);
    }
}

void gw_table_wrap(FILE *out, size_t indent, const char *text)
{
    struct winsize window;
    size_t columns = SIZE_MAX, at = indent;
    if (ioctl(fileno(out), TIOCGWINSZ, &window) == 0 && window.ws_col > indent + TEXT_MIN)
        columns = window.ws_col;
    for (bool begins = true; *text;) {
        size_t length = strcspn(text, " \n"), width = 0;
        for (size_t i = 0; i < length; i++)
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (!begins && at > indent && at + 1 + width > columns) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!begins) { /* also keeps spaces at the start of a line, for example in Python
                                 tracebacks */
            fputc(' ', out);
            at++;
        }
        print_word(out, text, length);
        at += width;
        text += length;
        begins = *text == '\n';
        if (begins && text[1]) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        }
        text += *text != '\0';
    }
    fputc('\n', out);
}

void gw_table_tell(FILE *out, const char *text)
{
    const size_t first = strcspn(text, "\n");
    char *line = isatty(fileno(out)) ? strndup(text, first) : NULL;
    if (line) {
        gw_table_wrap(out, 0, line);
        text += first + (text[first] == '\n');
    }
    if (!line || *text) {
        gw_table_say(out, text);
        fputc('\n', out);
    }
    free(line);
}

/* -- JSON ----------------------------------------------------------------------------------------
 */

/* Returns the number of bytes of the UTF-8 character at `text`, or 0 if it is not valid UTF-8. */
static size_t character(const unsigned char *text, size_t bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80             ? 1
                    : (text[0] & 0xe0) == 0xc0 ? 2
                    : (text[0] & 0xf0) == 0xe0 ? 3
                    : (text[0] & 0xf8) == 0xf0 ? 4
                                               : 0;
    if (length <= 1)
        return length;
    if (length > bytes)
        return 0;
    uint32_t code = text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    bool well = code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return well ? length : 0;
}

json_t *gw_table_json_string(const char *text, size_t bytes)
{
    static const char replacement[] = "\xef\xbf\xbd";
    json_t *json = json_stringn(text, bytes);
    char *repaired = json ? NULL : malloc(3 * bytes + 1);
    size_t used = 0;
    if (!repaired)
        return json;
    for (size_t i = 0; i < bytes;) {
        size_t length = character((const unsigned char *)text + i, bytes - i);
        memcpy(repaired + used, length ? text + i : replacement, length ? length : 3);
        used += length ? length : 3;
        i += length ? length : 1;
    }
    json = json_stringn(repaired, used);
    free(repaired);
    return json;
}

static json_t *json_of(const struct gw_value *value);

/* Sets a key of an object, and takes ownership of the item. */
static int set_key(json_t *json, const char *key, json_t *item)
{
    json_t *repaired = gw_table_json_string(key, strlen(key));
    int rc = repaired ? json_object_set_new(json, json_string_value(repaired), item) : GW_ENOMEM;
    if (!repaired)
        json_decref(item);
    json_decref(repaired);
    return rc;
}

static json_t *json_of_bytes(const struct gw_value *value)
{
    const void *data;
    size_t bytes;
    gw_value_get_bytes(value, &data, &bytes, NULL);
    unsigned char *text = malloc(bytes / 3 * 4 + 8);
    json_t *json = NULL;
    if (text && bytes < INT32_MAX) {
        EVP_EncodeBlock(text, data, (int)bytes);
        json = json_string((const char *)text);
    }
    free(text);
    return json;
}

static json_t *json_of_items(const struct gw_value *value)
{
    bool dict = gw_value_type(value) == GW_DICT;
    json_t *json = dict ? json_object() : json_array();
    for (size_t i = 0; json && i < gw_value_count(value); i++) {
        json_t *item = json_of(gw_value_at(value, i));
        if ((dict ? set_key(json, gw_value_key(value, i), item)
                  : json_array_append_new(json, item)) < 0) {
            json_decref(json);
            json = NULL;
        }
    }
    return json;
}

static json_t *json_of(const struct gw_value *value)
{
    bool b;
    int64_t i;
    double d;
    const char *text;
    switch (gw_value_type(value)) {
    case GW_BOOL:
        gw_value_get_bool(value, &b, NULL);
        return json_boolean(b);
    case GW_I64:
        gw_value_get_i64(value, &i, NULL);
        return json_integer(i);
    case GW_F64:
        gw_value_get_f64(value, &d, NULL);
        return isfinite(d) ? json_real(d) : json_null(); /* JSON has no infinity and no NaN */
    case GW_STR:
        gw_value_get_str(value, &text, NULL);
        return gw_table_json_string(text, strlen(text));
    case GW_BYTES:
        return json_of_bytes(value);
    case GW_LIST:
    case GW_DICT:
        return json_of_items(value);
    default:
        return json_null();
    }
}

/* Writes the numbers with a fraction in a JSON text with fewer digits, if they have the same values
 * then. */
static void shorten(char *text)
{
    char real[GW_TEXT_REAL_ROOM], *to = text;
    bool quoted = false;
    for (size_t bytes; *text; text += bytes) {
        bytes = quoted ? 0 : strspn(text, "-+.eE0123456789");
        if (bytes > 0 && strchr("-0123456789", *text) && strcspn(text, ".eE") < bytes) {
            (void)gw_text_real(strtod(text, NULL), real);
            const char *end = strpbrk(real, ".e") ? "" : ".0"; /* readers make a float of it */
            if (strlen(real) + strlen(end) < bytes) {
                to += sprintf(to, "%s%s", real, end);
                continue;
            }
        }
        bytes = bytes ? bytes : quoted && *text == '\\' && text[1] ? 2 : 1;
        quoted ^= *text == '"';
        memmove(to, text, bytes);
        to += bytes;
    }
    *to = '\0';
}

int gw_table_json(FILE *out, const struct gw_value *value, bool compact)
{
    json_t *json = json_of(value);
    char *text =
        json ? json_dumps(json, JSON_ENCODE_ANY | (compact ? JSON_COMPACT : JSON_INDENT(2))) : NULL;
    json_decref(json);
    if (!text)
        return GW_ENOMEM;
    shorten(text);
    fprintf(out, "%s\n", text);
    free(text);
    return 0;
}
