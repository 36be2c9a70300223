/* Checkpoints of a gang. Only rank 0 accesses files, and all ranks return its result. */
#include "gpu/train/checkpoint_image.h"
#include "gpu/train/rank_error.h"

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

int gw_checkpoint_comm_load(struct gw_comm *comm, const char *path,
                            struct gw_checkpoint **checkpoint, struct gw_error *error)
{
    struct gw_checkpoint *loaded = NULL;
    struct outcome outcome = {0};
    struct gw_error failure = {0};
    if (gw_comm_rank(comm) == 0) {
        outcome.rc = gw_checkpoint_file_read(path, &loaded, &failure);
        memcpy(outcome.text, failure.text, sizeof outcome.text);
        if (outcome.rc == 0) {
            size_t bytes;
            (void)gw_checkpoint_image(loaded, &bytes);
            const char *warning = gw_checkpoint_warning(loaded);
            outcome.image_bytes = bytes;
            memset(outcome.text, 0, sizeof outcome.text);
            if (warning)
                memcpy(outcome.text, warning, strlen(warning));
        }
    }
    int rc = outcome_share(comm, &outcome, error);
    if (rc == 0)
        rc = image_share(comm, &outcome, &loaded, error);
    if (rc < 0) {
        gw_checkpoint_free(loaded);
        return rc;
    }
    *checkpoint = loaded;
    return 0;
}
