/* Files that arrive are first written beside their final place, and moved there when everything has
 * arrived and is verified. A folder of commands comes from several workers, one after the other:
 * first the whole folder from the worker that has the checkpoint, then from each other worker the
 * files that its ranks have written (union.h). */
#include "worker/store/transfer_files.h"

#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "worker/store/checkpoint_path.h"
#include "worker/store/pack.h"
#include "worker/store/union.h"
#include "worker/store/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A worker that the checkpoint comes from. */
struct source {
    char host[256];           /* name for users; empty: not known yet */
    struct gw_unpack *unpack; /* received files; NULL: nothing was needed */
};

struct gw_transfer_files {
    struct gw_transfer_place place;
    struct gw_msg_checkpoint_transfer what; /* without texts and columns */
    uint64_t number;
    bool to_copy;
    bool here; /* the first source shares this worker's folder */
    bool laid;
    struct source *sources;
    uint32_t source_count, at; /* index of the present source */
};

/* -- Sending -------------------------------------------------------------------------------------
 */

/* Creates the marker file, so that a worker that shares the folder can detect this. */
static int mark(const struct gw_transfer_place *place, struct gw_error *error)
{
    char path[PATH_MAX + 64], name[64];
    gw_checkpoint_path_marker(place->incarnation, name, sizeof name);
    (void)snprintf(path, sizeof path, "%s/%s", place->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

int gw_transfer_files_pack(const struct gw_transfer_place *place,
                           const struct gw_msg_transfer_want *want, bool marks,
                           struct gw_pack **pack, struct gw_error *error)
{
    char folder[PATH_MAX + 64], name[64];
    int rc = marks ? mark(place, error) : 0;
    if (rc < 0)
        return rc;
    if (want->copy)
        gw_checkpoint_path_copy(place->dir, place->incarnation, want->job, want->index, folder,
                                sizeof folder);
    else
        gw_checkpoint_path_folder(place->dir, want->job, want->index, folder, sizeof folder);
    if (want->copy && access(folder, F_OK) < 0)
        return gw_error_set(error, GW_ENOENT, "that worker has no copy of the checkpoint");
    (void)snprintf(name, sizeof name, "%" PRIu32 ".%016" PRIx64 ".checkpoint", want->index,
                   want->attempt);
    /* The folder may have been created again for a rank of another attempt */
    if (want->commands && want->attempt && !want->written && gw_pack_stamp(folder) == 0)
        return gw_error_set(error, GW_ENOENT,
                            "the folder %s is empty, although a checkpoint was saved there before",
                            folder);
    rc = gw_pack_open(folder, want->commands ? NULL : name, pack, error);
    if (rc == 0 && want->commands && !want->copy)
        gw_pack_since(*pack, gw_union_mark(folder), want->written);
    return rc;
}

/* -- Receiving -----------------------------------------------------------------------------------
 */

struct gw_transfer_files *gw_transfer_files_new(const struct gw_transfer_place *place,
                                                const struct gw_msg_checkpoint_transfer *what,
                                                uint64_t number, bool to_copy)
{
    struct gw_transfer_files *files = calloc(1, sizeof *files);
    GW_MUST_PTR(files);
    files->place = *place;
    files->what = *what;
    files->what.others = (struct gw_col32){0};
    files->what.user = NULL;
    files->number = number;
    files->to_copy = to_copy;
    files->source_count = 1 + what->others.count;
    files->sources = calloc(files->source_count, sizeof *files->sources);
    GW_MUST_PTR(files->sources);
    return files;
}

static void folder_of(const struct gw_transfer_files *files, char *path, size_t bytes)
{
    const struct gw_transfer_place *place = &files->place;
    if (files->to_copy)
        gw_checkpoint_path_copy(place->dir, place->incarnation, files->what.job, files->what.index,
                                path, bytes);
    else
        gw_checkpoint_path_folder(place->dir, files->what.job, files->what.index, path, bytes);
}

void gw_transfer_files_beside(const struct gw_transfer_place *place, uint64_t number, uint32_t at,
                              char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/.transfers/%016" PRIx64 ".%" PRIu64 ".%" PRIu32, place->dir,
                   place->incarnation, number, at);
}

/* Opens the present source for files of this size. */
static int open_source(struct gw_transfer_files *files, uint64_t bytes, struct gw_error *error)
{
    char path[PATH_MAX + 128];
    const uint64_t most = files->place.bytes_max;
    if (bytes > most)
        return gw_error_set(
            error, GW_ELIMIT,
            "the checkpoint has %.1f MiB, and this worker transfers at most %.1f MiB: start it "
            "with a higher --checkpoint-max (`gangway up` or `gangway worker`)",
            (double)bytes / (1 << 20), (double)most / (1 << 20));
    gw_transfer_files_beside(&files->place, files->number, files->at, path, sizeof path);
    return gw_unpack_open(path, bytes, &files->sources[files->at].unpack, error);
}

int gw_transfer_files_open(struct gw_transfer_files *files,
                           const struct gw_msg_transfer_found *found, struct gw_error *error)
{
    char path[PATH_MAX + 128];
    if (files->at == files->source_count || files->sources[files->at].unpack)
        return gw_error_set(error, GW_EPROTO, "a source that nobody asked for");
    (void)snprintf(files->sources[files->at].host, sizeof files->sources->host, "%s", found->host);
    (void)snprintf(path, sizeof path, "%s/%s", files->place.dir, found->marker);
    if (!*found->marker || access(path, F_OK) < 0)
        return open_source(files, found->bytes, error);
    if (files->what.how == GW_TRANSFER_JOIN) {
        files->here |= files->at == 0;
        files->at++;
    }
    return gw_error_set(error, GW_EEXIST,
                        "no transfer is needed: both hosts use the same folder of checkpoints");
}

int gw_transfer_files_take(struct gw_transfer_files *files, const struct gw_msg_transfer_part *part,
                           struct gw_error *error)
{
    if (files->at == files->source_count || !files->sources[files->at].unpack)
        return gw_error_set(error, GW_EPROTO, "parts in a wrong order");
    int rc = gw_unpack_take(files->sources[files->at].unpack, part, error);
    files->at += rc == 1;
    return rc;
}

int gw_transfer_files_own(struct gw_transfer_files *files, uint64_t *bytes, struct gw_error *error)
{
    struct gw_pack *pack = NULL;
    struct gw_msg_transfer_part part;
    const struct gw_msg_transfer_want want = {.job = files->what.job,
                                              .index = files->what.index,
                                              .attempt = files->what.attempt,
                                              .commands = files->what.commands,
                                              .copy = files->what.copy};
    if (files->at != 0 || files->sources[0].unpack)
        return gw_error_set(error, GW_EPROTO, "a source that nobody asked for");
    (void)snprintf(files->sources[0].host, sizeof files->sources->host, "%s", files->place.here);
    int rc = gw_transfer_files_pack(&files->place, &want, false, &pack, error);
    if (rc == 0 && !want.copy) {
        gw_pack_close(pack);
        if (files->what.how == GW_TRANSFER_JOIN) {
            files->here = true;
            files->at++;
        }
        return gw_error_set(error, GW_EEXIST,
                            "no transfer is needed: the checkpoint is on this worker");
    }
    if (rc == 0) {
        *bytes = gw_pack_bytes(pack);
        rc = open_source(files, *bytes, error);
    }
    while (rc == 0)
        if ((rc = gw_pack_next(pack, &part, error)) == 0)
            rc = gw_transfer_files_take(files, &part, error);
    gw_pack_close(pack);
    return rc == 1 ? 0 : rc;
}

/* Merges the files that the ranks of all hosts have written into one folder, on the worker of rank
 * 0. */
static int join_files(struct gw_transfer_files *files, const char *folder, struct gw_error *error)
{
    struct source *first = &files->sources[0];
    struct gw_union_part *parts = calloc(files->source_count + 1, sizeof *parts);
    size_t count = 1;
    int rc = 0;
    GW_MUST_PTR(parts);
    parts[0] = (struct gw_union_part){.folder = folder, .host = files->place.here};
    if (files->here || files->what.member)
        rc = gw_union_list(&parts[0], gw_union_mark(folder), error);
    if (!files->here) {
        parts[count++] = parts[0];
        parts[0] =
            (struct gw_union_part){.folder = gw_unpack_folder(first->unpack), .host = first->host};
        gw_unpack_list(first->unpack, &parts[0]);
    }
    for (uint32_t i = 1; i < files->source_count; i++) {
        struct source *source = &files->sources[i];
        if (!source->unpack)
            continue;
        parts[count] = (struct gw_union_part){.folder = gw_unpack_folder(source->unpack),
                                              .host = source->host};
        gw_unpack_list(source->unpack, &parts[count++]);
    }
    if (rc == 0)
        rc = gw_union_join(parts, count, error);
    for (size_t i = 0; i < count; i++)
        gw_union_deinit(&parts[i]);
    free(parts);
    return rc < 0 || files->here ? rc : gw_unpack_replace(first->unpack, folder, error);
}

int gw_transfer_files_lay(struct gw_transfer_files *files, struct gw_error *error)
{
    char path[PATH_MAX + 96], parent[PATH_MAX + 96];
    struct gw_unpack *first = files->sources[0].unpack;
    if (files->at < files->source_count || (!first && !files->here))
        return gw_error_set(error, GW_EPROTO, "the transfer is not complete");
    folder_of(files, path, sizeof path);
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    int rc = gw_dir_make(parent, error);
    if (rc < 0)
        return rc;
    if (files->what.how == GW_TRANSFER_JOIN)
        rc = join_files(files, path, error);
    else if (files->to_copy || files->what.how == GW_TRANSFER_MIRROR)
        rc = gw_unpack_replace(first, path, error);
    else
        rc = gw_unpack_lay(first, path, error);
    files->laid = rc == 0;
    return rc;
}

void gw_transfer_files_free(struct gw_transfer_files *files)
{
    char path[PATH_MAX + 96];
    struct gw_error error;
    if (!files)
        return;
    for (uint32_t i = 0; i < files->source_count; i++)
        gw_unpack_close(files->sources[i].unpack);
    folder_of(files, path, sizeof path);
    /* The folder is now the same on all hosts of the gang */
    if (files->laid && !files->to_copy && files->what.how != GW_TRANSFER_INSERT &&
        gw_union_set_mark(path, &error) < 0)
        gw_log_warn("%s", error.text);
    free(files->sources);
    free(files);
}
