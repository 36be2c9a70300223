/* The hello: the first message on a connection of the ring. ring_link.c sends it and ring_door.c
 * checks it. */
#ifndef GW_GPU_RING_HELLO_H
#define GW_GPU_RING_HELLO_H

#include <stdint.h>

#define GW_RING_MAGIC "GWRING1"
enum { GW_RING_BYTE_ORDER = 0x01020304 };

/* The struct is sent as it is in memory. A connection from a host with another byte order is
 * refused. */
struct gw_ring_hello {
    char magic[sizeof GW_RING_MAGIC];
    uint32_t order;
    uint32_t purpose;
    uint64_t attempt;
    uint32_t ranks;
    int32_t from, to;
    uint32_t zero;
};

#endif
