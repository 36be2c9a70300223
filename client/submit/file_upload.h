/* A upload: the files of a task's options, by content, on their way to the cluster. */
#ifndef GW_CLIENT_FILE_UPLOAD_H
#define GW_CLIENT_FILE_UPLOAD_H

#include "client/link/client.h"
#include "graph/wire/manifest.h"

enum { GW_FILE_UPLOAD_FLYING_MAX = 64 };

struct gw_file_upload {
    uint8_t hash[GW_HASH_BYTES];
    struct gw_buffer manifest;
    struct gw_file_upload_file {
        char *name, *path; /* in the folder, and here; owned */
        char *link;        /* where it leads, which is its content; NULL: a file; owned */
        uint8_t hash[GW_HASH_BYTES];
        uint64_t bytes;
        uint32_t mode;
    } * files; /* in order of their names */
    size_t count;
    struct { /* what was asked for last: a descriptor's offset is how far it was read */
        int fd;
        uint64_t bytes;
    } flying[GW_FILE_UPLOAD_FLYING_MAX];
    size_t flying_count;
    size_t reached; /* files up to that one were asked for, or had not to be */
};

/* gw_file_upload_new reads and hashes what "PATH[:NAME]" texts (NULL-terminated) name; folders with
 * all that is in them. A text that is a file's path as a whole is that. GW_ENOENT, GW_EINVAL (names
 * that lead out of the folder, what is no file, a folder in itself), GW_EEXIST (two of one name),
 * GW_ELIMIT, GW_EAGAIN (written to meanwhile), GW_EIO; the text names the file. *read_bytes (may be
 * NULL) grows as they are read. */
int gw_file_upload_new(const char *const *texts, _Atomic uint64_t *read_bytes,
                       struct gw_file_upload **upload, struct gw_error *error);
void gw_file_upload_free(struct gw_file_upload *upload);

/* gw_file_upload_open gives a descriptor of the file with this content; GW_ENOENT: there is none.
 */
int gw_file_upload_open(const struct gw_file_upload *upload, const uint8_t hash[GW_HASH_BYTES],
                        int *fd, uint64_t *bytes);

/* gw_file_upload_give is gw_file_upload_open for a cluster that asks for it, and keeps an eye on
 * how far that has read. first: with this, its next question begins; it has all that it asked for
 * before.
 */
int gw_file_upload_give(struct gw_file_upload *upload, const uint8_t hash[GW_HASH_BYTES],
                        bool first, int *fd, uint64_t *bytes);

/* gw_file_upload_send is gw_file_upload_new, and sends what the cluster has not; blocks. Gives the
 * hash by which a spec names them. */
int gw_file_upload_send(struct gw_client *client, const char *const *texts,
                        uint8_t hash[GW_HASH_BYTES], struct gw_error *error);

#endif
