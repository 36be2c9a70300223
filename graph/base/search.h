/* Where a program may lie: the files that exec tries for a name, in order. */
#ifndef GW_BASE_SEARCH_H
#define GW_BASE_SEARCH_H

/* gw_search_new lists them: the name itself where it has a slash, else one in each folder of `path`
 * (a PATH; NULL: the system's usual one), an empty one being ".". NULL-terminated, in one
 * allocation, which the caller frees; NULL where there is no memory. */
char **gw_search_new(const char *name, const char *path);

#endif
