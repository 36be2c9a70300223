/* Which names to train on, where the user leaves the choice to us. */
#ifndef GW_EXAMPLES_PETNAMES_SOURCE_H
#define GW_EXAMPLES_PETNAMES_SOURCE_H

#include <gangway/error.h>
#include <limits.h>

/* pet_source_choose turns a --data argument into what pet_names_load takes, and into an absolute
 * path where it is a file, because ranks may run in another folder. "auto": the file that
 * $GANGWAY_PETNAMES names, else the city of Seattle's pet licences from the web (fetched once, then
 * cached), else "" for made-up names; `why` then says which it was and why. NULL or "": made-up
 * names. GW_ENOENT where a file is not there, GW_EINVAL where a path is too long. Blocks while it
 * fetches. */
int pet_source_choose(const char *data, char source[PATH_MAX], char why[512],
                      struct gw_error *error);

#endif
