/* The hash of all parts of a pack. */
#include "worker/store/parts_hash.h"

#include "graph/base/must.h"

#include <openssl/evp.h>

#include <string.h>

void gw_parts_hash_init(struct gw_parts_hash *hash)
{
    hash->context = EVP_MD_CTX_new();
    GW_MUST_PTR(hash->context);
    GW_MUST(EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) == 1 ? 0 : GW_ENOMEM);
}

void gw_parts_hash_add(struct gw_parts_hash *hash, const struct gw_msg_transfer_part *part)
{
    const uint64_t head[] = {part->kind, part->mode, part->mtime_ns, part->data.size,
                             part->written};
    const bool well = EVP_DigestUpdate(hash->context, head, sizeof head) == 1 &&
                      EVP_DigestUpdate(hash->context, part->path, strlen(part->path) + 1) == 1 &&
                      EVP_DigestUpdate(hash->context, part->data.data, part->data.size) == 1;
    GW_MUST(well ? 0 : GW_ENOMEM);
}

void gw_parts_hash_final(struct gw_parts_hash *hash, uint8_t digest[GW_HASH_BYTES])
{
    GW_MUST(EVP_DigestFinal_ex(hash->context, digest, NULL) == 1 ? 0 : GW_ENOMEM);
}

void gw_parts_hash_deinit(struct gw_parts_hash *hash)
{
    EVP_MD_CTX_free(hash->context);
}
