/* Requests to one HTTP server, each sent once. One thread at a time. */
#ifndef GW_MLFLOW_HTTP_H
#define GW_MLFLOW_HTTP_H

#include <gangway/error.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct gw_http;

struct gw_http_request {
    const char *method;
    const char *path; /* after the URL of the server; "/api/..." */
    const char *body; /* JSON text; NULL: none */
    FILE *file;       /* in place of body: it is read to its end; NULL: none */
    size_t file_bytes;
};

struct gw_http_answer {
    long status;
    char *body; /* NUL-terminated; the caller frees it */
};

/* gw_http_new copies the URL. While *cancelled is true, requests end with GW_ECANCELLED; it is
 * borrowed. Logins come from MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and _PASSWORD.
 * GW_EINVAL: no http or https URL. */
int gw_http_new(const char *url, const atomic_bool *cancelled, struct gw_http **http,
                struct gw_error *error);
void gw_http_free(struct gw_http *http);

/* gw_http_send blocks for at most GW_HTTP_S without progress. It returns 0 if there is an answer,
 * whatever its status. GW_EIO, GW_ETIMEDOUT: the server may have done it or not. GW_ECANCELLED. */
enum { GW_HTTP_CONNECT_S = 5, GW_HTTP_S = 20, GW_HTTP_ANSWER_BYTES_MAX = 64 << 20 };
int gw_http_send(struct gw_http *http, const struct gw_http_request *request,
                 struct gw_http_answer *answer, struct gw_error *error);

/* gw_http_escape returns a segment of a path with %XX; the caller frees it. NULL: no memory. */
char *gw_http_escape(const char *segment);

#endif
