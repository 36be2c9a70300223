/* File uploads: reads the files of a task's options and sends them to the cluster.
 *
 * The files of an upload are always sorted by name. No name occurs twice, and no file has the name
 * of another file's folder. So equal files under equal names have the same hash, in whichever order
 * the user gave them.
 *
 * A symbolic link in a folder is sent as a link if its target is part of the upload under the same
 * relative name, or if the target does not exist. Other links are followed. Folders without files
 * are left out, and so are files that git ignores. The client's own cache of hashes is also left
 * out unless the user named it, because reading the other files changes the cache. */
#include "client/submit/file_upload.h"

#include "client/deploy/gitignore.h"
#include "client/deploy/hashes.h"
#include "client/link/session.h"
#include "graph/wire/frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

/* State of a walk through folders. `above` lists the folders that contain the present one, to
 * detect a link that leads back to one of them. */
struct walk {
    struct gw_file_upload *upload;
    struct gw_error *error;
    _Atomic uint64_t *read_bytes; /* counts the bytes that were read; NULL: nobody asks */
    struct {
        dev_t device;
        ino_t inode;
    } above[DEPTH_MAX];
    uint32_t depth;
    bool plain; /* in a folder outside every git work tree */
    struct scope {
        const char *path, *name; /* path and name of the folder, as in struct gw_file_upload_file */
        const struct gw_gitignore *list; /* files of the folder that are sent; NULL: all */
    } scope; /* the folder whose layout is kept, so that links inside it lead to the same files as
                here */
};

static int refuse(struct walk *walk, const char *path, int code, const char *why)
{
    return gw_error_set(walk->error, code, "cannot ship %s: %s", path, why);
}

static int code_of_errno(void)
{
    return errno == ENOENT || errno == ENOTDIR ? GW_ENOENT : GW_EIO;
}

/* Refuses a path. If the path was found in a folder (the user did not name it), the message also
 * says how to leave it out. */
static int refuse_found(struct walk *walk, const char *path, int code, const char *why)
{
    if (walk->depth == 0)
        return refuse(walk, path, code, why);
    return gw_error_set(walk->error, code,
                        "cannot ship %s: %s: remove it, or exclude it by a .gitignore in %s", path,
                        why, walk->scope.path);
}

/* -- Reading -------------------------------------------------------------------------------------
 */

static int check_room(struct walk *walk, const char *path)
{
    char why[64];
    if (walk->upload->count < GW_MANIFEST_FILES_MAX)
        return 0;
    (void)snprintf(why, sizeof why, "more than %d files: ship an archive", GW_MANIFEST_FILES_MAX);
    return refuse(walk, path, GW_ELIMIT, why);
}

/* Adds a file whose hash is already set, under the name that it gets in the task's folder. */
static int add_named(struct walk *walk, const char *path, const char *name, uint64_t bytes,
                     uint32_t mode)
{
    struct gw_file_upload_file *file = &walk->upload->files[walk->upload->count++];
    if (walk->read_bytes)
        *walk->read_bytes += bytes;
    file->name = strdup(name);
    file->path = strdup(path);
    file->bytes = bytes;
    file->mode = mode;
    return file->name && file->path ? 0 : gw_error_set(walk->error, GW_ENOMEM, "out of memory");
}

static int add_file(struct walk *walk, int fd, const char *path, const char *name)
{
    struct stat info;
    int rc = check_room(walk, path);
    if (rc < 0)
        return rc;
    rc = gw_hashes_of(fd, walk->upload->files[walk->upload->count].hash, walk->error);
    if (rc < 0)
        return gw_error_prefix(walk->error, "cannot ship %s", path);
    if (fstat(fd, &info) < 0)
        return refuse(walk, path, GW_EIO, strerror(errno));
    return add_named(walk, path, name, (uint64_t)info.st_size, info.st_mode & 0777);
}

