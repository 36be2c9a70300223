/* The rendezvous server.
 *
 * Its values are addresses of the ranks' sockets, some hundred bytes each. A rank that asks for a
 * missing value asks again, so no request waits in the server. A rank deletes its key when it has
 * finished. All values are freed with the attempt. Other programs could only fill the server up to
 * its limits. They do not affect the worker, since the worker uses none of the values.
 *
 * Invariant: libmicrohttpd is started at the first connection and has no thread. The loop polls its
 * descriptor and handles its timeouts. */
#include "worker/net/parts/rendezvous.h"

#include "graph/base/log.h"
#include "graph/base/strmap.h"
#include "graph/wire/endpoint.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 256, TIMEOUT_S = 60, KEY_BYTES_MAX = 1024 };

struct gw_rendezvous {
    uv_loop_t *loop;
    int listener_fd; /* -1 after the daemon has taken it over */
    struct MHD_Daemon *daemon;
    struct gw_strmap values; /* "/scope/key" -> struct value * */
    size_t bytes;
    uv_poll_t door, traffic;
    uv_timer_t timer;
    bool traffic_open;
    uint32_t closing;
};

struct value {
    size_t bytes;
    char data[];
};

/* The body of a PUT request, as far as it has arrived. */
struct upload {
    size_t bytes;
    char *data;
    bool too_large, no_memory;
};

/* -- Values --------------------------------------------------------------------------------------
 */

static void drop_value(struct gw_rendezvous *rendezvous, const char *url)
{
    uint64_t found;
    if (!gw_strmap_get(&rendezvous->values, url, &found))
        return;
    struct value *value = (struct value *)(uintptr_t)found;
    rendezvous->bytes -= value->bytes + strlen(url);
    (void)gw_strmap_remove(&rendezvous->values, url);
    free(value);
}

static unsigned put_value(struct gw_rendezvous *rendezvous, const char *url,
                          const struct upload *upload)
{
    const size_t more = upload->bytes + strlen(url);
    if (upload->too_large || strlen(url) > KEY_BYTES_MAX)
        return MHD_HTTP_CONTENT_TOO_LARGE;
    drop_value(rendezvous, url);
    if (upload->no_memory || rendezvous->bytes + more > GW_RENDEZVOUS_BYTES_MAX)
        return MHD_HTTP_INSUFFICIENT_STORAGE;
    struct value *value = malloc(sizeof *value + upload->bytes);
    if (!value || gw_strmap_put(&rendezvous->values, url, (uintptr_t)value) < 0) {
        free(value);
        return MHD_HTTP_INSUFFICIENT_STORAGE;
    }
    value->bytes = upload->bytes;
    if (upload->bytes)
        memcpy(value->data, upload->data, upload->bytes);
    rendezvous->bytes += more;
    return MHD_HTTP_OK;
}

/* -- Requests ------------------------------------------------------------------------------------
 */

static void take(struct upload *upload, const char *data, size_t bytes)
{
    if (upload->too_large || upload->no_memory)
        return;
    upload->too_large = upload->bytes + bytes > GW_RENDEZVOUS_VALUE_BYTES_MAX;
    char *grown = upload->too_large ? NULL : realloc(upload->data, upload->bytes + bytes);
    if (!grown) {
        upload->no_memory = !upload->too_large;
        return;
    }
    memcpy(grown + upload->bytes, data, bytes);
    upload->data = grown;
    upload->bytes += bytes;
}

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *data,
                               size_t bytes)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    enum MHD_Result rc = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return rc;
}

/* Returns true for "/scope/key" with non-empty parts. */
static bool is_path(const char *url)
{
    const char *slash = url[0] == '/' ? strchr(url + 1, '/') : NULL;
    return slash && slash > url + 1 && slash[1];
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *bytes, void **state)
{
    struct gw_rendezvous *rendezvous = arg;
    struct upload *upload = *state;
    uint64_t found;
    (void)version;
    if (!upload) {
        *state = calloc(1, sizeof *upload);
        return *state ? MHD_YES : MHD_NO;
    }
    if (*bytes) {
        take(upload, data, *bytes);
        *bytes = 0;
        return MHD_YES;
    }
    if (!is_path(url))
        return respond(connection, MHD_HTTP_BAD_REQUEST, "", 0);
    if (strcmp(method, MHD_HTTP_METHOD_PUT) == 0)
        return respond(connection, put_value(rendezvous, url, upload), "", 0);
    if (strcmp(method, MHD_HTTP_METHOD_DELETE) == 0) {
        drop_value(rendezvous, url);
        return respond(connection, MHD_HTTP_OK, "", 0);
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "", 0);
    if (!gw_strmap_get(&rendezvous->values, url, &found))
        return respond(connection, MHD_HTTP_NOT_FOUND, "", 0);
    const struct value *value = (const struct value *)(uintptr_t)found;
    return respond(connection, MHD_HTTP_OK, value->data, value->bytes);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct upload *upload = *state;
    (void)arg;
    (void)connection;
    (void)code;
    if (upload)
        free(upload->data);
    free(upload);
    *state = NULL;
}

