/* The rendezvous of Horovod scripts, against a client that writes HTTP by hand, and the leased
 * ports beside it. */
#include "tests/unit/unit.h"

#include "worker/net/parts/port.h"
#include "worker/net/parts/rendezvous.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct visit {
    uint16_t port;
    uv_async_t *over;
};

/* A request on a connection of its own; returns the status, and the body in `body`. */
static int ask(const struct visit *visit, const char *head, size_t bytes, char body[static 64])
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(visit->port)};
    char text[512] = "", filler[4096];
    size_t used = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0), status = 0;
    (void)inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    (void)memset(filler, 'x', sizeof filler);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        return -1;
    int length = snprintf(
        text, sizeof text,
        "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", head, bytes);
    bool well = send(fd, text, (size_t)length, MSG_NOSIGNAL) == length;
    while (well && bytes > 0) {
        ssize_t n = send(fd, filler, bytes < sizeof filler ? bytes : sizeof filler, MSG_NOSIGNAL);
        well = n > 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    for (ssize_t n; used < sizeof text - 1; used += (size_t)n)
        if ((n = recv(fd, text + used, sizeof text - 1 - used, 0)) <= 0)
            break;
    text[used] = '\0';
    close(fd);
    const char *end = strstr(text, "\r\n\r\n");
    (void)snprintf(body, 64, "%.60s", end ? end + 4 : "");
    return sscanf(text, "HTTP/1.1 %d", &status) == 1 ? status : -1;
}

static void *client(void *arg)
{
    const struct visit *visit = arg;
    static const struct {
        const char *head;
        size_t bytes;
        int status;
        const char *body;
    } steps[] = {
        {"GET /global/0", 0, 404, ""},
        {"PUT /global/0", 5, 200, ""},
        {"GET /global/0", 0, 200, "xxxxx"},
        {"PUT /global/0", 2, 200, ""}, /* replaces it */
        {"GET /global/0", 0, 200, "xx"},
        {"GET /local_h/0", 0, 404, ""}, /* another scope */
        {"PUT /global/none", 0, 200, ""},
        {"GET /global/none", 0, 200, ""},
        {"DELETE /global/0", 0, 200, ""},
        {"GET /global/0", 0, 404, ""},
        {"DELETE /global/0", 0, 200, ""},
        {"GET /nothing", 0, 400, ""},
        {"GET /", 0, 400, ""},
        {"GET //key", 0, 400, ""},
        {"POST /global/0", 0, 405, ""},
        {"PUT /global/0", GW_RENDEZVOUS_VALUE_BYTES_MAX, 200, ""},
        {"PUT /global/1", GW_RENDEZVOUS_VALUE_BYTES_MAX + 1, 413, ""},
        {"GET /global/1", 0, 404, ""},
    };
    char body[64];
    uintptr_t wrong = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !wrong; i++) {
        int status = ask(visit, steps[i].head, steps[i].bytes, body);
        if (status != steps[i].status || strcmp(body, steps[i].body) != 0) {
            fprintf(stderr, "%s: %d \"%s\"\n", steps[i].head, status, body);
            wrong = i + 1;
        }
    }
    (void)uv_async_send(visit->over);
    return (void *)wrong;
}

static void on_over(uv_async_t *over)
{
    gw_rendezvous_close(over->data);
    uv_close((uv_handle_t *)over, NULL);
}

static void rendezvous_stores_and_deletes_values_over_http(void **state)
{
    uv_loop_t loop;
    uv_async_t over;
    struct gw_rendezvous *rendezvous;
    struct gw_error error;
    struct visit visit = {.over = &over};
    pthread_t thread;
    void *wrong;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(gw_rendezvous_open(&loop, "127.0.0.1", &rendezvous, &visit.port, &error), 0);
    assert_int_equal(uv_async_init(&loop, &over, on_over), 0);
    over.data = rendezvous;
    assert_int_equal(pthread_create(&thread, NULL, client, &visit), 0);
    (void)uv_run(&loop, UV_RUN_DEFAULT); /* until both are closed */
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void rendezvous_without_clients_closes_cleanly(void **state)
{
    uv_loop_t loop;
    struct gw_rendezvous *rendezvous;
    struct gw_error error;
    uint16_t port;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(gw_rendezvous_open(&loop, "127.0.0.1", &rendezvous, &port, &error), 0);
    gw_rendezvous_close(rendezvous);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static int bind_at(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

static void leased_ports_are_unique_and_reserved(void **state)
{
    enum { MANY = 64 };
    struct gw_port ports[MANY];
    struct gw_error error;
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(gw_port_open(&ports[i], &error), 0);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(ports[k].number, ports[i].number);
        if (i % 2) /* a released number is not leased again either */
            gw_port_unbind(&ports[i]);
        assert_int_equal(gw_port_is_taken(&ports[i]), i % 2 == 0);
    }
    assert_int_equal(bind_at(ports[0].number), -1);
    int fd = bind_at(ports[1].number);
    assert_true(fd >= 0);
    assert_true(gw_port_is_taken(&ports[1]));
    close(fd);
    for (size_t i = 0; i < MANY; i++)
        gw_port_close(&ports[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rendezvous_stores_and_deletes_values_over_http),
        cmocka_unit_test(rendezvous_without_clients_closes_cleanly),
        cmocka_unit_test(leased_ports_are_unique_and_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
