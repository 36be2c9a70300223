/* Values that came behind a descriptor. */
#ifndef GW_WIRE_VALUE_FILE_H
#define GW_WIRE_VALUE_FILE_H

#include <gangway/error.h>
#include <gangway/value.h>
#include <stddef.h>

/* gw_value_file_decode makes a value of the first `bytes` (> 0) bytes of a file (borrowed), whose
 * bytes values are views of what was read, or is mapped for as long as one of them lives. As
 * gw_codec_decode; GW_EPROTO also where the file is shorter, GW_EIO where it cannot be read. Any
 * thread. */
int gw_value_file_decode(int fd, size_t bytes, struct gw_value **value, struct gw_error *error);

#endif
