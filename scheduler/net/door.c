/* The TLS listening socket and the token file that it watches.
 *
 * Invariant: `file` holds the last valid content of the token file. If the file becomes invalid
 * while the scheduler runs, the tokens stay valid and the log says so, because a mistake in an
 * editor must not disconnect all users. */
#include "scheduler/net/door.h"

#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/acceptor.h"
#include "graph/wire/tls.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct gw_door {
    struct gw_door_options options;
    struct gw_acceptor *acceptor;
    uv_fs_event_t watch;
    struct gw_token_file file;
    struct stat seen; /* of the token file, when it was last read */
    char path[PATH_MAX];
    char address[GW_ENDPOINT_TEXT_MAX];
    char owner[GW_TOKEN_USER_MAX + 1]; /* name of the scheduler's own user; empty: unknown */
    uint8_t open_handles;
};

/* -- Tokens ----------------------------------------------------------------------------------- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_mode == b->st_mode;
}

/* Reads the token file if it has changed since it was last read. */
static void refresh(struct gw_door *door)
{
    struct stat now;
    struct gw_token_file fresh = {0};
    struct gw_error error;
    if (stat(door->path, &now) == 0 && is_same_file(&now, &door->seen))
        return;
    if (gw_token_file_read(door->path, &fresh, &error) < 0) {
        gw_log_error(
            "the changed token file cannot be read, so the tokens read before stay valid: %s",
            error.text);
        return;
    }
    door->options.on_changed(&door->file, &fresh, door->options.arg);
    gw_token_file_deinit(&door->file);
    door->file = fresh;
    door->seen = now;
    gw_log_info("%zu tokens are known", door->file.tokens.count);
    door->options.on_revoked(door->options.arg);
}

static bool door_find(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg)
{
    struct gw_door *door = arg;
    _Static_assert((int)GW_TLS_SECRET_BYTES == (int)GW_TOKEN_SECRET_BYTES, "a token is a key");
    const struct gw_token *token = gw_token_file_find(&door->file, identity);
    if (!token)
        return false;
    memcpy(secret, token->secret, GW_TLS_SECRET_BYTES);
    return true;
}

const struct gw_token *gw_door_admit(const struct gw_door *door,
                                     const struct gw_transport *transport)
{
    const char *identity = gw_tls_identity(transport);
    const struct gw_token *token = identity ? gw_token_file_find(&door->file, identity) : NULL;
    return token && gw_tls_has_secret(transport, token->secret) ? token : NULL;
}

bool gw_door_knows(const struct gw_door *door, const struct gw_token *token)
{
    const struct gw_token *known = gw_token_file_find(&door->file, token->id);
    return known && gw_tls_secret_equals(known->secret, token->secret);
}

uint32_t gw_door_uid(const struct gw_door *door, const struct gw_token *token)
{
    if (token->role == GW_TOKEN_WORKER)
        return gw_token_number(token->id);
    return strcmp(token->user, door->owner) == 0 ? geteuid() : gw_token_number(token->user);
}

uint32_t gw_door_owner(const struct gw_door *door, const struct gw_token *token)
{
    return strcmp(token->user, door->owner) == 0 || strcmp(token->user, GW_TOKEN_USER_HOSTS) == 0
               ? geteuid()
               : gw_token_number(token->user);
}

const char *gw_door_address(const struct gw_door *door)
{
    return door->address;
}

/* -- The loop --------------------------------------------------------------------------------- */

static void door_on_changed(uv_fs_event_t *watch, const char *name, int events, int status)
{
    (void)name;
    (void)events;
    if (status >= 0)
        refresh(watch->data);
}

static void door_on_accept(int fd, void *arg)
{
    struct gw_door *door = arg;
    struct gw_transport *transport;
    struct gw_error error;
    /* Needed if the file system reports no changes, for example on a network file system. */
    refresh(door);
    if (gw_tls_accept(fd, door_find, door, &transport, &error) < 0)
        gw_log_error("a TCP connection was refused: %s", error.text);
    else
        door->options.on_accept(transport, door->options.arg);
}

static void handle_closed(struct gw_door *door)
{
    if (--door->open_handles)
        return;
    void (*on_closed)(void *) = door->options.on_closed;
    void *arg = door->options.arg;
    gw_token_file_deinit(&door->file);
    free(door);
    on_closed(arg);
}

static void door_on_acceptor_closed(void *arg)
{
    handle_closed(arg);
}

static void door_on_watch_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static int start(struct gw_door *door, uv_loop_t *loop, int fd, struct gw_error *error)
{
    const struct gw_acceptor_callbacks callbacks = {door_on_accept, door_on_acceptor_closed, door};
    int rc = gw_acceptor_open(loop, fd, &callbacks, &door->acceptor, error);
    if (rc < 0)
        return rc;
    char dir[PATH_MAX];
    const char *slash = strrchr(door->path, '/');
    (void)snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - door->path) + 1 : 1,
                   slash ? door->path : ".");
    door->open_handles = 2;
    door->watch.data = door;
    (void)uv_fs_event_init(loop, &door->watch);
    rc = uv_fs_event_start(&door->watch, door_on_changed, dir, 0);
    if (rc < 0)
        gw_log_warn("changes in the folder %s cannot be noticed (%s): a revoked token stays valid "
                    "until the next client or worker connects",
                    dir, uv_strerror(rc));
    return 0;
}

int gw_door_open(uv_loop_t *loop, const struct gw_door_options *options, struct gw_door **door,
                 struct gw_error *error)
{
    struct gw_door *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    const struct passwd *owner = getpwuid(geteuid());
    opened->options = *options;
    opened->options.listen = opened->options.tokens = NULL;
    if (owner && strlen(owner->pw_name) <= GW_TOKEN_USER_MAX)
        strcpy(opened->owner, owner->pw_name);
    int fd, rc = 0;
    if (snprintf(opened->path, sizeof opened->path, "%s", options->tokens) >=
        (int)sizeof opened->path - 8)
        rc = gw_error_set(error, GW_EINVAL,
                          "%.64s...: the path, or a path below it, is longer than %d bytes",
                          options->tokens, PATH_MAX - 1);
    if (rc == 0 && strchr(options->listen, '/'))
        rc = gw_error_set(error, GW_EINVAL, "%s: wanted HOST:PORT", options->listen);
    if (rc == 0 && stat(opened->path, &opened->seen) < 0)
        opened->seen = (struct stat){0};
    if (rc == 0)
        rc = gw_token_file_read(opened->path, &opened->file, error);
    if (rc == 0)
        rc = gw_endpoint_listen(options->listen, &fd, opened->address, error);
    if (rc == 0)
        rc = start(opened, loop, fd, error);
    if (rc < 0) {
        gw_token_file_deinit(&opened->file);
        free(opened);
        return rc;
    }
    gw_log_info("listening at %s, by TLS; %zu tokens are known", opened->address,
                opened->file.tokens.count);
    *door = opened;
    return 0;
}

void gw_door_close(struct gw_door *door)
{
    if (!door)
        return;
    gw_acceptor_close(door->acceptor);
    uv_close((uv_handle_t *)&door->watch, door_on_watch_closed);
}
