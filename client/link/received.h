/* How many bytes came over a TCP connection. A file of its own: the kernel's header, which alone
 * knows all of tcp_info, and the C library's exclude each other. */
#ifndef GW_CLIENT_RECEIVED_H
#define GW_CLIENT_RECEIVED_H

#include <stdint.h>

/* gw_received_bytes gives the bytes that came so far; 0 where the kernel does not say. Any thread.
 */
uint64_t gw_received_bytes(int fd);

#endif
