/* Checkpoints of a gang. Only rank 0 accesses files, and all ranks return its result. */
#include "gpu/base/comm_backend.h"
#include "gpu/train/checkpoint_image.h"
#include "gpu/train/rank_error.h"
#include "graph/base/strmap.h"
#include "graph/wire/hash.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 16 << 20 };

/* The result that rank 0 sends to the other ranks. */
struct outcome {
    int64_t rc;
    uint64_t image_bytes;
    char text[GW_ERROR_TEXT_MAX]; /* text of the error or of the warning */
};

/* Sends rank 0's bytes in chunks: each has the communicator's timeout, so that a large checkpoint
 * needs no longer one, and stages of backends stay small. */
static int bytes_broadcast(struct gw_comm *comm, void *memory, size_t bytes, struct gw_error *error)
{
    int rc = 0;
    for (size_t at = 0; at < bytes && rc == 0; at += CHUNK_BYTES)
        rc = gw_comm_broadcast(
            comm,
            GW_COMM_ARGS(.recv = (char *)memory + at,
                         .count = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES,
                         .dtype = GW_DTYPE_U8),
            error);
    return rc;
}

/* Sends rank 0's result to all ranks and returns it. */
static int outcome_share(struct gw_comm *comm, struct outcome *outcome, struct gw_error *error)
{
    int rc = bytes_broadcast(comm, outcome, sizeof *outcome, error);
    if (rc < 0)
        return rc;
    if (outcome->rc < 0)
        return gw_error_set(error, (int)outcome->rc, "%s", outcome->text);
    return 0;
}

int gw_checkpoint_comm_save(const struct gw_checkpoint *checkpoint, struct gw_comm *comm,
                            const char *path, struct gw_error *error)
{
    struct outcome outcome = {0};
    struct gw_error failure = {0};
    if (gw_comm_rank(comm) == 0) {
        outcome.rc = gw_checkpoint_file_write(checkpoint, path, &failure);
        memcpy(outcome.text, failure.text, sizeof outcome.text);
    }
    return outcome_share(comm, &outcome, error);
}

/* Checks that all ranks have memory for the image. If one has not, all ranks return an error. */
static int memory_agree(struct gw_comm *comm, const void *memory, struct gw_error *error)
{
    int32_t status = memory ? 0 : GW_ENOMEM;
    int rc = gw_comm_all_reduce(
        comm,
        GW_COMM_ARGS(.recv = &status, .count = 1, .dtype = GW_DTYPE_I32, .reduce = GW_REDUCE_MIN),
        error);
    if (rc == 0 && status < 0)
        rc = gw_error_set(error, status, "checkpoint: a rank has no memory for it");
    return rc;
}

/* Sends the image of rank 0's set to all ranks. Each rank decodes it. */
static int image_share(struct gw_comm *comm, const struct outcome *outcome,
                       struct gw_checkpoint **checkpoint, struct gw_error *error)
{
    const bool is_root = gw_comm_rank(comm) == 0;
    size_t bytes = (size_t)outcome->image_bytes;
    struct gw_error why = {.code = 0};
    int failed = 0;
    void *image = is_root ? gw_checkpoint_image(*checkpoint, &bytes) : malloc(bytes);
    int rc = memory_agree(comm, image, error);
    if (rc == 0)
        rc = bytes_broadcast(comm, image, bytes, error);
    if (rc == 0 && !is_root) {
        failed = gw_checkpoint_decode(image, bytes, checkpoint, &why);
        if (failed == 0)
            gw_checkpoint_warn(*checkpoint, outcome->text);
    }
    if (!is_root && (rc < 0 || failed < 0))
        free(image);
    if (rc < 0)
        return rc;
    rc = gw_rank_error_share(comm, failed, &why);
    return rc < 0 ? gw_error_set(error, rc, "%s", why.text) : 0;
}

/* -- Places --------------------------------------------------------------------------------------
 */

struct places {
    const struct gw_checkpoint_place *list;
    size_t count;
};

/* Every place fits a section of the file. */
static int places_check(const struct places *places, const struct gw_checkpoint *checkpoint,
                        struct gw_error *error)
{
    for (size_t i = 0; i < places->count; i++) {
        const struct gw_checkpoint_place *place = &places->list[i];
        const void *data;
        size_t bytes;
        const int rc = gw_checkpoint_bytes(checkpoint, place->name, &data, &bytes);
        if (rc == GW_EINVAL)
            return gw_error_set(error, rc, "checkpoint: section \"%s\": it is an integer",
                                place->name);
        if (rc < 0)
            return gw_error_set(error, GW_EMISMATCH, "checkpoint: there is no section \"%s\"",
                                place->name);
        if (bytes != place->bytes)
            return gw_error_set(error, GW_EMISMATCH,
                                "checkpoint: section \"%s\" has %zu bytes, its place %zu",
                                place->name, bytes, place->bytes);
    }
    return 0;
}

/* All ranks have the places of rank 0. */
static int places_agree(const struct places *places, struct gw_comm *comm, struct gw_error *error)
{
    uint8_t own[GW_HASH_BYTES] = {0}, root[GW_HASH_BYTES];
    struct gw_error why = {.code = 0};
    for (size_t i = 0; i < places->count; i++) {
        uint8_t both[2 * GW_HASH_BYTES + sizeof places->list[i].bytes];
        memcpy(both, own, sizeof own);
        gw_hash_bytes(places->list[i].name, strlen(places->list[i].name), both + sizeof own);
        memcpy(both + 2 * sizeof own, &places->list[i].bytes, sizeof places->list[i].bytes);
        gw_hash_bytes(both, sizeof both, own);
    }
    memcpy(root, own, sizeof root);
    int rc = bytes_broadcast(comm, root, sizeof root, error);
    if (rc < 0)
        return rc;
    if (memcmp(own, root, sizeof own) != 0)
        (void)gw_error_set(
            &why, GW_EMISMATCH,
            "checkpoint: rank %d passes places with other names or sizes than rank 0",
            gw_comm_rank(comm));
    rc = gw_rank_error_share(comm, why.code, &why);
    return rc < 0 ? gw_error_set(error, rc, "%s", why.text) : 0;
}

