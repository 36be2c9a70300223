/* Fields of a line: the words between blanks (spaces and tabs), numbered from 1. Quotes have no
 * special meaning. */
#ifndef GW_BASE_FIELD_H
#define GW_BASE_FIELD_H

#include <stddef.h>
#include <stdint.h>

/* gw_field_number reads the number of a field, such as "1" or "10". It returns 0 if name is not a
 * number of a field: other characters than digits, a leading 0, or more than 999999999. */
uint32_t gw_field_number(const char *name, size_t length);

/* gw_field_find returns the field with a number (from 1) and its length, or NULL if the line has
 * fewer fields. `line` may be NULL if line_bytes is 0. */
const char *gw_field_find(const char *line, size_t line_bytes, uint32_t number, size_t *bytes);

/* gw_field_count returns the number of fields. */
uint32_t gw_field_count(const char *line, size_t line_bytes);

#endif
