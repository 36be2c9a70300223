/* Digests: 128 bits of content, for tables of what is equal. SipHash-2-4 with 128 bits of output:
 * collisions by accident do not happen; whoever knows the key can make them, so that a digest says
 * nothing about content of somebody else. A pure function, unlike libcrypto's, which reads files
 * when it starts: the cores may call it. */
#ifndef GW_BASE_DIGEST_H
#define GW_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct gw_digest {
    uint64_t low, high;
};

/* gw_digest_bytes is the digest of memory under a key. */
struct gw_digest gw_digest_bytes(struct gw_digest key, const void *data, size_t bytes);

#endif
