/* Checkpoint files: named sections of bytes and integers, each with its SHA-256, that are replaced
 * atomically and refused when torn, damaged or foreign.
 *
 * A checkpoint at PATH is written to PATH.new, synced, and renamed; the one before it stays at
 * PATH.previous. Whatever moment the machine dies at, one of both is whole. The format stands in
 * gpu/README.md. */
#ifndef GANGWAY_CHECKPOINT_H
#define GANGWAY_CHECKPOINT_H

#include <gangway/comm.h>
#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GW_CHECKPOINT_NAME_MAX = 255,       /* bytes of a section's name */
    GW_CHECKPOINT_SECTIONS_MAX = 65536, /* in one file */
};

/* A set of sections, to be written or as it was read. Not thread-safe. */
struct gw_checkpoint;

/* gw_checkpoint_new returns an empty set for gw_checkpoint_free; NULL: out of memory. */
GW_API struct gw_checkpoint *gw_checkpoint_new(void);

/* gw_checkpoint_free frees the set and what reading allocated (NULL: nothing). */
GW_API void gw_checkpoint_free(struct gw_checkpoint *checkpoint);

/* gw_checkpoint_set_bytes adds a section. The name is copied; data is borrowed until the set is
 * freed and read when it is written. GW_EEXIST: the name is taken; GW_EINVAL: empty or too long;
 * GW_ELIMIT: too many sections. */
GW_API int gw_checkpoint_set_bytes(struct gw_checkpoint *checkpoint, const char *name,
                                   const void *data, size_t bytes);

/* gw_checkpoint_set_i64 adds an integer as a section; errors as gw_checkpoint_set_bytes. */
GW_API int gw_checkpoint_set_i64(struct gw_checkpoint *checkpoint, const char *name, int64_t value);

/* gw_checkpoint_bytes gives back a section's bytes, borrowed until the set is freed, in no
 * particular alignment. GW_ENOENT: no such section; GW_EINVAL: it is an integer. */
GW_API int gw_checkpoint_bytes(const struct gw_checkpoint *checkpoint, const char *name,
                               const void **data, size_t *bytes);

/* gw_checkpoint_copy copies a section of exactly `bytes` bytes to `memory`; GW_EMISMATCH if it has
 * another size, naming both; else errors as gw_checkpoint_bytes. */
GW_API int gw_checkpoint_copy(const struct gw_checkpoint *checkpoint, const char *name,
                              void *memory, size_t bytes, struct gw_error *error);

/* gw_checkpoint_i64 gives back an integer. GW_ENOENT; GW_EINVAL: it is not an integer. */
GW_API int gw_checkpoint_i64(const struct gw_checkpoint *checkpoint, const char *name,
                             int64_t *value);

/* gw_checkpoint_warning returns why the newest file was refused and the previous one read instead;
 * NULL where it was not. Borrowed. */
GW_API const char *gw_checkpoint_warning(const struct gw_checkpoint *checkpoint);

/* gw_checkpoint_file_write replaces the checkpoint at path by this set, durably (file and folder
 * are synced). GW_EIO with the system's words if that fails; what was there before is then still
 * there. GW_EINVAL: the path is a folder or device. One writer at a time. */
GW_API int gw_checkpoint_file_write(const struct gw_checkpoint *checkpoint, const char *path,
                                    struct gw_error *error);

/* gw_checkpoint_file_read reads the checkpoint at path, or the previous one if that is torn,
 * damaged, foreign or missing, into a set for gw_checkpoint_free. GW_ENOENT: there is none;
 * GW_ECORRUPT, GW_EVERSION: none can be used, with the reasons; GW_EIO, GW_ENOMEM. */
GW_API int gw_checkpoint_file_read(const char *path, struct gw_checkpoint **checkpoint,
                                   struct gw_error *error);

/* gw_checkpoint_comm_save is gw_checkpoint_file_write by rank 0; collective, and the same result on
 * all ranks, when the file is safe. Other ranks may pass NULL. They wait for rank 0 as long as the
 * communicator's timeout allows. */
GW_API int gw_checkpoint_comm_save(const struct gw_checkpoint *checkpoint, struct gw_comm *comm,
                                   const char *path, struct gw_error *error);

/* gw_checkpoint_comm_load is gw_checkpoint_file_read by rank 0, whose result all ranks get.
 * Collective; only rank 0 needs to reach the file. */
GW_API int gw_checkpoint_comm_load(struct gw_comm *comm, const char *path,
                                   struct gw_checkpoint **checkpoint, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
