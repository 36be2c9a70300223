/* Manifests. A manifest from a peer is checked here, so that no name leads out of the folder in
 * which its files are created. */
#include "graph/wire/manifest.h"

#include "graph/wire/codec.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static struct gw_value *file_value(const struct gw_manifest_file *file)
{
    struct gw_value *list = gw_list();
    struct gw_value *items[] = {gw_str(file->name), gw_bytes(file->hash, GW_HASH_BYTES),
                                gw_i64((int64_t)file->bytes), gw_i64(file->mode)};
    int rc = list ? 0 : GW_ENOMEM;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        int pushed = list ? gw_list_push(list, items[i]) : (gw_value_unref(items[i]), GW_ENOMEM);
        rc = rc < 0 ? rc : pushed;
    }
    if (rc < 0) {
        gw_value_unref(list);
        return NULL;
    }
    return list;
}

int gw_manifest_encode(const struct gw_manifest *manifest, struct gw_buffer *buffer)
{
    struct gw_value *list = gw_list();
    if (!list)
        return GW_ENOMEM;

    int rc = 0;
    for (uint32_t i = 0; i < manifest->count && rc >= 0; i++)
        rc = gw_list_push(list, file_value(&manifest->files[i]));
    if (rc >= 0)
        rc = gw_codec_encode(list, NULL, buffer);
    gw_value_unref(list);
    return rc;
}

bool gw_manifest_name_is_safe(const char *name)
{
    if (strlen(name) > GW_MANIFEST_NAME_MAX)
        return false;
    for (;;) {
        size_t length = strcspn(name, "/");
        if (length == 0 || length > 255 || strncmp(name, ".", length) == 0 ||
            (length == 2 && strncmp(name, "..", length) == 0))
            return false;
        if (!name[length])
            return true;
        name += length + 1;
    }
}

static int file_decode(struct gw_value *item, struct gw_arena *arena, struct gw_manifest_file *file,
                       struct gw_error *error)
{
    const char *name;
    const void *hash;
    size_t hash_bytes;
    int64_t bytes, mode;
    if (gw_value_count(item) < 4 || gw_value_get_str(gw_value_at(item, 0), &name, error) < 0 ||
        gw_value_get_bytes(gw_value_at(item, 1), &hash, &hash_bytes, error) < 0 ||
        gw_value_get_i64(gw_value_at(item, 2), &bytes, error) < 0 ||
        gw_value_get_i64(gw_value_at(item, 3), &mode, error) < 0 || hash_bytes != GW_HASH_BYTES ||
        bytes < 0)
        return gw_error_set(error, GW_EPROTO, "manifest: a file is not [name, hash, bytes, mode]");
    if (!gw_manifest_name_is_safe(name))
        return gw_error_set(error, GW_EPROTO, "manifest: \"%.255s\" is not a file name", name);

    file->name = gw_arena_strdup(arena, name);
    if (!file->name)
        return gw_error_set(error, GW_ENOMEM, "manifest: out of memory");
    memcpy(file->hash, hash, GW_HASH_BYTES);
    file->bytes = (uint64_t)bytes;
    file->mode = (uint32_t)mode & 0777;
    if (S_ISLNK((uint32_t)mode))
        file->mode |= S_IFLNK;
    if (S_ISLNK(file->mode) && (bytes == 0 || bytes >= PATH_MAX))
        return gw_error_set(error, GW_EPROTO, "manifest: \"%.255s\" is a link of %lld bytes", name,
                            (long long)bytes);
    return 0;
}

int gw_manifest_decode(struct gw_bin bytes, struct gw_arena *arena, struct gw_manifest *manifest,
                       struct gw_error *error)
{
    struct gw_value *list = NULL;
    int rc = gw_codec_decode(bytes.data, bytes.size, NULL, &list, error);
    if (rc < 0)
        return rc;

    size_t count = gw_value_count(list);
    struct gw_manifest_file *files = NULL;
    if (gw_value_type(list) != GW_LIST || count == 0 || count > GW_MANIFEST_FILES_MAX)
        rc = gw_error_set(error, GW_EPROTO, "manifest: not a list of 1 to %d files",
                          GW_MANIFEST_FILES_MAX);
    else if (!(files = gw_arena_alloc(arena, count * sizeof *files)))
        rc = gw_error_set(error, GW_ENOMEM, "manifest: out of memory");
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = file_decode(gw_value_at(list, i), arena, &files[i], error);
    gw_value_unref(list);
    if (rc < 0)
        return rc;
    *manifest = (struct gw_manifest){files, (uint32_t)count};
    return 0;
}

static bool listed(const uint8_t *hashes, uint32_t count, const uint8_t *hash)
{
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(hashes + (size_t)i * GW_HASH_BYTES, hash, GW_HASH_BYTES) == 0)
            return true;
    return false;
}

uint32_t gw_manifest_lacks(const struct gw_manifest *manifest, const struct gw_blobs *blobs,
                           uint8_t *hashes, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < manifest->count && count < most; i++) {
        const uint8_t *hash = manifest->files[i].hash;
        if (gw_blobs_has(blobs, hash, manifest->files[i].bytes) || listed(hashes, count, hash))
            continue;
        memcpy(hashes + (size_t)count * GW_HASH_BYTES, hash, GW_HASH_BYTES);
        count++;
    }
    return count;
}
