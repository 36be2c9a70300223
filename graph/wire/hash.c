/* SHA-256 of memory and of files. */
#include "graph/wire/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

void gw_hash_bytes(const void *data, size_t bytes, uint8_t hash[GW_HASH_BYTES])
{
    if (EVP_Digest(data, bytes, hash, NULL, EVP_sha256(), NULL) != 1)
        memset(hash, 0, GW_HASH_BYTES); /* libcrypto has no SHA-256: no content has this hash */
}

int gw_hash_file(int fd, uint8_t hash[GW_HASH_BYTES], struct gw_error *error)
{
    static const size_t chunk_bytes = 64 * 1024;
    uint8_t chunk[64 * 1024];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(context);
        return gw_error_set(error, GW_ENOMEM, "hash: out of memory");
    }

    off_t at = 0;
    ssize_t got;
    while ((got = pread(fd, chunk, chunk_bytes, at)) > 0 || (got < 0 && errno == EINTR)) {
        if (got < 0)
            continue;
        EVP_DigestUpdate(context, chunk, (size_t)got);
        at += got;
    }
    int rc = 0;
    if (got < 0)
        rc = gw_error_set(error, GW_EIO, "hash: %s", strerror(errno));
    else
        EVP_DigestFinal_ex(context, hash, NULL);
    EVP_MD_CTX_free(context);
    return rc;
}

void gw_hash_format(const uint8_t hash[GW_HASH_BYTES], char text[GW_HASH_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < GW_HASH_BYTES; i++) {
        text[2 * i] = digits[hash[i] >> 4];
        text[2 * i + 1] = digits[hash[i] & 15];
    }
    text[2 * GW_HASH_BYTES] = '\0';
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool gw_hash_parse(const char *text, uint8_t hash[GW_HASH_BYTES])
{
    for (int i = 0; i < GW_HASH_BYTES; i++) {
        int high = digit_of(text[2 * i]), low = high < 0 ? -1 : digit_of(text[2 * i + 1]);
        if (low < 0)
            return false;
        hash[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
