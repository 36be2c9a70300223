/* Downloads into the cache, from a small HTTP server of the test on a port chosen by the system. */
#include "tests/unit/unit.h"

#include "examples/petnames/fetch.h"
#include "examples/petnames/names.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE_BYTES = 3 << 20, READERS = 4 };

static const char csv_text[] = "Species,Animal's Name\nDog,Max\nCat,Lucy\n";

struct fixture {
    char folder[64];
    char base[64]; /* "http://127.0.0.1:port" */
    pid_t server;
    atomic_int *requests; /* answered so far, shared with the server */
};

/* --- the server --- */

static void respond(int fd, const char *status, const char *headers, const char *body)
{
    dprintf(fd, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
            headers, strlen(body), body);
}

static void respond_large(int fd)
{
    char block[4096];
    memset(block, 'a', sizeof block);
    dprintf(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"); /* of unstated length */
    for (size_t sent = 0; sent < LARGE_BYTES; sent += sizeof block)
        if (write(fd, block, sizeof block) < 0)
            return; /* the client has closed the connection */
}

static void respond_to(int fd, const char *path)
{
    char rest[64];
    if (strncmp(path, "/names.csv", 10) == 0) {
        respond(fd, "200 OK", "", csv_text);
    } else if (strcmp(path, "/page") == 0) {
        respond(fd, "200 OK", "", "<html>, sign in\n");
    } else if (strcmp(path, "/moved") == 0) {
        respond(fd, "302 Found", "Location: /names.csv\r\n", "");
    } else if (strcmp(path, "/loop") == 0) {
        respond(fd, "302 Found", "Location: /loop\r\n", "");
    } else if (strcmp(path, "/away") == 0) {
        respond(fd, "302 Found", "Location: ftp://127.0.0.1/names.csv\r\n", "");
    } else if (strcmp(path, "/large") == 0) {
        respond_large(fd);
    } else if (strcmp(path, "/cut") == 0) {
        dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nMax\n");
    } else if (strcmp(path, "/stall") == 0) {
        dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        (void)!read(fd, rest, sizeof rest); /* until the client closes the connection */
    } else {
        respond(fd, "404 Not Found", "", "no such file\n");
    }
}

static void serve(int listener, atomic_int *requests)
{
    signal(SIGPIPE, SIG_IGN);
    alarm(50); /* in case the test crashes */
    for (;;) {
        char request[4096] = "", path[64];
        size_t used = 0;
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        while (!strstr(request, "\r\n\r\n") && used < sizeof request - 1) {
            ssize_t got = read(fd, request + used, sizeof request - 1 - used);
            if (got <= 0)
                break;
            used += (size_t)got;
        }
        if (sscanf(request, "GET %63s ", path) == 1) {
            atomic_fetch_add(requests, 1);
            respond_to(fd, path);
        }
        close(fd);
    }
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    const char *folder = getenv("TMPDIR");
    (void)snprintf(fixture.folder, sizeof fixture.folder, "%s/petnames-XXXXXX",
                   folder && strlen(folder) < 32 ? folder : "/tmp");
    if (!mkdtemp(fixture.folder))
        return -1;
    setenv("XDG_CACHE_HOME", fixture.folder, 1);
    setenv("no_proxy", "*", 1);
    fixture.requests = mmap(NULL, sizeof *fixture.requests, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 16) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        return -1;
    (void)snprintf(fixture.base, sizeof fixture.base, "http://127.0.0.1:%d",
                   ntohs(address.sin_port));
    fixture.server = fork();
    if (fixture.server == 0)
        serve(listener, fixture.requests);
    close(listener);
    *state = &fixture;
    return 0;
}

static int empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return 0;
    int files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_type == DT_REG) {
            unlinkat(dirfd(folder), entry->d_name, 0);
            files++;
        }
    }
    closedir(folder);
    return files;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char inner[80];
    kill(fixture->server, SIGKILL);
    waitpid(fixture->server, NULL, 0);
    (void)snprintf(inner, sizeof inner, "%s/gangway", fixture->folder);
    empty_folder(inner);
    rmdir(inner);
    munmap(fixture->requests, sizeof *fixture->requests);
    return rmdir(fixture->folder);
}

/* --- tests --- */

static int fetch(const struct fixture *fixture, const char *page, char path[PATH_MAX],
                 struct gw_error *error)
{
    char url[160];
    (void)snprintf(url, sizeof url, "%s%s", fixture->base, page);
    const struct pet_fetch_options options = {
        .url = url, .http_allowed = true, .bytes_max = 1 << 20, .seconds_max = 10};
    return pet_fetch(&options, path, error);
}

