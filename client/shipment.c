/* Files on their way: reading what was named, and telling the cluster.
 *
 * Always: the files of a shipment are sorted by name, no name is there twice, and none is a folder
 * of another; so equal files under equal names have one hash, in whichever order they were given.
 * Links are followed; folders without files are left out, and so is what git ignores. So is our
 * own cache of hashes, unless it was named: reading what lies beside it changes it. */
#include "client/shipment.h"

#include "client/gitlist.h"
#include "client/hashes.h"
#include "graph/wire/frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

/* A walk through folders; what it is inside of, to know one that leads back up. */
struct walk {
    struct gw_shipment *shipment;
    struct gw_error *error;
    _Atomic uint64_t *read_bytes; /* NULL: nobody asks */
    struct {
        dev_t device;
        ino_t inode;
    } above[DEPTH_MAX];
    uint32_t depth;
    bool plain; /* inside of a folder that git has no say in */
};

static int refuse(struct walk *walk, const char *path, int code, const char *why)
{
    return gw_error_set(walk->error, code, "cannot ship %s: %s", path, why);
}

static int code_of_errno(void)
{
    return errno == ENOENT || errno == ENOTDIR ? GW_ENOENT : GW_EIO;
}

/* -- Reading -------------------------------------------------------------------------------------
 */

/* An open file, by the name that it gets. */
static int add_file(struct walk *walk, int fd, const char *path, const char *name)
{
    struct gw_shipment *shipment = walk->shipment;
    struct gw_shipment_file *file = &shipment->files[shipment->count];
    struct stat info;
    if (shipment->count == GW_MANIFEST_FILES_MAX) {
        char why[64];
        (void)snprintf(why, sizeof why, "more than %d files: ship an archive",
                       GW_MANIFEST_FILES_MAX);
        return refuse(walk, path, GW_ELIMIT, why);
    }
    int rc = gw_hashes_of(fd, file->hash, walk->error);
    if (rc < 0)
        return gw_error_prefix(walk->error, "cannot ship %s", path);
    if (fstat(fd, &info) < 0)
        return refuse(walk, path, GW_EIO, strerror(errno));
    shipment->count++;
    if (walk->read_bytes)
        *walk->read_bytes += (uint64_t)info.st_size;
    file->name = strdup(name);
    file->path = strdup(path);
    file->bytes = (uint64_t)info.st_size;
    file->mode = info.st_mode & 0777;
    return file->name && file->path ? 0 : gw_error_set(walk->error, GW_ENOMEM, "out of memory");
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
        return refuse(walk, path, GW_ELIMIT, "a path in it is too long");
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

/* What git would have; what was removed, and is in its index still, is not there. */
static int add_listed(struct walk *walk, const struct gw_gitlist *list, const char *path,
                      const char *name)
{
    char inner[PATH_MAX];
    struct stat info;
    int rc = 0;
    size_t at = 0;
    for (const char *entry; rc == 0 && (entry = gw_gitlist_next(list, &at));) {
        (void)snprintf(inner, sizeof inner, "%s/%s", path, entry);
        if (lstat(inner, &info) == 0 || errno != ENOENT)
            rc = add_entry(walk, path, name, entry);
    }
    return rc;
}

/* Inside of a work tree its .gitignore counts. Below the folder that git was asked about there is
 * nothing more to ask, but for what is a work tree of its own. */
static int add_all(struct walk *walk, DIR *listing, const char *path, const char *name)
{
    struct gw_gitlist list;
    int rc = walk->plain ? 0 : gw_gitlist_init(&list, path, walk->error);
    if (rc < 0)
        return gw_error_prefix(walk->error, "cannot ship %s", path);
    if (!walk->plain && list.decides) {
        rc = add_listed(walk, &list, path, name);
        gw_gitlist_deinit(&list);
        return rc;
    }
    const bool before = walk->plain;
    walk->plain = true;
    rc = add_entries(walk, listing, path, name);
    walk->plain = before;
    return rc;
}

static int add_folder(struct walk *walk, int fd, const struct stat *info, const char *path,
                      const char *name)
{
    for (uint32_t i = 0; i < walk->depth; i++)
        if (walk->above[i].device == info->st_dev && walk->above[i].inode == info->st_ino) {
            close(fd);
            return refuse(walk, path, GW_EINVAL,
                          "it is a link to a folder that it lies in, and so has no end");
        }
    if (walk->depth == DEPTH_MAX) {
        close(fd);
        return refuse(walk, path, GW_ELIMIT, "more than 64 folders in each other");
    }
    DIR *listing = fdopendir(fd);
    if (!listing) {
        close(fd);
        return refuse(walk, path, GW_EIO, strerror(errno));
    }
    walk->above[walk->depth].device = info->st_dev;
    walk->above[walk->depth++].inode = info->st_ino;
    int rc = add_all(walk, listing, path, name);
    walk->depth--;
    closedir(listing);
    return rc;
}

/* name empty: a folder's files come without a folder. */
static int add(struct walk *walk, const char *path, const char *name)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return refuse(walk, path, code_of_errno(), strerror(errno));
    if (fstat(fd, &info) < 0) {
        close(fd);
        return refuse(walk, path, GW_EIO, strerror(errno));
    }
    if (S_ISDIR(info.st_mode))
        return add_folder(walk, fd, &info, path, name);
    int rc = walk->depth > 0 && gw_hashes_lie_in(&info) ? 0
             : !S_ISREG(info.st_mode)
                 ? refuse(walk, path, GW_EINVAL, "it is neither a file nor a folder of files")
             : !*name ? refuse(walk, path, GW_EINVAL, "only a folder can be called \".\"")
                      : add_file(walk, fd, path, name);
    close(fd);
    return rc;
}

