/* Token files. A file has one line per token. The last line has the number of lines.
 *
 * A file is always written completely: a new file with mode 0600, fsync, rename, fsync of the
 * folder. A process that changes the file holds a lock file beside it, and reads the file while it
 * holds the lock. */
#include "graph/wire/token_file.h"

#include "graph/base/dir.h"
#include "graph/base/user_dir.h"
#include "graph/wire/hash.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER "# gangway tokens 1: keep it to yourself; `gangway token` writes it\n"

/* The token of the machine, for a worker as a service. */
#define MACHINE_TOKEN GW_USER_DIR_MACHINE "/token"
enum { LINE_BYTES_MAX = 256, FILE_BYTES_MAX = GW_TOKENS_MAX * LINE_BYTES_MAX };

/* -- The contents of a file ----------------------------------------------------------------------
 */

static int decode_line(const char *line, struct gw_token *token)
{
    char id[GW_TOKEN_ID_BYTES], role[8], user[GW_TOKEN_USER_MAX + 1], secret[GW_HASH_TEXT_BYTES];
    unsigned long long created_s;
    int used = -1;
    if (sscanf(line, "%12s %7s %32s %20llu %64s%n", id, role, user, &created_s, secret, &used) !=
            5 ||
        used < 0 || line[used] || !gw_token_is_id(id) || !gw_token_is_user(user) ||
        strlen(secret) != GW_HASH_TEXT_BYTES - 1 || !gw_hash_parse(secret, token->secret) ||
        gw_token_role_parse(role, &token->role, NULL) < 0)
        return GW_ECORRUPT;
    memcpy(token->id, id, sizeof id);
    strcpy(token->user, user);
    token->created_s = created_s;
    explicit_bzero(secret, sizeof secret);
    return 0;
}

static int decode_end(const char *line, const struct gw_token_file *file)
{
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "end %zu", file->tokens.count);
    return strcmp(line, wanted) == 0 ? 0 : GW_ECORRUPT;
}

int gw_token_file_decode(const char *data, size_t bytes, struct gw_token_file *file,
                         struct gw_error *error)
{
    size_t at = sizeof HEADER - 1;
    bool ended = false;
    int rc = bytes >= at && memcmp(data, HEADER, at) == 0 ? 0 : GW_ECORRUPT;
    if (rc < 0)
        return gw_error_set(error, rc, "is not a token file");
    for (unsigned number = 2; rc == 0 && at < bytes; number++) {
        char line[LINE_BYTES_MAX];
        const char *end = memchr(data + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - data) - at : 0;
        struct gw_token token = {0};
        if (!end || length >= sizeof line || memchr(data + at, 0, length) || ended)
            return gw_error_set(error, GW_ECORRUPT, "is damaged in line %u", number);
        memcpy(line, data + at, length);
        line[length] = '\0';
        at += length + 1;
        if (strncmp(line, "end ", 4) == 0) {
            ended = true;
            rc = decode_end(line, file);
        } else if (decode_line(line, &token) < 0 || gw_token_file_find(file, token.id)) {
            rc = GW_ECORRUPT;
        } else if (file->tokens.count == GW_TOKENS_MAX || gw_array_push(&file->tokens, token) < 0) {
            rc = GW_ENOMEM;
        }
        explicit_bzero(line, sizeof line);
        explicit_bzero(&token, sizeof token);
        if (rc < 0)
            return gw_error_set(error, rc, "is damaged in line %u", number);
    }
    return ended ? 0 : gw_error_set(error, GW_ECORRUPT, "has lost its end");
}

const struct gw_token *gw_token_file_find(const struct gw_token_file *file, const char *id)
{
    const struct gw_token *token;
    GW_ARRAY_EACH (&file->tokens, token)
        if (strcmp(token->id, id) == 0)
            return token;
    return NULL;
}

void gw_token_file_deinit(struct gw_token_file *file)
{
    if (file->tokens.items)
        explicit_bzero(file->tokens.items, file->tokens.capacity * sizeof *file->tokens.items);
    gw_array_deinit(&file->tokens);
}

/* -- Reading -------------------------------------------------------------------------------------
 */

/* Reads a file that must belong to this user and be inaccessible to others. *data is NUL-terminated
 * and belongs to the caller. */