static int add_link(struct walk *walk, const char *path, const char *name, const char *target)
{
    int rc = check_room(walk, path);
    if (rc < 0)
        return rc;
    struct gw_file_upload_file *file = &walk->upload->files[walk->upload->count];
    gw_hash_bytes(target, strlen(target), file->hash);
    rc = add_named(walk, path, name, strlen(target), S_IFLNK | 0777);
    if (rc == 0 && !(file->link = strdup(target)))
        rc = gw_error_set(walk->error, GW_ENOMEM, "out of memory");
    return rc;
}

/* Appends the parts of `path` to `name`, without looking at the file system. Returns false if the
 * path leads out of the folder or the name becomes too long. */
static bool go_along(char name[PATH_MAX], const char *path)
{
    size_t used = strlen(name);
    for (;;) {
        path += strspn(path, "/");
        const size_t part = strcspn(path, "/");
        if (part == 0)
            return true;
        if (part == 2 && strncmp(path, "..", 2) == 0) {
            if (used == 0)
                return false;
            while (used > 0 && name[used] != '/')
                used--;
        } else if (part != 1 || *path != '.') {
            if (used + part + 2 > PATH_MAX)
                return false;
            if (used > 0)
                name[used++] = '/';
            memcpy(name + used, path, part);
            used += part;
        }
        name[used] = '\0';
        path += part;
    }
}

/* Whether the list contains the name, or a path below it. */
static bool is_listed(const struct gw_gitignore *list, const char *name)
{
    const size_t length = strlen(name);
    size_t at = 0;
    for (const char *entry; (entry = gw_gitignore_next(list, &at));)
        if (strncmp(entry, name, length) == 0 &&
            (length == 0 || entry[length] == '/' || !entry[length]))
            return true;
    return false;
}

/* Whether a link's target is part of the upload, and the link leads to the same file from its new
 * place. */
static bool stays_inside(const struct scope *scope, const char *name, const char *target,
                         const struct stat *leads_to)
{
    char inside[PATH_MAX], path[2 * PATH_MAX];
    struct stat info;
    const char *own = name + strlen(scope->name);
    const char *slash = strrchr(own, '/');
    (void)snprintf(inside, sizeof inside, "%.*s", slash ? (int)(slash - own) : 0, own);
    memmove(inside, inside + (*inside == '/'), strlen(inside));
    if (*target == '/' || !go_along(inside, target))
        return false;
    (void)snprintf(path, sizeof path, "%s/%s", scope->path, inside);
    return stat(path, &info) == 0 && info.st_dev == leads_to->st_dev &&
           info.st_ino == leads_to->st_ino && (!scope->list || is_listed(scope->list, inside));
}

static int add(struct walk *walk, const char *path, const char *name);

static int add_entry(struct walk *walk, const char *path, const char *name, const char *entry)
{
    char inner[PATH_MAX], inner_name[GW_MANIFEST_NAME_MAX + 2];
    size_t length = strlen(entry);
    length -= length > 0 && entry[length - 1] == '/';
    if (snprintf(inner, sizeof inner, "%s/%.*s", path, (int)length, entry) >= (int)sizeof inner ||
        snprintf(inner_name, sizeof inner_name, "%s%s%.*s", name, *name ? "/" : "", (int)length,
                 entry) >= (int)sizeof inner_name)
        return refuse(walk, path, GW_ELIMIT,
                      "the path of a file in it is longer than 4095 bytes, or its name in the "
                      "task's folder is longer than 1024");
    return add(walk, inner, inner_name);
}