static void downloaded_file_is_cached_by_url(void **state)
{
    const struct fixture *fixture = *state;
    struct gw_error error;
    char path[PATH_MAX], again[PATH_MAX], text[256] = "";
    int before = atomic_load(fixture->requests);
    if (fetch(fixture, "/names.csv", path, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(strncmp(path, fixture->folder, strlen(fixture->folder)), 0);
    FILE *file = fopen(path, "r");
    assert_int_equal(fread(text, 1, sizeof text - 1, file), strlen(csv_text));
    fclose(file);
    assert_string_equal(text, csv_text);
    assert_int_equal(fetch(fixture, "/names.csv", again, &error), 0);
    assert_string_equal(path, again);
    assert_int_equal(atomic_load(fixture->requests), before + 1);

    assert_int_equal(fetch(fixture, "/moved", path, &error), 0);
    assert_string_not_equal(path, again);
}

static void check_error(const struct fixture *fixture, const char *page, int code,
                        const char *words)
{
    struct gw_error error = {0};
    char path[PATH_MAX];
    assert_int_equal(fetch(fixture, page, path, &error), code);
    if (!strstr(error.text, words) || !strstr(error.text, page))
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", error.text, words, page);
}

static void failed_downloads_report_the_cause_and_leave_no_file(void **state)
{
    const struct fixture *fixture = *state;
    char folder[80];
    (void)snprintf(folder, sizeof folder, "%s/gangway", fixture->folder);
    empty_folder(folder);
    check_error(fixture, "/missing", GW_ENOENT, "HTTP status 404");
    check_error(fixture, "/loop", GW_EIO, "redirects");
    check_error(fixture, "/away", GW_EIO, "rotocol");
    check_error(fixture, "/large", GW_ELIMIT, "limit of 1048576 bytes");
    check_error(fixture, "/cut", GW_EIO, "bytes");
    DIR *files = opendir(folder);
    for (struct dirent *entry; (entry = readdir(files));) /* only locks, and no partial file */
        assert_true(entry->d_type != DT_REG || strstr(entry->d_name, ".lock"));
    closedir(files);
}

static void stalled_download_times_out(void **state)
{
    const struct fixture *fixture = *state;
    struct gw_error error;
    char path[PATH_MAX], url[160];
    (void)snprintf(url, sizeof url, "%s/stall", fixture->base);
    const struct pet_fetch_options options = {
        .url = url, .http_allowed = true, .bytes_max = 1 << 20, .seconds_max = 1};
    assert_int_equal(pet_fetch(&options, path, &error), GW_ETIMEDOUT);
}

static void plain_http_is_refused_without_allow_http(void **state)
{
    const struct fixture *fixture = *state;
    struct gw_error error;
    char path[PATH_MAX];
    int before = atomic_load(fixture->requests);
    struct pet_fetch_options options = {.url = fixture->base, .bytes_max = 1, .seconds_max = 1};
    assert_int_equal(pet_fetch(&options, path, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "--allow-http"));
    options.url = "file:///etc/passwd";
    assert_int_equal(pet_fetch(&options, path, &error), GW_EINVAL);
    assert_int_equal(atomic_load(fixture->requests), before);
}

/* Several processes ask for the same file at the same time; the server receives one request. */
static void concurrent_processes_download_a_file_once(void **state)
{
    const struct fixture *fixture = *state;
    pid_t readers[READERS];
    int before = atomic_load(fixture->requests), gate[2];
    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < READERS; i++) {
        readers[i] = fork();
        if (readers[i] == 0) {
            char go, path[PATH_MAX];
            close(gate[1]);
            (void)!read(gate[0], &go, 1); /* all processes start when the gate closes */
            _exit(fetch(fixture, "/names.csv?one", path, NULL) == 0 ? 0 : 1);
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < READERS; i++) {
        int status;
        assert_int_equal(waitpid(readers[i], &status, 0), readers[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(atomic_load(fixture->requests), before + 1);
}

static void names_load_from_a_url_and_bad_data_is_not_cached(void **state)
{
    const struct fixture *fixture = *state;
    struct pet_names *names;
    struct gw_error error = {0};
    char url[160];
    (void)snprintf(url, sizeof url, "%s/names.csv", fixture->base);
    struct pet_names_options options = {.data = url, .http_allowed = true};
    assert_int_equal(pet_names_load(&options, &names, &error), 0);
    assert_int_equal(names->name_count, 2);
    pet_names_free(names);

    /* A page instead of data is not cached: the next run downloads it again. */
    (void)snprintf(url, sizeof url, "%s/page", fixture->base);
    int before = atomic_load(fixture->requests);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(pet_names_load(&options, &names, &error), GW_ECORRUPT);
        assert_non_null(strstr(error.text, "no column of names"));
        assert_int_equal(atomic_load(fixture->requests), before + i);
    }
}

static void unwritable_cache_error_names_xdg_cache_home(void **state)
{
    const struct fixture *fixture = *state;
    struct gw_error error;
    char path[PATH_MAX];
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    assert_int_equal(fetch(fixture, "/names.csv", path, &error), GW_EIO);
    assert_non_null(strstr(error.text, "set XDG_CACHE_HOME"));
    setenv("XDG_CACHE_HOME", fixture->folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(downloaded_file_is_cached_by_url),
        cmocka_unit_test(failed_downloads_report_the_cause_and_leave_no_file),
        cmocka_unit_test(stalled_download_times_out),
        cmocka_unit_test(plain_http_is_refused_without_allow_http),
        cmocka_unit_test(concurrent_processes_download_a_file_once),
        cmocka_unit_test(names_load_from_a_url_and_bad_data_is_not_cached),
        cmocka_unit_test(unwritable_cache_error_names_xdg_cache_home),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