static int read_secret(const char *path, char **data, size_t *bytes, struct gw_error *error)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return gw_error_set(error, errno == ENOENT ? GW_ENOENT : GW_EIO, "%s: %s", path,
                            strerror(errno));
    int rc = 0;
    char *read_bytes = NULL;
    size_t got = 0;
    if (fstat(fd, &info) < 0)
        rc = gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        rc = gw_error_set(error, GW_EPERM, "%s is no file", path);
    else if (info.st_uid != geteuid())
        rc = gw_error_set(error, GW_EPERM,
                          "%s belongs to another user (uid %u), and this program runs as uid %u: "
                          "run it as that user, or give the file to this one with chown",
                          path, (unsigned)info.st_uid, (unsigned)geteuid());
    else if (info.st_mode & 077)
        rc = gw_error_set(error, GW_EPERM,
                          "%s is open to other users: chmod 600 it, and make new tokens for those "
                          "in it where somebody may have read them",
                          path);
    else if (info.st_size > FILE_BYTES_MAX)
        rc = gw_error_set(error, GW_ECORRUPT,
                          "%s is larger than %d bytes, so it is not a token file", path,
                          FILE_BYTES_MAX);
    else if (!(read_bytes = calloc(1, (size_t)info.st_size + 1)))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    while (rc == 0 && got < (size_t)info.st_size) {
        ssize_t some = read(fd, read_bytes + got, (size_t)info.st_size - got);
        if (some > 0)
            got += (size_t)some;
        else if (some == 0)
            break;
        else if (errno != EINTR)
            rc = gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    }
    (void)close(fd);
    if (rc < 0) {
        free(read_bytes);
        return rc;
    }
    *data = read_bytes;
    *bytes = got;
    return 0;
}

int gw_token_file_read(const char *path, struct gw_token_file *file, struct gw_error *error)
{
    char *data;
    size_t bytes;
    struct gw_error why;
    int rc = read_secret(path, &data, &bytes, error);
    if (rc == GW_ENOENT)
        return gw_error_set(error, rc,
                            "there is no token file %s: `gangway token create --tokens %s --user "
                            "NAME` makes it",
                            path, path);
    if (rc < 0)
        return rc;
    rc = gw_token_file_decode(data, bytes, file, &why);
    explicit_bzero(data, bytes);
    free(data);
    if (rc == 0)
        return 0;
    gw_token_file_deinit(file);
    return gw_error_set(error, rc, "%s %s: put a copy of it back, or remove it and make new tokens",
                        path, why.text);
}

/* -- Writing -------------------------------------------------------------------------------------
 */

static int folder_of(const char *path, char dir[PATH_MAX], struct gw_error *error)
{
    const char *slash = strrchr(path, '/');
    size_t bytes = slash ? (size_t)(slash - path) : 0;
    if (bytes >= PATH_MAX || strlen(path) + sizeof ".lock" > PATH_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "%.64s...: the path, or a path below it, is longer than %d bytes", path,
                            PATH_MAX - 1);
    if (bytes)
        memcpy(dir, path, bytes);
    else
        dir[bytes++] = slash ? '/' : '.';
    dir[bytes] = '\0';
    return 0;
}

static int sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) < 0 ? -1 : 0;
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* Replaces the file at path by a file with this content. */
static int write_secret(const char *path, const char *data, size_t bytes, struct gw_error *error)
{
    char dir[PATH_MAX], fresh[PATH_MAX];
    int rc = folder_of(path, dir, error);
    if (rc < 0)
        return rc;
    (void)snprintf(fresh, sizeof fresh, "%.*s.new", PATH_MAX - 8, path);
    (void)unlink(fresh);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool done = fd >= 0;
    while (done && bytes) {
        ssize_t wrote = write(fd, data, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        done = wrote > 0;
        data += wrote > 0 ? wrote : 0;
        bytes -= wrote > 0 ? (size_t)wrote : 0;
    }
    done = done && fsync(fd) == 0;
    if (fd >= 0 && close(fd) < 0)
        done = false;
    if (!done || rename(fresh, path) < 0 || sync_folder(dir) < 0) {
        rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
        (void)unlink(fresh);
    }
    return rc;
}

static int encode(const struct gw_token_file *file, char **data, size_t *bytes)
{
    size_t room = sizeof HEADER + 32 + file->tokens.count * LINE_BYTES_MAX, used;
    char *text = malloc(room), secret[GW_HASH_TEXT_BYTES];
    const struct gw_token *token;
    if (!text)
        return GW_ENOMEM;
    used = (size_t)snprintf(text, room, "%s", HEADER);
    GW_ARRAY_EACH (&file->tokens, token) {
        gw_hash_format(token->secret, secret);
        used += (size_t)snprintf(text + used, room - used, "%s %s %s %llu %s\n", token->id,
                                 gw_token_role_name(token->role), token->user,
                                 (unsigned long long)token->created_s, secret);
    }
    used += (size_t)snprintf(text + used, room - used, "end %zu\n", file->tokens.count);
    explicit_bzero(secret, sizeof secret);
    *data = text;
    *bytes = used;
    return 0;
}

/* Returns a token of another user that has the same number, or NULL. */
static const struct gw_token *find_twin(const struct gw_token_file *file,
                                        const struct gw_token *added)
{
    const struct gw_token *token;
    uint32_t number = gw_token_number(added->user);
    GW_ARRAY_EACH (&file->tokens, token)
        if (gw_token_number(token->user) == number && strcmp(token->user, added->user) != 0)
            return token;
    return NULL;
}

static int make_folder(const char *dir, struct gw_error *error)
{
    struct gw_error why;
    int rc = gw_dir_make(dir, &why);
    return rc < 0
               ? gw_error_set(error, rc,
                              "%s: set XDG_CONFIG_HOME to a folder of yours where tokens may lie",
                              why.text)
               : 0;
}

/* Reads the file, adds or removes one token, and writes the file. */
static int change(const char *path, const struct gw_token *added, const char *revoked,
                  struct gw_error *error)
{
    struct gw_token_file file = {0};
    char dir[PATH_MAX], lock_path[PATH_MAX], *data = NULL;
    size_t bytes = 0;
    int rc = folder_of(path, dir, error), lock = -1;
    if (rc == 0 &&
        access(dir, F_OK) < 0) /* the error text of reading says that there are no tokens */
        rc = added ? make_folder(dir, error) : gw_token_file_read(path, &file, error);
    if (rc < 0)
        return rc;
    (void)snprintf(lock_path, sizeof lock_path, "%.*s.lock", PATH_MAX - 8, path);
    lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0) {
        rc = gw_error_set(error, GW_EIO, "%s: %s", lock_path, strerror(errno));
        goto out;
    }
    rc = gw_token_file_read(path, &file, error);
    if (rc == GW_ENOENT && added)
        rc = 0;
    if (rc < 0)
        goto out;
    const struct gw_token *twin = added ? find_twin(&file, added) : NULL;
    const struct gw_token *found = revoked ? gw_token_file_find(&file, revoked) : NULL;
    if (revoked && !found)
        rc =
            gw_error_set(error, GW_ENOENT,
                         "no token %.64s is in %s: `gangway token list` lists them", revoked, path);
    else if (twin)
        rc = gw_error_set(error, GW_EEXIST,
                          "users %s and %s would get the same number: choose another "
                          "name",
                          twin->user, added->user);
    else if (added && file.tokens.count == GW_TOKENS_MAX)
        rc = gw_error_set(
            error, GW_ELIMIT,
            "%s has %d tokens, which is the most: revoke some first (`gangway token revoke`)", path,
            GW_TOKENS_MAX);
    else if ((added && gw_array_push(&file.tokens, *added) < 0))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0)
        goto out;
    if (found) { /* keep the order, which is the order of creation */
        size_t at = (size_t)(found - file.tokens.items);
        memmove(file.tokens.items + at, file.tokens.items + at + 1,
                (file.tokens.count - at - 1) * sizeof *file.tokens.items);
        file.tokens.count--;
    }
    rc = encode(&file, &data, &bytes);
    rc = rc < 0 ? gw_error_set(error, rc, "out of memory") : write_secret(path, data, bytes, error);
