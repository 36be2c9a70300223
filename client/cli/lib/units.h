/* Durations, sizes and lists of numbers, as people write and read them. */
#ifndef GW_CLI_UNITS_H
#define GW_CLI_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A limit of nanoseconds or bytes that is never reached, and that every daemon can parse. */
#define GW_UNITS_NONE (UINT64_C(1) << 61)

/* gw_units_is_none returns true for `none`, with which every limit can be given as no limit. */
bool gw_units_is_none(const char *text);

/* gw_units_help says how durations, sizes and limits are written, in lines of at most 80 columns.
 */
extern const char gw_units_help[];

/* gw_units_parse_duration parses "90" (seconds), "1.5s", "500ms", "1h30m", "2d", and the forms of
 * Slurm: "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S". The result is in nanoseconds. Returns 0,
 * GW_EINVAL, or GW_ELIMIT if it is longer than 104166d. */
int gw_units_parse_duration(const char *text, uint64_t *duration_ns);

/* gw_units_parse_since parses a point in time: a duration before now_ns, or a local time like
 * "2026-11-26", "2026-11-26T09:30" or "2026-11-26 09:30:00.5"; with Z at its end it is UTC. The
 * result is in nanoseconds since 1970. Returns 0 or GW_EINVAL. */
int gw_units_parse_since(const char *text, uint64_t now_ns, uint64_t *at_ns);

/* gw_units_format_time writes a point in time as "2026-11-26T09:30:00.123Z" (UTC). */
enum { GW_UNITS_TIME_ROOM = 32 };
void gw_units_format_time(uint64_t at_ns, char text[static GW_UNITS_TIME_ROOM]);

/* gw_units_parse_size parses "100", "64K", "64M", "1.5G", "2T" (powers of 1024; B or iB may
 * follow). Returns 0, GW_EINVAL, or GW_ELIMIT if it is larger than 7993P. */
int gw_units_parse_size(const char *text, uint64_t *bytes);

/* gw_units_format_size writes "512 B", "1.5 MiB". A text that is too long is cut and terminated. */
void gw_units_format_size(uint64_t bytes, char *text, size_t text_bytes);

/* A list of numbers and ranges, "1,3,5-8". */
struct gw_units_range {
    uint64_t first, last;
};
enum { GW_UNITS_RANGES_MAX = 256 };

/* gw_units_parse_ranges parses at most GW_UNITS_RANGES_MAX numbers and ranges. Returns how many
 * there are, or GW_EINVAL. */
int gw_units_parse_ranges(const char *text, struct gw_units_range *ranges);

#endif
