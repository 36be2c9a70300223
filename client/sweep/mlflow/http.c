/* HTTP by libcurl. */
#include "client/sweep/mlflow/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct gw_http {
    CURL *curl;
    char *url;
    char *bearer;                         /* a header; NULL: none */
    char *user, *password, *certificates; /* NULL: none */
    const atomic_bool *cancelled;
    char words[CURL_ERROR_SIZE];
};

struct body {
    char *text;
    size_t bytes;
};

static size_t on_data(char *data, size_t size, size_t count, void *arg)
{
    struct body *body = arg;
    const size_t bytes = size * count;
    if (bytes > GW_HTTP_ANSWER_BYTES_MAX - body->bytes)
        return 0;
    char *longer = realloc(body->text, body->bytes + bytes + 1);
    if (!longer)
        return 0;
    body->text = longer;
    memcpy(body->text + body->bytes, data, bytes);
    body->bytes += bytes;
    body->text[body->bytes] = '\0';
    return bytes;
}

static int on_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                       curl_off_t up)
{
    const struct gw_http *http = arg;
    (void)down_all, (void)down, (void)up_all, (void)up;
    return atomic_load(http->cancelled);
}

/* A copy of a variable of the environment, or NULL. */
static char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? strdup(value) : NULL;
}

static void start_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

int gw_http_new(const char *url, const atomic_bool *cancelled, struct gw_http **http,
                struct gw_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *host = strncasecmp(url, "http://", 7) == 0    ? url + 7
                       : strncasecmp(url, "https://", 8) == 0 ? url + 8
                                                              : "";
    const char *token = getenv("MLFLOW_TRACKING_TOKEN");
    if (!*host || *host == '/')
        return gw_error_set(error, GW_EINVAL,
                            "%s: give the URL of an MLflow server, such as http://localhost:5000",
                            url);
    (void)pthread_once(&once, start_curl);
    struct gw_http *made = calloc(1, sizeof *made);
    if (made) {
        made->cancelled = cancelled;
        made->curl = curl_easy_init();
        made->url = strdup(url);
        made->user = variable("MLFLOW_TRACKING_USERNAME");
        made->password = variable("MLFLOW_TRACKING_PASSWORD");
        made->certificates = variable("MLFLOW_TRACKING_SERVER_CERT_PATH");
    }
    if (!made || !made->curl || !made->url ||
        (token && *token && asprintf(&made->bearer, "Authorization: Bearer %s", token) < 0)) {
        gw_http_free(made);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    for (size_t bytes = strlen(made->url); bytes && made->url[bytes - 1] == '/'; bytes--)
        made->url[bytes - 1] = '\0';
    *http = made;
    return 0;
}

void gw_http_free(struct gw_http *http)
{
    if (!http)
        return;
    curl_easy_cleanup(http->curl);
    free(http->bearer);
    free(http->user);
    free(http->password);
    free(http->certificates);
    free(http->url);
    free(http);
}

static void set_protocols(CURL *curl)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

/* Sets what all requests share. */
static void set_common(struct gw_http *http)
{
    CURL *curl = http->curl;
    curl_easy_reset(curl);
    set_protocols(curl);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gangway");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)GW_HTTP_CONNECT_S);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)GW_HTTP_S);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L); /* on a reused connection that ends without
                                                         an answer, curl repeats the request */
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->words);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, http);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    if (http->certificates)
        curl_easy_setopt(curl, CURLOPT_CAINFO, http->certificates);
    if (!http->bearer && http->user) {
        curl_easy_setopt(curl, CURLOPT_USERNAME, http->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, http->password ? http->password : "");
    }
}

static void set_body(CURL *curl, const struct gw_http_request *request)
{
    if (request->file) {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_READDATA, request->file);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->file_bytes);
    } else if (request->body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(request->body));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

int gw_http_send(struct gw_http *http, const struct gw_http_request *request,
                 struct gw_http_answer *answer, struct gw_error *error)
{
    struct body body = {0};
    char *url = NULL;
    if (asprintf(&url, "%s%s", http->url, request->path) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    struct curl_slist *headers =
        curl_slist_append(NULL, request->file ? "Content-Type: application/octet-stream"
                                              : "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");
    if (http->bearer)
        headers = curl_slist_append(headers, http->bearer);
    set_common(http);
    set_body(http->curl, request);
    curl_easy_setopt(http->curl, CURLOPT_URL, url);
    curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(http->curl, CURLOPT_WRITEDATA, &body);
    http->words[0] = '\0';
    const CURLcode code = curl_easy_perform(http->curl);
    answer->status = 0;
    curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &answer->status);
    curl_slist_free_all(headers);
    free(url);
    answer->body = body.text ? body.text : strdup("");
    if (code == CURLE_OK && answer->body)
        return 0;
    free(answer->body);
    answer->body = NULL;
    return gw_error_set(error,
                        code == CURLE_OPERATION_TIMEDOUT    ? GW_ETIMEDOUT
                        : code == CURLE_ABORTED_BY_CALLBACK ? GW_ECANCELLED
                                                            : GW_EIO,
                        "%s", http->words[0] ? http->words : curl_easy_strerror(code));
}

char *gw_http_escape(const char *segment)
{
    char *escaped = curl_easy_escape(NULL, segment, 0), *copy = escaped ? strdup(escaped) : NULL;
    curl_free(escaped);
    return copy;
}