static int add_entries(struct walk *walk, DIR *listing, const char *path, const char *name)
{
    int rc = 0;
    errno = 0;
    for (const struct dirent *entry; rc == 0 && (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        rc = add_entry(walk, path, name, entry->d_name);
        errno = 0;
    }
    return rc == 0 && errno ? refuse(walk, path, GW_EIO, strerror(errno)) : rc;
}

/* Adds the files that git lists. A file that was deleted but is still in git's index is skipped. */
static int add_listed(struct walk *walk, const struct gw_gitignore *list, const char *path,
                      const char *name)
{
    char inner[PATH_MAX];
    struct stat info;
    int rc = 0;
    size_t at = 0;
    for (const char *entry; rc == 0 && (entry = gw_gitignore_next(list, &at));) {
        (void)snprintf(inner, sizeof inner, "%s/%s", path, entry);
        if (lstat(inner, &info) == 0 || errno != ENOENT)
            rc = add_entry(walk, path, name, entry);
    }
    return rc;
}

/* Adds all files of a folder. In a git work tree, only the files that git lists are added. Git is
 * asked once for each work tree: not again for the folders below, unless a folder is a work tree
 * itself. */
static int add_all(struct walk *walk, DIR *listing, const char *path, const char *name)
{
    struct gw_gitignore list;
    const struct scope around = walk->scope;
    int rc = walk->plain ? 0 : gw_gitignore_init(&list, path, walk->error);
    if (rc < 0)
        return gw_error_prefix(walk->error, "cannot ship %s", path);
    if (!walk->plain && list.decides) {
        walk->scope = (struct scope){path, name, &list};
        rc = add_listed(walk, &list, path, name);
        walk->scope = around;
        gw_gitignore_deinit(&list);
        return rc;
    }
    const bool before = walk->plain;
    walk->plain = true;
    rc = add_entries(walk, listing, path, name);
    walk->plain = before;
    return rc;
}

/* followed: a link led to this folder. */
static int add_folder(struct walk *walk, int fd, const char *path, const char *name, bool followed)
{
    struct stat here;
    const struct stat *info = &here;
    if (fstat(fd, &here) < 0) {
        close(fd);
        return refuse(walk, path, GW_EIO, strerror(errno));
    }
    for (uint32_t i = 0; i < walk->depth; i++)
        if (walk->above[i].device == info->st_dev && walk->above[i].inode == info->st_ino) {
            close(fd);
            return refuse(walk, path, GW_EINVAL,
                          "it is a link to a folder that contains the link, so it cannot be "
                          "followed; a relative link is kept as a link");
        }
    if (walk->depth == DEPTH_MAX) {
        close(fd);
        return refuse(walk, path, GW_ELIMIT, "folders are nested more than 64 levels deep");
    }
    DIR *listing = fdopendir(fd);
    if (!listing) {
        close(fd);
        return refuse(walk, path, GW_EIO, strerror(errno));
    }
    const struct scope around = walk->scope;
    if (walk->depth == 0 || followed)
        walk->scope = (struct scope){path, name, NULL};
    walk->above[walk->depth].device = info->st_dev;
    walk->above[walk->depth++].inode = info->st_ino;
    int rc = add_all(walk, listing, path, name);
    walk->depth--;
    walk->scope = around;
    closedir(listing);
    return rc;
}

/* Says why a file of this mode cannot be sent. Returns NULL for a file or a folder. */
static const char *unfit(mode_t mode)
{
    return S_ISREG(mode) || S_ISDIR(mode) ? NULL
           : S_ISFIFO(mode)               ? "it is a fifo, neither a file nor a folder of files"
           : S_ISSOCK(mode)               ? "it is a socket, neither a file nor a folder of files"
                                          : "it is a device, neither a file nor a folder of files";
}

/* Adds the file or folder to which a path leads. If `name` is empty, the files of the folder are
 * added directly, without the folder. */
static int add_followed(struct walk *walk, const char *path, const char *name, bool followed)
{
    struct stat info;
    if (stat(path, &info) < 0)
        return refuse_found(walk, path, code_of_errno(), strerror(errno));
    if (walk->depth > 0 && gw_hashes_lie_in(&info))
        return 0;
    if (unfit(info.st_mode))
        return refuse_found(walk, path, GW_EINVAL, unfit(info.st_mode));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return refuse_found(walk, path, code_of_errno(), strerror(errno));
    if (S_ISDIR(info.st_mode))
        return add_folder(walk, fd, path, name, followed);
    int rc = !*name ? refuse(walk, path, GW_EINVAL, "only a folder can be called \".\"")
                    : add_file(walk, fd, path, name);
    close(fd);
    return rc;
}

static int add(struct walk *walk, const char *path, const char *name)
{
    char target[PATH_MAX];
    struct stat info;
    const ssize_t length = walk->depth > 0 ? readlink(path, target, sizeof target - 1) : -1;
    if (length <= 0)
        return add_followed(walk, path, name, false);
    target[length] = '\0';
    if (stat(path, &info) < 0 ? errno == ENOENT || errno == ENOTDIR || errno == ELOOP
                              : stays_inside(&walk->scope, name, target, &info))
        return add_link(walk, path, name, target);
    return add_followed(walk, path, name, true);
}

/* Adds the files of one text, "PATH[:NAME]". With the NAME "." the files of the folder are added
 * without the folder. If the whole text is an existing path, it is taken as PATH. */
static int add_text(struct walk *walk, const char *text)
{
    char path[PATH_MAX];
    struct stat info;
    const char *colon = lstat(text, &info) < 0 ? strrchr(text, ':') : NULL;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length == 0 || length >= sizeof path)
        return gw_error_set(walk->error, GW_EINVAL,
                            "\"%.64s\" must be PATH or PATH:NAME, with a path of 1 to %d bytes",
                            text, PATH_MAX - 1);
    memcpy(path, text, length);
    path[length] = '\0';
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    const char *slash = strrchr(path, '/');
    const char *name = colon ? colon + 1 : slash ? slash + 1 : path;
    if (strcmp(name, ".") == 0)
        return add(walk, path, "");
    if (gw_manifest_name_is_safe(name))
        return add(walk, path, name);
    return gw_error_set(walk->error, GW_EINVAL,
                        "cannot ship %s as \"%.64s\": the name must be a path below the task's "
                        "folder, without \"..\"%s",
                        path, name, colon ? "" : "; give a name by PATH:NAME");
}

