/* Comma-separated values, one record at a time. A field never grows when its quotes come out, so it
 * is unquoted where it stands. */
#include "examples/petnames/csv.h"

#include <string.h>

void pet_csv_init(struct pet_csv *csv, char *text, size_t length)
{
    memset(csv, 0, sizeof *csv);
    csv->at = text;
    csv->end = text + length;
    csv->line_next = 1;
}

/* Unquotes the field that begins at csv->at (after its quote) and returns its end, one past the
 * closing quote; NULL where there is none. */
static char *read_quoted(struct pet_csv *csv)
{
    char *from = csv->at, *to = csv->at;
    for (; from < csv->end; from++) {
        if (*from == '"') {
            if (from + 1 == csv->end || from[1] != '"') {
                *to = '\0'; /* at the closing quote or before it */
                return from + 1;
            }
            from++;
        }
        csv->line_next += *from == '\n';
        *to++ = *from;
    }
    return NULL;
}

static int read_field(struct pet_csv *csv, struct gw_error *error)
{
    if (csv->field_count == PET_CSV_FIELDS_MAX)
        return gw_error_set(error, GW_ECORRUPT, "line %zu: more than %d columns", csv->line,
                            PET_CSV_FIELDS_MAX);
    char *end;
    if (csv->at < csv->end && *csv->at == '"') {
        csv->fields[csv->field_count++] = ++csv->at;
        end = read_quoted(csv);
        if (!end)
            return gw_error_set(error, GW_ECORRUPT,
                                "line %zu: a quote opens column %zu and is never closed", csv->line,
                                csv->field_count);
        if (end < csv->end && !strchr(",\r\n", *end))
            return gw_error_set(error, GW_ECORRUPT,
                                "line %zu: column %zu goes on after its closing quote", csv->line,
                                csv->field_count);
    } else {
        csv->fields[csv->field_count++] = csv->at;
        end = csv->at + strcspn(csv->at, ",\r\n");
    }
    csv->at = end;
    return 0;
}

int pet_csv_next(struct pet_csv *csv, struct gw_error *error)
{
    while (csv->at < csv->end && (*csv->at == '\n' || *csv->at == '\r')) {
        csv->line_next += *csv->at == '\n';
        csv->at++;
    }
    if (csv->at >= csv->end)
        return 0;

    csv->line = csv->line_next;
    csv->field_count = 0;
    for (;;) {
        int rc = read_field(csv, error);
        if (rc < 0)
            return rc;
        char ended_by = csv->at < csv->end ? *csv->at : '\n';
        *csv->at = '\0';
        if (csv->at < csv->end)
            csv->at++;
        if (ended_by == '\r' && csv->at < csv->end && *csv->at == '\n')
            csv->at++;
        if (ended_by != ',') {
            csv->line_next++;
            return 1;
        }
    }
}
