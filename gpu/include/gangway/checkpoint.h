/* Checkpoint files. A checkpoint is a set of named sections. Each section is either bytes or an
 * integer and is stored with its SHA-256. A checkpoint file is replaced atomically, and reading
 * fails if the file is truncated, damaged or not a checkpoint.
 *
 * A checkpoint at PATH is written to PATH.new, synced to disk and then renamed to PATH. The
 * previous checkpoint is kept at PATH.previous. If the machine fails at any moment, at least one of
 * the two files is complete. gpu/README.md describes the file format. */
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
    GW_CHECKPOINT_SECTIONS_MAX = 65536, /* maximum number of sections in a file */
};

/* A set of sections that the caller fills and writes, or that was read from a file. Not
 * thread-safe. */
struct gw_checkpoint;

/* gw_checkpoint_new returns an empty set, or NULL if out of memory. The caller frees the set with
 * gw_checkpoint_free. */
GW_API struct gw_checkpoint *gw_checkpoint_new(void);

/* gw_checkpoint_free frees the set and the section data that was read from a file. NULL is allowed.
 */
GW_API void gw_checkpoint_free(struct gw_checkpoint *checkpoint);

/* gw_checkpoint_set_bytes adds a section. The name is copied. The data is borrowed: it must stay
 * valid until the set is freed, and its content is read when the set is written to a file. Returns
 * GW_EEXIST if the set has a section of this name, GW_EINVAL if the name is empty or too long,
 * GW_ELIMIT if the set has too many sections. */
GW_API int gw_checkpoint_set_bytes(struct gw_checkpoint *checkpoint, const char *name,
                                   const void *data, size_t bytes);

/* gw_checkpoint_set_device adds a section whose data is in memory of a GPU, and returns the same
 * errors. A gw_checkpoint_writer with a stream saves such a set; all other functions return
 * GW_EINVAL for it. A section of 0 bytes needs no memory. */
GW_API int gw_checkpoint_set_device(struct gw_checkpoint *checkpoint, const char *name,
                                    const void *data, size_t bytes);

/* gw_checkpoint_set_i64 adds an integer as a section. It returns the same errors as
 * gw_checkpoint_set_bytes. */
GW_API int gw_checkpoint_set_i64(struct gw_checkpoint *checkpoint, const char *name, int64_t value);

/* gw_checkpoint_bytes returns the data and size of a section. The data is borrowed until the set is
 * freed, and it may be unaligned. Returns GW_ENOENT if the set has no section of this name,
 * GW_EINVAL if the section is an integer, or was added by gw_checkpoint_set_device. */
GW_API int gw_checkpoint_bytes(const struct gw_checkpoint *checkpoint, const char *name,
                               const void **data, size_t *bytes);

/* gw_checkpoint_copy copies a section of exactly `bytes` bytes to `memory`. If the section has
 * another size, it returns GW_EMISMATCH and the error text names both sizes. Otherwise it returns
 * the same errors as gw_checkpoint_bytes. */
GW_API int gw_checkpoint_copy(const struct gw_checkpoint *checkpoint, const char *name,
                              void *memory, size_t bytes, struct gw_error *error);

/* gw_checkpoint_i64 returns the value of an integer section. Returns GW_ENOENT if the set has no
 * section of this name, GW_EINVAL if the section holds bytes. */
GW_API int gw_checkpoint_i64(const struct gw_checkpoint *checkpoint, const char *name,
                             int64_t *value);

/* gw_checkpoint_warning returns why the newest file could not be used, if the previous file was
 * read instead. Otherwise it returns NULL. The text is borrowed until the set is freed. */
GW_API const char *gw_checkpoint_warning(const struct gw_checkpoint *checkpoint);

/* gw_checkpoint_file_write replaces the checkpoint at path by this set. When it returns 0, the file
 * and its folder are synced to disk. If writing fails, it returns GW_EIO with the text of the
 * system error, and the checkpoint that was at path stays. Returns GW_EINVAL if path is a folder or
 * a device. Only one process at a time may write to a path. */
GW_API int gw_checkpoint_file_write(const struct gw_checkpoint *checkpoint, const char *path,
                                    struct gw_error *error);

/* gw_checkpoint_file_read reads the checkpoint at path into a new set, which the caller frees with
 * gw_checkpoint_free. If that file is missing, truncated, damaged or not a checkpoint, it reads the
 * previous file. Returns GW_ENOENT if both files are missing. Returns GW_ECORRUPT or GW_EVERSION,
 * with the reasons in the error text, if neither file is usable. Other errors: GW_EIO, GW_ENOMEM.
 */
GW_API int gw_checkpoint_file_read(const char *path, struct gw_checkpoint **checkpoint,
                                   struct gw_error *error);

/* gw_checkpoint_comm_save writes the file by gw_checkpoint_file_write on rank 0. It is collective:
 * it returns the same result on all ranks, after the file is synced to disk. Other ranks may pass
 * NULL as checkpoint. They wait for rank 0 for at most the timeout of the communicator. */
GW_API int gw_checkpoint_comm_save(const struct gw_checkpoint *checkpoint, struct gw_comm *comm,
                                   const char *path, struct gw_error *error);

/* gw_checkpoint_comm_load reads the file by gw_checkpoint_file_read on rank 0 and sends the set, or
 * the error, to all ranks. It is collective. Only rank 0 needs access to the file. */
GW_API int gw_checkpoint_comm_load(struct gw_comm *comm, const char *path,
                                   struct gw_checkpoint **checkpoint, struct gw_error *error);

/* Where gw_checkpoint_comm_load_into puts a section. */
struct gw_checkpoint_place {
    const char *name;
    void *memory; /* of the host, or of a GPU that the communicator reaches */
    size_t bytes; /* the section has exactly this size; may be 0 */
};

/* gw_checkpoint_comm_load_into is gw_checkpoint_comm_load that sends the sections with a place in
 * chunks straight to their places. They are not in the set, and ranks other than 0 need no other
 * memory for them. All ranks pass the same names and sizes in the same order. No work on a stream
 * may use the places during the call. On all ranks it returns, with the text of the rank that found
 * it: GW_ENOENT (no file), GW_EMISMATCH (no section of this name, the section has another size, or
 * a rank passes other places than rank 0), GW_EINVAL (the section is an integer), and the errors of
 * gw_checkpoint_comm_load. If it fails, the places have unspecified contents. */
GW_API int gw_checkpoint_comm_load_into(struct gw_comm *comm, const char *path,
                                        const struct gw_checkpoint_place *places, size_t count,
                                        struct gw_checkpoint **checkpoint, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
