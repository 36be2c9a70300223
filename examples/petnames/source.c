/* Which names to train on: a file, the city's open data, or made-up ones, and a line that says so.
 */
#include "examples/petnames/source.h"

#include "examples/petnames/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seattle Pet Licenses, open data of the city of Seattle, data set jguv-t9rb. */
#define SEATTLE_URL "https://data.seattle.gov/api/views/jguv-t9rb/rows.csv?accessType=DOWNLOAD"

enum { FETCH_BYTES_MAX = 64 << 20, FETCH_SECONDS_MAX = 60 };

static int choose_file(const char *path, char source[PATH_MAX], struct gw_error *error)
{
    if (realpath(path, source))
        return 0;
    int code = errno == ENOENT || errno == ENOTDIR ? GW_ENOENT : GW_EIO;
    return gw_error_set(error, code, "cannot read names from %s: %s", path, strerror(errno));
}

static int choose_ours(char source[PATH_MAX], char why[512], struct gw_error *error)
{
    const char *named = getenv("GANGWAY_PETNAMES");
    if (named && *named) {
        (void)snprintf(why, 512, "from %.400s ($GANGWAY_PETNAMES)", named);
        return choose_file(named, source, error);
    }
    const struct pet_fetch_options fetch = {
        .url = SEATTLE_URL, .bytes_max = FETCH_BYTES_MAX, .seconds_max = FETCH_SECONDS_MAX};
    struct gw_error failed;
    if (pet_fetch(&fetch, source, &failed) == 0) {
        (void)snprintf(why, 512, "Seattle Pet Licenses, the city's open data (cached in %.300s)",
                       source);
        return 0;
    }
    *source = '\0';
    (void)snprintf(why, 512, "made up, because the open data of the city is not available: %.300s",
                   failed.text);
    return 0;
}

int pet_source_choose(const char *data, char source[PATH_MAX], char why[512],
                      struct gw_error *error)
{
    if (!data || !*data) {
        *source = '\0';
        (void)snprintf(why, 512, "made up (give --data FILE or URL for real ones)");
        return 0;
    }
    if (strcmp(data, "auto") == 0)
        return choose_ours(source, why, error);
    (void)snprintf(why, 512, "from %.400s", data);
    if (!pet_fetch_is_url(data))
        return choose_file(data, source, error);
    if (strlen(data) >= PATH_MAX)
        return gw_error_set(error, GW_EINVAL, "the URL is too long");
    strcpy(source, data);
    return 0;
}
