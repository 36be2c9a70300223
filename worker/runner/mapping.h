/* Mappings of memory files, which stay when what was read there is not needed any more: the next
 * result in the same file is read without a page fault. One table a process. */
#ifndef GW_RUNNER_MAPPING_H
#define GW_RUNNER_MAPPING_H

#include <gangway/value.h>

#include <stddef.h>
#include <stdint.h>

enum { GW_MAPPINGS_MAX = 64 }; /* kept without need */

/* gw_mapping_open makes a value of the first `bytes` bytes of a memory file that was lent (fd:
 * borrowed), which returns it when its last reference goes, from any thread. GW_ENOMEM,
 * GW_EPROTO, with a text; it is returned then, too. */
int gw_mapping_open(uint64_t memfile, int fd, size_t bytes, struct gw_value **value,
                    struct gw_error *error);

/* gw_mapping_return returns one that was lent and is not read. */
void gw_mapping_return(uint64_t memfile);

/* gw_mapping_gone: nothing comes in that file any more. */
void gw_mapping_gone(uint64_t memfile);

/* gw_mapping_take_returned gives up to `max` of those that were returned since, and how many they
 * are: the worker is to be told of each once. */
uint32_t gw_mapping_take_returned(uint64_t *memfiles, uint32_t max);

/* gw_mapping_count is how many files are mapped. */
size_t gw_mapping_count(void);

#endif
