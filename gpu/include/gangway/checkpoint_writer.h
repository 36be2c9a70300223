/* Writes checkpoints while training goes on. A thread copies the sections into memory and then
 * writes the copy to disk. The last checkpoints and the best one are kept:
 *
 *     PATH.STEP    the last `last` checkpoints, in the order in which they were saved
 *     PATH.best    the one with the lowest metric (is_max: the highest)
 *     PATH         the newest; gw_checkpoint_comm_load reads it
 *
 * The files are those of gw_checkpoint_file_write. They share their bytes on disk (hard links), so
 * PATH needs no further room. If the process is killed, the checkpoint that was being written is
 * missing and the ones before are complete.
 *
 * Sections in memory of a GPU (gw_checkpoint_set_device): with a stream, the copies run beside the
 * work on this stream, into pinned memory, which the first save allocates. They come after the work
 * that was on the stream when the save began. The host does not wait for them, only the stream
 * does.
 *
 * A writer belongs to one rank, usually rank 0, and is used by one thread at a time. */
#ifndef GANGWAY_CHECKPOINT_WRITER_H
#define GANGWAY_CHECKPOINT_WRITER_H

#include <gangway/checkpoint.h>
#include <gangway/options.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_checkpoint_writer;

#define GW_CHECKPOINT_WRITER_TIMEOUT_DEFAULT_NS (UINT64_C(1800) * 1000000000) /* half an hour */

struct gw_checkpoint_writer_options {
    size_t struct_size;  /* see options.h */
    const char *path;    /* copied */
    uint32_t last;       /* 0: 2; GW_UNLIMITED: no checkpoint is removed */
    bool is_max;         /* a higher metric is better */
    void *stream;        /* a cudaStream_t; NULL: all sections are in host memory */
    uint64_t timeout_ns; /* of each wait for a save; 0: GW_CHECKPOINT_WRITER_TIMEOUT_DEFAULT_NS */
};
#define GW_CHECKPOINT_WRITER_OPTIONS(...) GW_POINTER(gw_checkpoint_writer_options, __VA_ARGS__)

/* gw_checkpoint_writer_open returns a writer, which the caller closes with
 * gw_checkpoint_writer_close. Checkpoints of an earlier run at the path count among the last ones,
 * and the best of them stays the best. Returns GW_EINVAL if the path is missing or too long,
 * GW_ENOMEM, GW_EIO if the best checkpoint cannot be read, GW_ENOTSUP if there is a stream and
 * libgangway-cuda.so cannot be loaded. */
GW_API int gw_checkpoint_writer_open(const struct gw_checkpoint_writer_options *options,
                                     struct gw_checkpoint_writer **writer, struct gw_error *error);

/* gw_checkpoint_writer_save copies the set and starts to write it as the checkpoint of a step. When
 * it returns, the caller may change the data of the sections; sections in memory of a GPU, by later
 * work on the stream. If the save before is not on disk yet, the call first waits for it. A metric
 * that is not a number is never the best.
 *
 * Training stands still for the copy, which takes about a tenth of the time of a write to disk.
 * With gw_checkpoint_writer_start it does not.
 *
 * It returns the error of the save before, if that failed: GW_EIO with a text (the disk is full,
 * ...); nothing is then saved, and the next call tries again. Other errors: GW_ENOMEM, GW_EEXIST
 * (the set has a section "gangway.metric", which the writer adds), GW_ELIMIT (with this section the
 * set has too many), GW_EINVAL (a section that is said to be in memory of a GPU is not; there is no
 * stream; the stream is being captured). */
GW_API int gw_checkpoint_writer_save(struct gw_checkpoint_writer *writer,
                                     const struct gw_checkpoint *checkpoint, uint64_t step,
                                     double metric, struct gw_error *error);

/* gw_checkpoint_writer_start is gw_checkpoint_writer_save that does not wait for the copy. The set
 * and the data of its sections must stay as they are until gw_checkpoint_writer_copied returns. So
 * the copy costs no time if it runs beside the next forward and backward pass:
 *
 *     gw_optimizer_step(...);  gw_checkpoint_writer_start(writer, set, step, loss, &error);
 *     forward, backward;       gw_checkpoint_writer_copied(writer);  gw_optimizer_step(...); */
GW_API int gw_checkpoint_writer_start(struct gw_checkpoint_writer *writer,
                                      const struct gw_checkpoint *checkpoint, uint64_t step,
                                      double metric, struct gw_error *error);

/* gw_checkpoint_writer_copied returns when the last save has its copy; of sections in memory of a
 * GPU, when later work on the stream comes after their copies. It does not fail. */
GW_API void gw_checkpoint_writer_copied(struct gw_checkpoint_writer *writer);

/* gw_checkpoint_writer_wait returns when all saves are on disk, with the error of the last one.
 * Returns GW_ETIMEDOUT if this takes longer than timeout_ns: the save goes on, and a later call
 * waits again. gw_checkpoint_writer_save and _start return this error too, and save nothing. */
GW_API int gw_checkpoint_writer_wait(struct gw_checkpoint_writer *writer, struct gw_error *error);

/* gw_checkpoint_writer_close is gw_checkpoint_writer_wait, and frees the writer also if it returns
 * an error. After GW_ETIMEDOUT the save goes on and then frees the writer. NULL is allowed. */
GW_API int gw_checkpoint_writer_close(struct gw_checkpoint_writer *writer, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
