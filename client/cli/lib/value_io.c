/* Reads and prints values in a shell. A text that is valid JSON becomes the JSON value; other input
 * becomes a text or bytes. */
#include "client/cli/lib/value_io.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/table.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- JSON ----------------------------------------------------------------------------------------
 */

static struct gw_value *value_of(const json_t *json);

/* Makes a list or a dict. Returns NULL if out of memory, or if it is nested too deeply. */
static struct gw_value *items_of(const json_t *json)
{
    const char *key;
    json_t *item;
    size_t i;
    int rc = 0;
    struct gw_value *all = json_is_object(json) ? gw_dict() : gw_list();
    if (json_is_object(json)) {
        json_object_foreach((json_t *)(uintptr_t)json, key, item) rc =
            rc < 0 ? rc : gw_dict_set(all, key, value_of(item));
    } else {
        json_array_foreach(json, i, item) rc = rc < 0 ? rc : gw_list_push(all, value_of(item));
    }
    if (rc == 0)
        return all;
    gw_value_unref(all);
    return NULL;
}

static struct gw_value *value_of(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        return items_of(json);
    case JSON_STRING:
        return gw_str(json_string_value(json));
    case JSON_INTEGER:
        return gw_i64(json_integer_value(json));
    case JSON_REAL:
        return gw_f64(json_real_value(json));
    case JSON_TRUE:
    case JSON_FALSE:
        return gw_bool(json_is_true(json));
    default:
        return gw_nil();
    }
}

const char *gw_value_io_why(const json_error_t *why)
{
    return json_error_code(why) == json_error_null_character
               ? "a text with \\u0000, which is not supported"
               : why->text;
}

/* Parses JSON. `what` names the input in error messages: a file name or the value itself. */
static int parse_json(const char *text, size_t bytes, const char *what, struct gw_value **value,
                      struct gw_error *error)
{
    json_error_t why;
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!json)
        return gw_error_set(error, GW_EINVAL, "%.200s is not JSON: line %d, column %d: %s", what,
                            why.line, why.column, gw_value_io_why(&why));
    *value = value_of(json);
    json_decref(json);
    return *value ? 0
                  : gw_error_set(error, GW_EINVAL,
                                 "%.200s has lists and dicts nested more than 16 deep, which is "
                                 "the most: nest them less",
                                 what);
}

int gw_value_io_parse(const char *text, enum gw_value_io_form form, struct gw_value **value,
                      struct gw_error *error)
{
    struct gw_error why;
    int rc = form == GW_VALUE_IO_TEXT ? GW_EINVAL
                                      : parse_json(text, strlen(text), text, value,
                                                   form == GW_VALUE_IO_JSON ? error : &why);
    if (rc == 0 || form == GW_VALUE_IO_JSON)
        return rc;
    if (form == GW_VALUE_IO_EITHER && *text && strchr("{[\"", *text))
        return gw_error_set(error, GW_EINVAL, "%s; --text takes it as a text", why.text);
    *value = gw_str(text);
    return *value ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
}

/* -- Files ---------------------------------------------------------------------------------------
 */

static void free_bytes(void *data, size_t bytes)
{
    (void)bytes;
    free(data);
}

/* Reads the whole file. The caller frees *data. */
static int read_all(FILE *in, const char *path, char **data, size_t *bytes, struct gw_error *error)
{
    size_t room = 1 << 16, used = 0, more = 0;
    char *all = malloc(room);
    while (all && (more = fread(all + used, 1, room - used, in)) > 0) {
        used += more;
        if (used < room)
            continue;
        char *grown = realloc(all, room *= 2);
        if (!grown)
            free(all);
        all = grown;
    }
    if (!all) {
        gw_error_set(error, GW_ENOMEM, "%s: out of memory", path);
        return GW_ENOMEM;
    }
    if (ferror(in)) {
        int rc = gw_cli_path_error(path, errno, error);
        free(all);
        return rc;
    }
    *data = all;
    *bytes = used;
    return 0;
}

int gw_value_io_read(const char *path, bool json, struct gw_value **value, struct gw_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "rbe");
    char *data = NULL;
    size_t bytes = 0;
    if (!in)
        return gw_cli_path_error(path, errno, error);
    int rc = read_all(in, standard ? "stdin" : path, &data, &bytes, error);
    if (!standard)
        fclose(in);
    if (rc < 0)
        return rc;
    if (json) {
        rc = parse_json(data, bytes, standard ? "stdin" : path, value, error);
        free(data);
        return rc;
    }
    *value = gw_bytes_owned(data, bytes, free_bytes);
    return *value ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
}

/* -- Printing ------------------------------------------------------------------------------------
 */

static int write_bytes(FILE *out, const char *data, size_t bytes)
{
    bool ends = bytes == 0 || data[bytes - 1] == '\n' || !isatty(fileno(out));
    if (bytes > 0 && fwrite(data, bytes, 1, out) != 1)
        return GW_EIO;
    return ends || putc('\n', out) != EOF ? 0 : GW_EIO;
}

int gw_value_io_write(FILE *out, const struct gw_value *value, bool json)
{
    const void *data;
    const char *text;
    size_t bytes = 0;
    if (!json && gw_value_get_bytes(value, &data, &bytes, NULL) == 0)
        return write_bytes(out, data, bytes);
    if (!json && gw_value_get_str(value, &text, NULL) == 0)
        return write_bytes(out, text, strlen(text));
    return gw_table_json(out, value, false);
}

int gw_value_io_print(FILE *out, const struct gw_value *value, bool json)
{
    const char *text;
    if (!json && gw_value_get_str(value, &text, NULL) == 0)
        return fprintf(out, "%s\n", text) < 0 ? GW_EIO : 0;
    return gw_value_io_write(out, value, json);
}
