/* The hash of all parts of a pack, which the sending host and the receiving host both compute. */
#ifndef GW_STORE_PARTS_HASH_H
#define GW_STORE_PARTS_HASH_H

#include "graph/wire/hash.h"
#include "graph/wire/message.h"

struct gw_parts_hash {
    struct evp_md_ctx_st *context; /* SHA-256 context; owned */
};
void gw_parts_hash_init(struct gw_parts_hash *hash);
void gw_parts_hash_add(struct gw_parts_hash *hash, const struct gw_msg_transfer_part *part);
void gw_parts_hash_final(struct gw_parts_hash *hash, uint8_t digest[GW_HASH_BYTES]);
void gw_parts_hash_deinit(struct gw_parts_hash *hash);

#endif
