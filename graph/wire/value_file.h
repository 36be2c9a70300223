/* Values that were received as descriptors. */
#ifndef GW_WIRE_VALUE_FILE_H
#define GW_WIRE_VALUE_FILE_H

#include <gangway/error.h>
#include <gangway/value.h>
#include <stddef.h>

/* gw_value_file_decode decodes a value from the first `bytes` (> 0) bytes of a file. The descriptor
 * is borrowed. Bytes values point into the memory that was read or mapped, which is freed with the
 * last of them. Returns the errors of gw_codec_decode, GW_EPROTO if the file is shorter, GW_EIO if
 * it cannot be read. Any thread may call it. */
int gw_value_file_decode(int fd, size_t bytes, struct gw_value **value, struct gw_error *error);

#endif
