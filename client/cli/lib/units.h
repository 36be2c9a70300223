/* Durations, sizes and selectors as people write and read them. */
#ifndef GW_CLI_UNITS_H
#define GW_CLI_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* gw_units_parse_duration reads "90" (seconds), "1.5s", "500ms", "1h30m", "2d", and as Slurm writes
 * times "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S"; nanoseconds. 0, GW_EINVAL, or GW_ELIMIT if it is
 * longer than 104166d. */
int gw_units_parse_duration(const char *text, uint64_t *duration_ns);

/* gw_units_parse_size reads "100", "64K", "64M", "1.5G", "2T" (powers of 1024; a B or iB may
 * follow). 0, GW_EINVAL, or GW_ELIMIT where it is larger than 7993P. */
int gw_units_parse_size(const char *text, uint64_t *bytes);

/* gw_units_format_duration writes "850us", "12ms", "4.2s", "3m05s", "1h30m", "2d04h";
 * gw_units_format_size "512 B", "1.5 MiB". Cut and terminated. */
void gw_units_format_duration(uint64_t duration_ns, char *text, size_t text_bytes);
void gw_units_format_size(uint64_t bytes, char *text, size_t text_bytes);

/* A list of numbers and ranges, "1,3,5-8". */
struct gw_units_range {
    uint64_t first, last;
};
enum { GW_UNITS_RANGES_MAX = 256 };

/* gw_units_parse_ranges reads at most GW_UNITS_RANGES_MAX of them; their number, or GW_EINVAL. */
int gw_units_parse_ranges(const char *text, struct gw_units_range *ranges);

#endif
