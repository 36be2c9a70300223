/* Digests: 128 bits that identify content, used in tables of equal contents. The algorithm is
 * SipHash-2-4 with 128 bits of output. Accidental collisions do not occur in practice. A person who
 * knows the key can construct collisions, so a digest must not be used to identify another user's
 * content. The function is pure, so the scheduler core and the worker core may call it. libcrypto's
 * hashes are not, because libcrypto reads files when it starts. */
#ifndef GW_BASE_DIGEST_H
#define GW_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct gw_digest {
    uint64_t low, high;
};

/* gw_digest_bytes computes the digest of memory under a key. */
struct gw_digest gw_digest_bytes(struct gw_digest key, const void *data, size_t bytes);

#endif
