/* Number of bytes that a TCP connection has received. The function has a separate file because it
 * needs the kernel's <linux/tcp.h> (only that header has the complete struct tcp_info), which
 * cannot be included together with the C library's headers. */
#ifndef GW_CLIENT_RECEIVED_H
#define GW_CLIENT_RECEIVED_H

#include <stdint.h>

/* gw_received_bytes returns the number of bytes received so far, or 0 if the kernel does not count
 * them. Any thread may call it. */
uint64_t gw_received_bytes(int fd);

#endif
