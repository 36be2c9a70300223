/* Mappings of memory files. A mapping stays after its data is no longer needed, so that the next
 * result in the same file is read without page faults. There is one table per process. */
#ifndef GW_RUNNER_MAPPING_H
#define GW_RUNNER_MAPPING_H

#include <gangway/value.h>

#include <stddef.h>
#include <stdint.h>

enum { GW_MAPPINGS_MAX = 64 }; /* mappings that stay without being used */

/* gw_mapping_open creates a value from the first `bytes` bytes of a memory file that was lent (fd
 * is borrowed). The value returns the file when its last reference is released, on any thread.
 * Returns GW_ENOMEM or GW_EPROTO and sets the error if it fails. The file is then returned at once.
 */
int gw_mapping_open(uint64_t memfile, int fd, size_t bytes, struct gw_value **value,
                    struct gw_error *error);

/* gw_mapping_return returns a file that was lent and is not read. */
void gw_mapping_return(uint64_t memfile);

/* gw_mapping_gone handles that no further result comes in this file. */
void gw_mapping_gone(uint64_t memfile);

/* gw_mapping_take_returned copies up to `max` of the files that were returned since the last call,
 * and returns their number. The worker must be told of each one once. */
uint32_t gw_mapping_take_returned(uint64_t *memfiles, uint32_t max);

/* gw_mapping_count returns the number of mapped files. */
size_t gw_mapping_count(void);

#endif
