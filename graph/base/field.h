/* Fields of a line: what stands between its blanks (spaces and tabs), numbered from 1. Quotes are
 * characters as any other. */
#ifndef GW_BASE_FIELD_H
#define GW_BASE_FIELD_H

#include <stddef.h>
#include <stdint.h>

/* gw_field_number reads a name like "1" or "10"; 0: it is not a field's (no digits alone, a 0 in
 * front, or beyond 999999999). */
uint32_t gw_field_number(const char *name, size_t length);

/* gw_field_find gives the field of a number from 1 on, and its bytes; NULL: the line has fewer.
 * `line` may be NULL if there are no bytes. */
const char *gw_field_find(const char *line, size_t line_bytes, uint32_t number, size_t *bytes);

/* gw_field_count tells how many there are. */
uint32_t gw_field_count(const char *line, size_t line_bytes);

#endif
