/* An upload: the files of a task's options, identified by the hash of their content. */
#ifndef GW_CLIENT_FILE_UPLOAD_H
#define GW_CLIENT_FILE_UPLOAD_H

#include "client/link/client.h"
#include "graph/wire/manifest.h"

enum { GW_FILE_UPLOAD_FLYING_MAX = 64 };

struct gw_file_upload {
    uint8_t hash[GW_HASH_BYTES];
    struct gw_buffer manifest;
    struct gw_file_upload_file {
        char *name, *path; /* name in the task's folder and path on this host; owned */
        char *link; /* if this is a symbolic link, its target, which is sent as its content; NULL:
                       this is a file; owned */
        uint8_t hash[GW_HASH_BYTES];
        uint64_t bytes;
        uint32_t mode;
    } * files; /* sorted by name */
    size_t count;
    struct { /* the files that the cluster asked for last; the offset of each descriptor is the
                number of bytes that were read */
        int fd;
        uint64_t bytes;
    } flying[GW_FILE_UPLOAD_FLYING_MAX];
    size_t flying_count;
    size_t reached; /* the cluster has asked for all files before this index, or already has them */
};

/* gw_file_upload_new reads and hashes the files that the texts "PATH[:NAME]" name
 * (NULL-terminated), with all files of folders. If the whole text is an existing path, it is taken
 * as PATH. *read_bytes (may be NULL) grows while files are read. Errors, with the name of the file
 * in the text: GW_ENOENT; GW_EINVAL: a name leads out of the task's folder, a path is neither a
 * file nor a folder, or a folder contains itself by a link; GW_EEXIST: two files have the same
 * name; GW_ELIMIT; GW_EAGAIN: a file changed while it was read; GW_EIO. */
int gw_file_upload_new(const char *const *texts, _Atomic uint64_t *read_bytes,
                       struct gw_file_upload **upload, struct gw_error *error);
void gw_file_upload_free(struct gw_file_upload *upload);

/* gw_file_upload_open returns a descriptor and the size of the file with this content. GW_ENOENT:
 * the upload has no such file. */
int gw_file_upload_open(const struct gw_file_upload *upload, const uint8_t hash[GW_HASH_BYTES],
                        int *fd, uint64_t *bytes);

/* gw_file_upload_give does what gw_file_upload_open does, for a cluster that asks for the file. It
 * also remembers the descriptor, to report how much of the file was read. `first`: this is the
 * first file of a request, so the cluster has received all files of its earlier requests. */
int gw_file_upload_give(struct gw_file_upload *upload, const uint8_t hash[GW_HASH_BYTES],
                        bool first, int *fd, uint64_t *bytes);

/* gw_file_upload_send reads the files as gw_file_upload_new does, and sends the contents that the
 * cluster lacks. It blocks. `hash` becomes the hash by which a spec names these files. */
int gw_file_upload_send(struct gw_client *client, const char *const *texts,
                        uint8_t hash[GW_HASH_BYTES], struct gw_error *error);

#endif