/* -- Event loop ----------------------------------------------------------------------------------
 */

static void on_timer(uv_timer_t *timer);

static void go_on(struct gw_rendezvous *rendezvous)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    (void)MHD_run(rendezvous->daemon);
    if (MHD_get_timeout(rendezvous->daemon, &wait_ms) == MHD_YES)
        (void)uv_timer_start(&rendezvous->timer, on_timer, wait_ms, 0);
    else
        (void)uv_timer_stop(&rendezvous->timer);
}

static void on_timer(uv_timer_t *timer)
{
    go_on(timer->data);
}

static void on_traffic(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    go_on(poll->data);
}

/* Starts the HTTP server when the first client connects. */
static void on_door(uv_poll_t *poll, int status, int events)
{
    struct gw_rendezvous *rendezvous = poll->data;
    (void)status;
    (void)events;
    (void)uv_poll_stop(&rendezvous->door);
    rendezvous->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, on_request, rendezvous, MHD_OPTION_LISTEN_SOCKET,
        (MHD_socket)rendezvous->listener_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, NULL, MHD_OPTION_END);
    if (!rendezvous->daemon) {
        gw_log_error("cannot start the server by which the Horovod ranks of a gang find each "
                     "other: they will not start");
        return;
    }
    rendezvous->listener_fd = -1;
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(rendezvous->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    (void)uv_poll_init(rendezvous->loop, &rendezvous->traffic, info->epoll_fd);
    rendezvous->traffic.data = rendezvous;
    rendezvous->traffic_open = true;
    (void)uv_poll_start(&rendezvous->traffic, UV_READABLE, on_traffic);
    go_on(rendezvous);
}

int gw_rendezvous_open(uv_loop_t *loop, const char *address, struct gw_rendezvous **out,
                       uint16_t *port, struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int fd, rc = gw_endpoint_listen(address, &fd, actual, error);
    if (rc < 0)
        return rc;
    struct gw_rendezvous *rendezvous = calloc(1, sizeof *rendezvous);
    GW_MUST_PTR(rendezvous);
    rendezvous->loop = loop;
    rendezvous->listener_fd = fd;
    (void)uv_timer_init(loop, &rendezvous->timer);
    (void)uv_poll_init(loop, &rendezvous->door, fd);
    rendezvous->timer.data = rendezvous->door.data = rendezvous;
    (void)uv_poll_start(&rendezvous->door, UV_READABLE, on_door);
    *port = (uint16_t)strtoul(strrchr(actual, ':') + 1, NULL, 10);
    *out = rendezvous;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct gw_rendezvous *rendezvous = handle->data;
    if (--rendezvous->closing == 0)
        free(rendezvous);
}

void gw_rendezvous_close(struct gw_rendezvous *rendezvous)
{
    uint64_t found;
    size_t at = 0;
    const char *url;
    uv_handle_t *handles[] = {(uv_handle_t *)&rendezvous->door, (uv_handle_t *)&rendezvous->timer,
                              (uv_handle_t *)&rendezvous->traffic};
    rendezvous->closing = rendezvous->traffic_open ? 3 : 2;
    for (uint32_t i = 0; i < rendezvous->closing; i++)
        uv_close(handles[i], on_closed);
    if (rendezvous->daemon)
        MHD_stop_daemon(rendezvous->daemon);
    if (rendezvous->listener_fd >= 0)
        close(rendezvous->listener_fd);
    while (gw_strmap_next(&rendezvous->values, &at, &url, &found))
        free((void *)(uintptr_t)found);
    gw_strmap_deinit(&rendezvous->values);
}