/* "PATH[:NAME]"; NAME ".": what is in the folder, without the folder. */
static int add_text(struct walk *walk, const char *text)
{
    char path[PATH_MAX];
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length == 0 || length >= sizeof path)
        return gw_error_set(walk->error, GW_EINVAL,
                            "\"%.64s\" is not PATH or PATH:NAME: there is no path", text);
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
                        "cannot ship %s as \"%.64s\": a name is a path below the task's folder, "
                        "without \"..\"%s",
                        path, name, colon ? "" : "; PATH:NAME gives it one");
}

/* -- Checking ------------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct gw_shipment_file *)a)->name,
                  ((const struct gw_shipment_file *)b)->name);
}

/* The file of this name, or NULL. */
static const struct gw_shipment_file *find_name(const struct gw_shipment *shipment, char *name)
{
    const struct gw_shipment_file key = {.name = name};
    return bsearch(&key, shipment->files, shipment->count, sizeof key, by_name);
}

static int check_names(const struct gw_shipment *shipment, struct gw_error *error)
{
    for (size_t i = 0; i < shipment->count; i++) {
        const struct gw_shipment_file *file = &shipment->files[i];
        if (!gw_manifest_name_is_safe(file->name))
            return gw_error_set(error, GW_ELIMIT, "cannot ship %s: its name is too long",
                                file->path);
        if (i > 0 && strcmp(file->name, file[-1].name) == 0)
            return gw_error_set(error, GW_EEXIST,
                                "%s and %s would both be called %s: PATH:NAME gives one another "
                                "name",
                                file[-1].path, file->path, file->name);
        char folder[GW_MANIFEST_NAME_MAX + 1];
        for (const char *slash = strchr(file->name, '/'); slash; slash = strchr(slash + 1, '/')) {
            (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - file->name), file->name);
            const struct gw_shipment_file *above = find_name(shipment, folder);
            if (above)
                return gw_error_set(error, GW_EEXIST,
                                    "%s would be called %s, where %s needs a folder", above->path,
                                    above->name, file->path);
        }
    }
    return 0;
}

static int encode(struct gw_shipment *shipment, struct gw_error *error)
{
    struct gw_manifest_file *files = calloc(shipment->count, sizeof *files);
    const struct gw_manifest manifest = {files, (uint32_t)shipment->count};
    if (!files)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < shipment->count; i++) {
        const struct gw_shipment_file *file = &shipment->files[i];
        files[i] =
            (struct gw_manifest_file){.name = file->name, .bytes = file->bytes, .mode = file->mode};
        memcpy(files[i].hash, file->hash, GW_HASH_BYTES);
    }
    int rc = gw_manifest_encode(&manifest, &shipment->manifest);
    free(files);
    if (rc < 0)
        return gw_error_set(error, rc, "out of memory");
    if (shipment->manifest.size > GW_FRAME_BYTES_MAX / 2)
        return gw_error_set(error, GW_ELIMIT,
                            "the names of %zu files are too long together: ship an archive",
                            shipment->count);
    gw_hash_bytes(shipment->manifest.data, shipment->manifest.size, shipment->hash);
    return 0;
}

int gw_shipment_new(const char *const *texts, _Atomic uint64_t *read_bytes,
                    struct gw_shipment **out, struct gw_error *error)
{
    struct gw_shipment *shipment = calloc(1, sizeof *shipment);
    struct walk walk = {.shipment = shipment, .error = error, .read_bytes = read_bytes};
    if (shipment)
        shipment->files = calloc(GW_MANIFEST_FILES_MAX + 1, sizeof *shipment->files);
    int rc = shipment && shipment->files ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && texts[i]; i++)
        rc = add_text(&walk, texts[i]);
    if (rc == 0 && shipment->count == 0)
        rc = gw_error_set(error, GW_EINVAL, "there is no file in %s", texts[0]);
    if (rc == 0) {
        qsort(shipment->files, shipment->count, sizeof *shipment->files, by_name);
        rc = check_names(shipment, error);
    }
    if (rc == 0)
        rc = encode(shipment, error);
    if (rc < 0) {
        gw_shipment_free(shipment);
        return rc;
    }
    *out = shipment;
    return 0;
}

static void forget_flying(struct gw_shipment *shipment)
{
    for (size_t i = 0; i < shipment->flying_count; i++)
        close(shipment->flying[i].fd);
    shipment->flying_count = 0;
}

