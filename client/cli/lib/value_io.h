/* Reads values from a command line or a file, and prints them. */
#ifndef GW_CLI_VALUE_IO_H
#define GW_CLI_VALUE_IO_H

#include <gangway/value.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* How a word of a command line becomes a value. */
enum gw_value_io_form {
    GW_VALUE_IO_EITHER, /* JSON if it is valid JSON, else text; a word that starts with {, [ or "
                           must be JSON */
    GW_VALUE_IO_TEXT,
    GW_VALUE_IO_JSON,
};

/* gw_value_io_parse makes a value from a word of a command line. Returns 0, GW_EINVAL with a text
 * that says what is wrong, or GW_ENOMEM. */
int gw_value_io_parse(const char *text, enum gw_value_io_form form, struct gw_value **value,
                      struct gw_error *error);

/* gw_value_io_why returns the reason why JSON could not be parsed. The text may point into `why`.
 */
const char *gw_value_io_why(const json_error_t *why);

/* gw_value_io_read makes a value from a file, or from stdin if `path` is "-". The value is a byte
 * string, or with `json` the parsed JSON. Returns 0, GW_EIO, GW_EINVAL or GW_ENOMEM. */
int gw_value_io_read(const char *path, bool json, struct gw_value **value, struct gw_error *error);

/* gw_value_io_write writes byte strings and texts unchanged (on a terminal it adds a missing
 * newline), and other values as JSON. With `json` it writes every value as JSON. Returns 0, GW_EIO
 * or GW_ENOMEM. */
int gw_value_io_write(FILE *out, const struct gw_value *value, bool json);

/* gw_value_io_print does the same, but always adds a newline after a text, so that each value has
 * its own line. */
int gw_value_io_print(FILE *out, const struct gw_value *value, bool json);

#endif
