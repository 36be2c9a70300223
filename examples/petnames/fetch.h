/* Files from the web, fetched once a host and kept under ${XDG_CACHE_HOME:-~/.cache}/gangway/. */
#ifndef GW_EXAMPLES_PETNAMES_FETCH_H
#define GW_EXAMPLES_PETNAMES_FETCH_H

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { PET_FETCH_REDIRECTS_MAX = 3, PET_FETCH_CONNECT_S = 5 };

struct pet_fetch_options {
    const char *url;
    bool http_allowed; /* also without encryption; else https only, for redirects too */
    size_t bytes_max;  /* of the file, as it comes */
    long seconds_max;  /* for all of it; connecting gets PET_FETCH_CONNECT_S */
};

/* pet_fetch gives back the path of the cached file, which it fetches first where there is none.
 * Blocks; processes that want the same URL wait for the first of them. The file appears whole or
 * not at all. GW_EINVAL (not an allowed URL), GW_EIO (network, with curl's words), GW_ENOENT (HTTP
 * status, named), GW_ETIMEDOUT, GW_ELIMIT (too large). */
int pet_fetch(const struct pet_fetch_options *options, char path[PATH_MAX], struct gw_error *error);

/* pet_fetch_is_url says whether a data source is a URL, of whatever kind, and not a file. */
bool pet_fetch_is_url(const char *source);

#endif