void gw_shipment_free(struct gw_shipment *shipment)
{
    if (!shipment)
        return;
    forget_flying(shipment);
    for (size_t i = 0; shipment->files && i < shipment->count; i++) {
        free(shipment->files[i].name);
        free(shipment->files[i].path);
    }
    free(shipment->files);
    gw_buffer_deinit(&shipment->manifest);
    free(shipment);
}

/* -- Sending -------------------------------------------------------------------------------------
 */

int gw_shipment_open(const struct gw_shipment *shipment, const uint8_t hash[GW_HASH_BYTES], int *fd,
                     uint64_t *bytes)
{
    for (size_t i = 0; i < shipment->count; i++) {
        const struct gw_shipment_file *file = &shipment->files[i];
        if (memcmp(file->hash, hash, GW_HASH_BYTES) != 0)
            continue;
        *fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        *bytes = file->bytes;
        if (*fd >= 0)
            return 0;
    }
    return GW_ENOENT;
}

/* The file with this content; count: there is none. */
static size_t find_hash(const struct gw_shipment *shipment, const uint8_t hash[GW_HASH_BYTES])
{
    size_t at = 0;
    while (at < shipment->count && memcmp(shipment->files[at].hash, hash, GW_HASH_BYTES) != 0)
        at++;
    return at;
}

int gw_shipment_give(struct gw_shipment *shipment, const uint8_t hash[GW_HASH_BYTES], bool first,
                     int *fd, uint64_t *bytes)
{
    int rc = gw_shipment_open(shipment, hash, fd, bytes);
    if (rc < 0)
        return rc;
    if (first)
        forget_flying(shipment);
    const size_t at = find_hash(shipment, hash);
    const int watched =
        shipment->flying_count < GW_SHIPMENT_FLYING_MAX ? fcntl(*fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (watched >= 0) {
        shipment->flying[shipment->flying_count].fd = watched;
        shipment->flying[shipment->flying_count++].bytes = *bytes;
    }
    if (at >= shipment->reached)
        shipment->reached = at + 1;
    return 0;
}

/* How far all is. */
static void say_how_far(const struct gw_shipment *shipment, struct gw_shipping *shipping)
{
    *shipping = (struct gw_shipping){0};
    for (size_t i = 0; i < shipment->count; i++) {
        shipping->total_bytes += shipment->files[i].bytes;
        if (i < shipment->reached)
            shipping->done_bytes += shipment->files[i].bytes;
    }
    for (size_t i = 0; i < shipment->flying_count; i++) {
        const off_t at = lseek(shipment->flying[i].fd, 0, SEEK_CUR);
        const uint64_t read = at > 0 ? (uint64_t)at : 0;
        if (read < shipment->flying[i].bytes)
            shipping->done_bytes -= shipment->flying[i].bytes - read;
    }
}

/* The content is asked for while it waits: client_on_message finds the shipment in the client. */
static int tell(struct gw_client *client, struct gw_shipment *shipment, struct gw_error *error)
{
    struct gw_call call;
    struct gw_message message = {
        .type = GW_MESSAGE_program,
        .program = {.hash = {shipment->hash, GW_HASH_BYTES},
                    .manifest = {shipment->manifest.data, (uint32_t)shipment->manifest.size},
                    .files = 1},
    };
    pthread_mutex_lock(&client->start_lock);
    pthread_mutex_lock(&client->lock);
    client->shipment = shipment;
    pthread_mutex_unlock(&client->lock);
    gw_call_open(&call, client);
    call.request = GW_REQUEST_PROGRAM;
    int rc = gw_call_exchange(&call, client, &message, UINT64_MAX, error);
    gw_call_close(&call, client);
    pthread_mutex_lock(&client->lock);
    client->shipment = NULL;
    pthread_mutex_unlock(&client->lock);
    pthread_mutex_unlock(&client->start_lock);
    return rc;
}

int gw_shipment_send(struct gw_client *client, const char *const *texts,
                     uint8_t hash[GW_HASH_BYTES], struct gw_error *error)
{
    struct gw_shipment *shipment;
    client->ship_read_bytes = 0;
    client->ship_readers++;
    int rc = gw_shipment_new(texts, &client->ship_read_bytes, &shipment, error);
    client->ship_readers--;
    if (rc < 0)
        return rc;
    rc = tell(client, shipment, error);
    memcpy(hash, shipment->hash, GW_HASH_BYTES);
    gw_shipment_free(shipment);
    return rc;
}

bool gw_client_shipping(struct gw_client *client, struct gw_shipping *shipping)
{
    pthread_mutex_lock(&client->lock);
    const bool sending = client->shipment != NULL;
    if (sending)
        say_how_far(client->shipment, shipping);
    pthread_mutex_unlock(&client->lock);
    if (sending || client->ship_readers == 0)
        return sending;
    *shipping = (struct gw_shipping){.reading = true, .done_bytes = client->ship_read_bytes};
    return true;
}
