/* A reader of comma-separated values (RFC 4180) in memory: quoted fields with doubled quotes,
 * commas and newlines in them, CRLF, LF or CR at the end of a record. */
#ifndef GW_EXAMPLES_PETNAMES_CSV_H
#define GW_EXAMPLES_PETNAMES_CSV_H

#include <gangway/error.h>
#include <stddef.h>

enum { PET_CSV_FIELDS_MAX = 256 };

struct pet_csv {
    char *at;    /* next record; the text is changed in place: quotes come out of it */
    char *end;   /* of the text, where a '\0' stands */
    size_t line; /* of the record read last, from 1, for messages */
    size_t line_next;
    size_t field_count;               /* of the record read last */
    char *fields[PET_CSV_FIELDS_MAX]; /* terminated; valid as long as the text */
};

/* pet_csv_init starts reading text[length], which is borrowed, changed, and followed by '\0'. */
void pet_csv_init(struct pet_csv *csv, char *text, size_t length);

/* pet_csv_next reads a record into fields: 1, 0 at the end of the text, GW_ECORRUPT naming the line
 * where it is malformed. Empty lines are skipped. */
int pet_csv_next(struct pet_csv *csv, struct gw_error *error);

#endif