/* Makes a set of the sections without a place, with an image of its own. */
static int rest_new(const struct places *places, const struct gw_checkpoint *whole,
                    struct gw_checkpoint **rest, struct gw_error *error)
{
    struct gw_checkpoint *left = gw_checkpoint_new();
    struct gw_strmap placed = {0};
    uint8_t *image = NULL;
    void *front = NULL;
    size_t bytes, all = 0;
    int rc = left ? 0 : GW_ENOMEM;
    for (size_t i = 0; i < places->count && rc == 0; i++)
        rc = gw_strmap_put(&placed, places->list[i].name, i);
    for (size_t i = 0; i < gw_checkpoint_sections(whole) && rc == 0; i++) {
        const void *data = gw_checkpoint_section(whole, i, &bytes);
        if (gw_strmap_get(&placed, gw_checkpoint_section_name(whole, i), NULL))
            continue;
        rc = gw_checkpoint_section_move(left, whole, i, data);
        all += bytes;
    }
    if (rc == 0)
        rc = gw_checkpoint_front(left, &front, &bytes);
    if (rc == 0 && !(image = malloc(bytes + all)))
        rc = GW_ENOMEM;
    if (rc == 0) {
        all += bytes;
        memcpy(image, front, bytes);
        for (size_t i = 0, at = bytes; i < gw_checkpoint_sections(left); i++, at += bytes) {
            const void *data = gw_checkpoint_section(left, i, &bytes);
            memcpy(image + at, data, bytes);
        }
        rc = gw_checkpoint_decode(image, all, rest, NULL);
    }
    gw_strmap_deinit(&placed);
    gw_checkpoint_free(left);
    free(front);
    if (rc == 0)
        return 0;
    free(image);
    return gw_error_set(error, rc, "checkpoint: %s", gw_error_text(rc));
}

/* Rank 0 copies a chunk to its own place, from where it is sent. */
static int place_fill(struct gw_comm *comm, const struct gw_checkpoint_place *place,
                      const char *from, struct gw_error *error)
{
    int rc = 0;
    for (size_t at = 0; at < place->bytes && rc == 0; at += CHUNK_BYTES) {
        const size_t left = place->bytes - at;
        const struct gw_comm_span chunk = {.memory = (char *)place->memory + at,
                                           .bytes = left < CHUNK_BYTES ? left : CHUNK_BYTES};
        if (from)
            rc = gw_comm_copy(comm, &chunk, from + at, error);
        if (rc == 0)
            rc = bytes_broadcast(comm, chunk.memory, chunk.bytes, error);
    }
    return rc;
}

/* Reads the file on rank 0: the whole, and the set of the sections without a place. */
static void root_read(const char *path, const struct places *places, struct gw_checkpoint *read[2],
                      struct outcome *outcome)
{
    struct gw_error failure = {0};
    size_t bytes;
    outcome->rc = gw_checkpoint_file_read(path, &read[0], &failure);
    if (outcome->rc == 0 && places->count > 0) {
        outcome->rc = places_check(places, read[0], &failure);
        if (outcome->rc == 0)
            outcome->rc = rest_new(places, read[0], &read[1], &failure);
    } else if (outcome->rc == 0) {
        read[1] = read[0];
        read[0] = NULL;
    }
    memcpy(outcome->text, failure.text, sizeof outcome->text);
    if (outcome->rc < 0)
        return;
    const char *warning = gw_checkpoint_warning(read[0] ? read[0] : read[1]);
    (void)gw_checkpoint_image(read[1], &bytes);
    outcome->image_bytes = bytes;
    memset(outcome->text, 0, sizeof outcome->text);
    if (warning)
        memcpy(outcome->text, warning, strlen(warning));
    if (warning && read[0])
        gw_checkpoint_warn(read[1], warning);
}

int gw_checkpoint_comm_load_into(struct gw_comm *comm, const char *path,
                                 const struct gw_checkpoint_place *list, size_t count,
                                 struct gw_checkpoint **checkpoint, struct gw_error *error)
{
    const struct places places = {list, count};
    struct gw_checkpoint *read[2] = {NULL, NULL};
    struct outcome outcome = {0};
    int rc = places_agree(&places, comm, error);
    if (rc < 0)
        return rc;
    if (gw_comm_rank(comm) == 0)
        root_read(path, &places, read, &outcome);
    rc = outcome_share(comm, &outcome, error);
    if (rc == 0)
        rc = image_share(comm, &outcome, &read[1], error);
    for (size_t i = 0; i < count && rc == 0; i++) {
        const void *data = NULL;
        size_t bytes;
        if (read[0])
            (void)gw_checkpoint_bytes(read[0], list[i].name, &data, &bytes);
        rc = place_fill(comm, &list[i], data, error);
    }
    gw_checkpoint_free(read[0]);
    if (rc < 0) {
        gw_checkpoint_free(read[1]);
        return rc;
    }
    *checkpoint = read[1];
    return 0;
}

int gw_checkpoint_comm_load(struct gw_comm *comm, const char *path,
                            struct gw_checkpoint **checkpoint, struct gw_error *error)
{
    return gw_checkpoint_comm_load_into(comm, path, NULL, 0, checkpoint, error);
}