/* -- Checking ------------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct gw_file_upload_file *)a)->name,
                  ((const struct gw_file_upload_file *)b)->name);
}

/* Returns the file of this name, or NULL. */
static const struct gw_file_upload_file *find_name(const struct gw_file_upload *upload, char *name)
{
    const struct gw_file_upload_file key = {.name = name};
    return bsearch(&key, upload->files, upload->count, sizeof key, by_name);
}

static int check_names(const struct gw_file_upload *upload, struct gw_error *error)
{
    for (size_t i = 0; i < upload->count; i++) {
        const struct gw_file_upload_file *file = &upload->files[i];
        if (!gw_manifest_name_is_safe(file->name))
            return gw_error_set(
                error, GW_ELIMIT,
                "cannot ship %s: its name in the task's folder is longer than %d bytes", file->path,
                GW_MANIFEST_NAME_MAX);
        if (i > 0 && strcmp(file->name, file[-1].name) == 0)
            return gw_error_set(
                error, GW_EEXIST,
                "%s and %s would both have the name %s: give one of them another name by PATH:NAME",
                file[-1].path, file->path, file->name);
        char folder[GW_MANIFEST_NAME_MAX + 1];
        for (const char *slash = strchr(file->name, '/'); slash; slash = strchr(slash + 1, '/')) {
            (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - file->name), file->name);
            const struct gw_file_upload_file *above = find_name(upload, folder);
            if (above)
                return gw_error_set(error, GW_EEXIST,
                                    "the file %s would have the name %s, but %s needs a folder of "
                                    "this name: give one of them another name by PATH:NAME",
                                    above->path, above->name, file->path);
        }
    }
    return 0;
}

