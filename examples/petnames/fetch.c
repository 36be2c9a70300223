/* Fetching with libcurl into a cache. Always: a file in the cache is complete, because it is
 * written under a temporary name and renamed, and it is written by one process at a time, because
 * that one holds the lock file. */
#include "examples/petnames/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool pet_fetch_is_url(const char *source)
{
    return strstr(source, "://") != NULL;
}

static int check_url(const struct pet_fetch_options *options, struct gw_error *error)
{
    if (strncasecmp(options->url, "https://", 8) == 0)
        return 0;
    if (strncasecmp(options->url, "http://", 7) == 0) {
        if (options->http_allowed)
            return 0;
        return gw_error_set(error, GW_EINVAL,
                            "%s: http is not encrypted: take https, or allow it with --allow-http",
                            options->url);
    }
    return gw_error_set(error, GW_EINVAL, "%s: only https URLs can be fetched", options->url);
}

/* Makes a folder and those above it. */
static int make_folders(const char *folder, struct gw_error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", folder);
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return gw_error_set(error, GW_EIO,
                                "cannot make the cache folder %s: %s: set XDG_CACHE_HOME to a "
                                "folder that you can write to",
                                path, strerror(errno));
        if (!slash)
            return 0;
        *slash = '/';
    }
}

/* <cache>/gangway/<hash of the URL>-<its last name, where that is a plain one> */
static int cache_path(const char *url, char path[PATH_MAX], struct gw_error *error)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folder[PATH_MAX];
    int length;
    if (cache && cache[0] == '/')
        length = snprintf(folder, sizeof folder, "%s/gangway", cache);
    else if (home && home[0] == '/')
        length = snprintf(folder, sizeof folder, "%s/.cache/gangway", home);
    else
        return gw_error_set(error, GW_EIO,
                            "no place to keep %s: neither XDG_CACHE_HOME nor HOME is set", url);
    if (length >= (int)sizeof folder)
        return gw_error_set(error, GW_EIO, "the cache folder's path is too long");

    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (const char *c = url; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    const char *name = strrchr(url, '/') + 1;
    size_t plain =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
    if (snprintf(path, PATH_MAX, "%s/%016" PRIx64 "-%.*s", folder, hash,
                 (int)(plain < 64 ? plain : 64), name) >= PATH_MAX)
        return gw_error_set(error, GW_EIO, "the cache folder's path is too long");
    return make_folders(folder, error);
}

struct transfer {
    const struct pet_fetch_options *options;
    FILE *file;
    size_t bytes;
    bool too_large;
    int write_errno;
};

static size_t transfer_on_data(char *data, size_t size, size_t count, void *user)
{
    struct transfer *transfer = user;
    size_t bytes = size * count;
    if (bytes > transfer->options->bytes_max - transfer->bytes) {
        transfer->too_large = true;
        return 0;
    }
    transfer->bytes += bytes;
    size_t written = fwrite(data, 1, bytes, transfer->file);
    if (written != bytes)
        transfer->write_errno = errno;
    return written;
}

static void set_protocols(CURL *curl, bool http_allowed)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    const char *protocols = http_allowed ? "http,https" : "https";
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, protocols);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
#else
    long protocols = CURLPROTO_HTTPS | (http_allowed ? CURLPROTO_HTTP : 0);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, protocols);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, protocols);
#endif
}

static int transfer_result(const struct transfer *transfer, CURLcode code, long status,
                           const char *words, struct gw_error *error)
{
    const char *url = transfer->options->url;
    if (transfer->too_large || code == CURLE_FILESIZE_EXCEEDED)
        return gw_error_set(error, GW_ELIMIT, "%s: larger than the limit of %zu bytes", url,
                            transfer->options->bytes_max);
    if (transfer->write_errno)
        return gw_error_set(error, GW_EIO, "%s: cannot write to the cache: %s", url,
                            strerror(transfer->write_errno));
    if (code == CURLE_OPERATION_TIMEDOUT)
        return gw_error_set(error, GW_ETIMEDOUT,
                            "%s: %s: try again, or fetch it yourself and give the file", url,
                            words);
    if (code != CURLE_OK)
        return gw_error_set(error, GW_EIO, "%s: %s", url, words);
    if (status < 200 || status > 299)
        return gw_error_set(error, GW_ENOENT, "%s: the server answers with HTTP status %ld", url,
                            status);
    return 0;
}

static int transfer_run(struct transfer *transfer, struct gw_error *error)
{
    const struct pet_fetch_options *options = transfer->options;
    CURL *curl = curl_easy_init();
    if (!curl)
        return gw_error_set(error, GW_ENOMEM, "libcurl cannot start");
    char words[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl, CURLOPT_URL, options->url);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gangway");
    set_protocols(curl, options->http_allowed);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)PET_FETCH_REDIRECTS_MAX);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)PET_FETCH_CONNECT_S);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, options->seconds_max);
    curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)options->bytes_max);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, transfer_on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    CURLcode code = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    return transfer_result(transfer, code, status, words[0] ? words : curl_easy_strerror(code),
                           error);
}

/* Fetches to a temporary name beside path and renames; the caller holds the lock. */
static int fetch_to(const struct pet_fetch_options *options, const char *path,
                    struct gw_error *error)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
        return gw_error_set(error, GW_EIO, "the cache folder's path is too long");
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", temporary, strerror(errno));

    struct transfer transfer = {.options = options, .file = fdopen(fd, "w")};
    if (!transfer.file) {
        close(fd);
        unlink(temporary);
        return gw_error_set(error, GW_ENOMEM, "no memory to fetch %s", options->url);
    }
    int rc = transfer_run(&transfer, error);
    if (fclose(transfer.file) != 0 && rc == 0)
        rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", temporary, strerror(errno));
    if (rc == 0 && rename(temporary, path) < 0)
        rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    if (rc < 0)
        unlink(temporary);
    return rc;
}

int pet_fetch(const struct pet_fetch_options *options, char path[PATH_MAX], struct gw_error *error)
{
    char cached[PATH_MAX], lock[PATH_MAX + 8];
    int rc = check_url(options, error);
    if (rc == 0)
        rc = cache_path(options->url, cached, error);
    if (rc < 0)
        return rc;

    (void)snprintf(lock, sizeof lock, "%s.lock", cached);
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", lock, strerror(errno));
    int locked;
    do /* whoever holds it is bounded by its own time limit */
        locked = flock(fd, LOCK_EX);
    while (locked < 0 && errno == EINTR);
    if (locked < 0)
        rc = gw_error_set(error, GW_EIO, "cannot lock %s: %s", lock, strerror(errno));
    if (rc == 0 && access(cached, R_OK) < 0)
        rc = fetch_to(options, cached, error);
    close(fd);
    if (rc == 0)
        memcpy(path, cached, strlen(cached) + 1);
    return rc;
}
