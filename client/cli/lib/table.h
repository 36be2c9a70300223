/* Tables on a terminal, and the same answers as JSON. */
#ifndef GW_CLI_TABLE_H
#define GW_CLI_TABLE_H

#include <gangway/value.h>
#include <stdbool.h>
#include <stdio.h>

/* How a cell is written. */
enum gw_cell {
    GW_CELL_TEXT,         /* strings; numbers as they are */
    GW_CELL_NUMBER,       /* right-aligned */
    GW_CELL_MINOR_TEXT,   /* the minor ones are left out where lines do not fit into the */
    GW_CELL_MINOR_NUMBER, /* terminal otherwise, the last column first */
    GW_CELL_COUNT,        /* how many items a list has */
    GW_CELL_DURATION,     /* nanoseconds */
    GW_CELL_SIZE,         /* bytes */
    GW_CELL_MINOR_SIZE,   /* the same */
    GW_CELL_SINCE,        /* how long ago a wall clock time was, in nanoseconds since 1970 */
};

struct gw_column {
    const char *key; /* in each row, a dict; "a.b": b in the dict a; NULL ends the list */
    const char *header;
    enum gw_cell cell;
};

/* gw_table_print prints rows (a list of dicts) in aligned columns under a header; a key that a row
 * has not is "-". Control characters in texts are shown as "?". */
void gw_table_print(FILE *out, const struct gw_column *columns, const struct gw_value *rows);

/* gw_table_print_dict prints one dict, a line a column: "header  value". */
void gw_table_print_dict(FILE *out, const struct gw_column *columns, const struct gw_value *dict);

/* gw_table_wrap prints a text and a newline: in a terminal, lines are broken between words, and all
 * but the first begin `indent` columns in, where the cursor is when it is called. Control
 * characters are shown as "?". */
void gw_table_wrap(FILE *out, size_t indent, const char *text);

/* gw_table_tell prints a message and a newline: in a terminal its first line, which is ours, is
 * broken between words; what follows, the last lines of a task say, stays as it is. */
void gw_table_tell(FILE *out, const char *text);

/* gw_table_say prints a text that people or their programs made, as it is but for control
 * characters other than newlines and tabs, which are shown as "?". */
void gw_table_say(FILE *out, const char *text);

/* gw_table_json_string is a text of so many bytes as JSON; each byte that is not UTF-8 becomes
 * U+FFFD. NULL: no memory. */
struct json_t *gw_table_json_string(const char *text, size_t bytes);

/* gw_table_json prints a value as JSON and a newline; `compact`: on one line (NDJSON). Bytes are
 * base64. 0 or GW_ENOMEM. */
int gw_table_json(FILE *out, const struct gw_value *value, bool compact);

/* gw_table_text is the text of a key of a row, borrowed, and gw_table_number the number: "" and 0
 * where it has none (number: or there is no row). */
const char *gw_table_text(const struct gw_value *dict, const char *key);
int64_t gw_table_number(const struct gw_value *dict, const char *key);

/* gw_table_again, for --watch: waits until it is time to show all of it again, and clears a
 * terminal. false: nobody reads `out` any more. */
bool gw_table_again(FILE *out);

/* gw_table_is_terminal tells whether colours and live lines make sense on `out` (NO_COLOR and a
 * dumb terminal say no). */
bool gw_table_is_terminal(FILE *out);

#endif