out:
    if (data)
        explicit_bzero(data, bytes);
    free(data);
    gw_token_file_deinit(&file);
    if (lock >= 0)
        (void)close(lock);
    return rc;
}

int gw_token_file_add(const char *path, const struct gw_token *token, struct gw_error *error)
{
    return change(path, token, NULL, error);
}

int gw_token_file_revoke(const char *path, const char *id, struct gw_error *error)
{
    return change(path, NULL, id, error);
}

/* -- Where they lie ------------------------------------------------------------------------------
 */

int gw_token_file_default(char path[PATH_MAX], struct gw_error *error)
{
    return gw_user_dir_config("tokens", path, error);
}

int gw_token_file_write_own(const struct gw_token *token, char path[PATH_MAX],
                            struct gw_error *error)
{
    char dir[PATH_MAX], text[GW_TOKEN_TEXT_BYTES + 1];
    int rc = gw_user_dir_config("token", path, error);
    if (rc == 0)
        rc = folder_of(path, dir, error);
    if (rc == 0 && access(dir, F_OK) < 0)
        rc = make_folder(dir, error);
    if (rc < 0)
        return rc;
    gw_token_format(token, text);
    strcat(text, "\n");
    rc = write_secret(path, text, strlen(text), error);
    explicit_bzero(text, sizeof text);
    return rc;
}

/* Root may read the token of the worker's user, but does not act as that user. */
static bool is_own(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_uid == geteuid();
}

int gw_token_file_own(struct gw_token *token, struct gw_error *error)
{
    const char *text = getenv("GANGWAY_TOKEN"), *named = getenv("GANGWAY_TOKEN_FILE");
    char path[PATH_MAX], *data;
    size_t bytes;
    if (text && *text) {
        int rc = gw_token_parse(text, token, error);
        return rc < 0 ? gw_error_prefix(error, "GANGWAY_TOKEN") : 0;
    }
    int rc = named && *named ? 0 : gw_user_dir_config("token", path, error);
    if (rc < 0)
        return rc;
    if (!named || !*named)
        named = access(path, F_OK) < 0 && is_own(MACHINE_TOKEN) ? MACHINE_TOKEN : path;
    rc = read_secret(named, &data, &bytes, error);
    if (rc == GW_ENOENT)
        return gw_error_set(error, rc,
                            "a cluster with a TCP address needs a token, but there is none in "
                            "GANGWAY_TOKEN or %s: an admin of the cluster makes one by `gangway "
                            "token create`, and `gangway token store` stores it here",
                            named);
    if (rc < 0)
        return rc;
    rc = gw_token_parse(data, token, error);
    if (rc < 0)
        (void)gw_error_prefix(error, "%s", named);
    explicit_bzero(data, bytes);
    free(data);
    return rc;
}