static int encode(struct gw_file_upload *upload, struct gw_error *error)
{
    struct gw_manifest_file *files = calloc(upload->count, sizeof *files);
    const struct gw_manifest manifest = {files, (uint32_t)upload->count};
    if (!files)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < upload->count; i++) {
        const struct gw_file_upload_file *file = &upload->files[i];
        files[i] =
            (struct gw_manifest_file){.name = file->name, .bytes = file->bytes, .mode = file->mode};
        memcpy(files[i].hash, file->hash, GW_HASH_BYTES);
    }
    int rc = gw_manifest_encode(&manifest, &upload->manifest);
    free(files);
    if (rc < 0)
        return gw_error_set(error, rc, "out of memory");
    if (upload->manifest.size > GW_FRAME_BYTES_MAX / 2)
        return gw_error_set(
            error, GW_ELIMIT,
            "the names of %zu files have more than %d MiB in total: ship an archive of them",
            upload->count, GW_FRAME_BYTES_MAX / 2 >> 20);
    gw_hash_bytes(upload->manifest.data, upload->manifest.size, upload->hash);
    return 0;
}

int gw_file_upload_new(const char *const *texts, _Atomic uint64_t *read_bytes,
                       struct gw_file_upload **out, struct gw_error *error)
{
    struct gw_file_upload *upload = calloc(1, sizeof *upload);
    struct walk walk = {.upload = upload, .error = error, .read_bytes = read_bytes};
    if (upload)
        upload->files = calloc(GW_MANIFEST_FILES_MAX + 1, sizeof *upload->files);
    int rc = upload && upload->files ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && texts[i]; i++)
        rc = add_text(&walk, texts[i]);
    if (rc == 0 && upload->count == 0)
        rc = gw_error_set(error, GW_EINVAL, "there is no file in %s", texts[0]);
    if (rc == 0) {
        qsort(upload->files, upload->count, sizeof *upload->files, by_name);
        rc = check_names(upload, error);
    }
    if (rc == 0)
        rc = encode(upload, error);
    if (rc < 0) {
        gw_file_upload_free(upload);
        return rc;
    }
    *out = upload;
    return 0;
}

static void forget_flying(struct gw_file_upload *upload)
{
    for (size_t i = 0; i < upload->flying_count; i++)
        close(upload->flying[i].fd);
    upload->flying_count = 0;
}

void gw_file_upload_free(struct gw_file_upload *upload)
{
    if (!upload)
        return;
    forget_flying(upload);
    for (size_t i = 0; upload->files && i < upload->count; i++) {
        free(upload->files[i].name);
        free(upload->files[i].path);
        free(upload->files[i].link);
    }
    free(upload->files);
    gw_buffer_deinit(&upload->manifest);
    free(upload);
}

/* -- Sending -------------------------------------------------------------------------------------
 */

