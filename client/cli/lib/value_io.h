/* Values as people give them in a shell, and as a shell gets them. */
#ifndef GW_CLI_VALUE_IO_H
#define GW_CLI_VALUE_IO_H

#include <gangway/value.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* How what a person gives becomes a value. */
enum gw_value_io_form {
    GW_VALUE_IO_EITHER, /* JSON where it is JSON, else text; what begins like {, [ or " has to be */
    GW_VALUE_IO_TEXT,
    GW_VALUE_IO_JSON,
};

/* gw_value_io_parse makes a value of a word of a command line. 0, GW_EINVAL with what is wrong with
 * it, GW_ENOMEM. */
int gw_value_io_parse(const char *text, enum gw_value_io_form form, struct gw_value **value,
                      struct gw_error *error);

/* gw_value_io_why is why JSON could not be read, in words for who wrote it; borrowed of `why`. */
const char *gw_value_io_why(const json_error_t *why);

/* gw_value_io_read makes one of a file, "-" for stdin: bytes as they are, or (json) what JSON says.
 * 0, GW_EIO, GW_EINVAL, GW_ENOMEM. */
int gw_value_io_read(const char *path, bool json, struct gw_value **value, struct gw_error *error);

/* gw_value_io_write writes bytes and text as they are (on a terminal, so that its line ends), what
 * has a structure, or all (json), as JSON. 0, GW_EIO, GW_ENOMEM. */
int gw_value_io_write(FILE *out, const struct gw_value *value, bool json);

/* gw_value_io_print does so with a newline behind text everywhere: a line for each value. */
int gw_value_io_print(FILE *out, const struct gw_value *value, bool json);

#endif
