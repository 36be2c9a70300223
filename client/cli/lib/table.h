/* Prints tables on a terminal, and values as JSON. */
#ifndef GW_CLI_TABLE_H
#define GW_CLI_TABLE_H

#include <gangway/value.h>
#include <stdbool.h>
#include <stdio.h>

/* Format of a cell. */
enum gw_cell {
    GW_CELL_TEXT,         /* strings; numbers unformatted */
    GW_CELL_NAME,         /* a text that is never cut, because people type it */
    GW_CELL_NUMBER,       /* a number, right-aligned */
    GW_CELL_MINOR_TEXT,   /* this column of a table is less important: it is left out if the lines
                             do not fit into the terminal, */
    GW_CELL_MINOR_NUMBER, /* the last minor column first */
    GW_CELL_COUNT,        /* number of items of a list */
    GW_CELL_DURATION,     /* nanoseconds */
    GW_CELL_SIZE,         /* bytes */
    GW_CELL_MINOR_SIZE,   /* the same */
    GW_CELL_SINCE,        /* time since a wall-clock time (nanoseconds since 1970) */
};

struct gw_column {
    const char *key; /* key in each row (a dict); "a.b": b in dict a; NULL ends the list */
    const char *header;
    enum gw_cell cell;
};

/* gw_table_print prints rows (a list of dicts) in aligned columns under a header. A missing key is
 * printed as "-". Control characters in texts are printed as "?". */
void gw_table_print(FILE *out, const struct gw_column *columns, const struct gw_value *rows);

/* gw_table_print_dict prints one dict, with one line for each column: "header value". */
void gw_table_print_dict(FILE *out, const struct gw_column *columns, const struct gw_value *dict);

/* gw_table_wrap prints a text and a newline. In a terminal, lines are broken between words. All
 * lines but the first are indented by `indent` columns, where the cursor must be when it is called.
 * Control characters are printed as "?". */
void gw_table_wrap(FILE *out, size_t indent, const char *text);

/* gw_table_tell prints a message and a newline. In a terminal its first line is broken between
 * words. Further lines, for example the last lines of a task's output, are not changed. */
void gw_table_tell(FILE *out, const char *text);

/* gw_table_say prints a text from a user or a program. Control characters other than newlines and
 * tabs are printed as "?". */
void gw_table_say(FILE *out, const char *text);

/* gw_table_json_string makes a JSON string from a text of `bytes` bytes. Each byte that is not
 * valid UTF-8 becomes U+FFFD. Returns NULL if out of memory. */
struct json_t *gw_table_json_string(const char *text, size_t bytes);

/* gw_table_json prints a value as JSON and a newline. `compact`: on one line (NDJSON). Byte strings
 * become base64. Returns 0 or GW_ENOMEM. */
int gw_table_json(FILE *out, const struct gw_value *value, bool compact);

/* gw_table_text and gw_table_number return the text (borrowed) or the number of a key in a row. If
 * the key is missing, they return "" and 0. For gw_table_number, `dict` may be NULL. */
const char *gw_table_text(const struct gw_value *dict, const char *key);
int64_t gw_table_number(const struct gw_value *dict, const char *key);

/* gw_table_again waits until --watch has to print again, and clears a terminal. Returns false if
 * nobody reads `out` any more. */
bool gw_table_again(FILE *out);

/* gw_table_is_terminal returns true if `out` is a terminal that can show colours and live lines.
 * NO_COLOR and a dumb terminal make it false. */
bool gw_table_is_terminal(FILE *out);

#endif