/* Returns a descriptor with the target of a link as its content, or -1 with errno set. */
static int open_link(const char *target)
{
    const size_t bytes = strlen(target);
    int fd = memfd_create("gangway-link", MFD_CLOEXEC);
    if (fd >= 0 && (write(fd, target, bytes) != (ssize_t)bytes || lseek(fd, 0, SEEK_SET) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int gw_file_upload_open(const struct gw_file_upload *upload, const uint8_t hash[GW_HASH_BYTES],
                        int *fd, uint64_t *bytes)
{
    for (size_t i = 0; i < upload->count; i++) {
        const struct gw_file_upload_file *file = &upload->files[i];
        if (memcmp(file->hash, hash, GW_HASH_BYTES) != 0)
            continue;
        *fd = file->link ? open_link(file->link)
                         : open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        *bytes = file->bytes;
        if (*fd >= 0)
            return 0;
    }
    return GW_ENOENT;
}

/* Returns the index of the file with this content, or upload->count if there is none. */
static size_t find_hash(const struct gw_file_upload *upload, const uint8_t hash[GW_HASH_BYTES])
{
    size_t at = 0;
    while (at < upload->count && memcmp(upload->files[at].hash, hash, GW_HASH_BYTES) != 0)
        at++;
    return at;
}

int gw_file_upload_give(struct gw_file_upload *upload, const uint8_t hash[GW_HASH_BYTES],
                        bool first, int *fd, uint64_t *bytes)
{
    int rc = gw_file_upload_open(upload, hash, fd, bytes);
    if (rc < 0)
        return rc;
    if (first)
        forget_flying(upload);
    const size_t at = find_hash(upload, hash);
    const int watched =
        upload->flying_count < GW_FILE_UPLOAD_FLYING_MAX ? fcntl(*fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (watched >= 0) {
        upload->flying[upload->flying_count].fd = watched;
        upload->flying[upload->flying_count++].bytes = *bytes;
    }
    if (at >= upload->reached)
        upload->reached = at + 1;
    return 0;
}

/* Computes how many bytes of the upload the cluster has, and how many there are. */
static void say_how_far(const struct gw_file_upload *upload, struct gw_shipping *shipping)
{
    *shipping = (struct gw_shipping){0};
    for (size_t i = 0; i < upload->count; i++) {
        shipping->total_bytes += upload->files[i].bytes;
        if (i < upload->reached)
            shipping->done_bytes += upload->files[i].bytes;
    }
    for (size_t i = 0; i < upload->flying_count; i++) {
        const off_t at = lseek(upload->flying[i].fd, 0, SEEK_CUR);
        const uint64_t read = at > 0 ? (uint64_t)at : 0;
        if (read < upload->flying[i].bytes)
            shipping->done_bytes -= upload->flying[i].bytes - read;
    }
}

/* Sends the manifest and waits for the answer. Meanwhile the cluster asks for contents that it
 * lacks; client_on_message answers from client->upload. */
static int tell(struct gw_client *client, struct gw_file_upload *upload, struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_message message = {
        .type = GW_MESSAGE_program,
        .program = {.hash = {upload->hash, GW_HASH_BYTES},
                    .manifest = {upload->manifest.data, (uint32_t)upload->manifest.size},
                    .files = 1},
    };
    pthread_mutex_lock(&client->start_lock);
    pthread_mutex_lock(&client->lock);
    client->upload = upload;
    pthread_mutex_unlock(&client->lock);
    gw_rpc_open(&call, client);
    call.request = GW_REQUEST_PROGRAM;
    int rc = gw_rpc_exchange(&call, client, &message, UINT64_MAX, error);
    gw_rpc_close(&call, client);
    pthread_mutex_lock(&client->lock);
    client->upload = NULL;
    pthread_mutex_unlock(&client->lock);
    pthread_mutex_unlock(&client->start_lock);
    return rc;
}

int gw_file_upload_send(struct gw_client *client, const char *const *texts,
                        uint8_t hash[GW_HASH_BYTES], struct gw_error *error)
{
    struct gw_file_upload *upload;
    client->ship_read_bytes = 0;
    client->ship_readers++;
    int rc = gw_file_upload_new(texts, &client->ship_read_bytes, &upload, error);
    client->ship_readers--;
    if (rc < 0)
        return rc;
    rc = tell(client, upload, error);
    memcpy(hash, upload->hash, GW_HASH_BYTES);
    gw_file_upload_free(upload);
    return rc;
}

bool gw_client_shipping(struct gw_client *client, struct gw_shipping *shipping)
{
    pthread_mutex_lock(&client->lock);
    const bool sending = client->upload != NULL;
    if (sending)
        say_how_far(client->upload, shipping);
    pthread_mutex_unlock(&client->lock);
    if (sending || client->ship_readers == 0)
        return sending;
    *shipping = (struct gw_shipping){.reading = true, .done_bytes = client->ship_read_bytes};
    return true;
}
