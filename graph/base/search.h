/* Where a program may lie: the files that exec tries for a name, in order. */
#ifndef GW_BASE_SEARCH_H
#define GW_BASE_SEARCH_H

/* gw_search_new lists them: the name itself where it has a slash, else one in each folder of `path`
 * (a PATH; NULL: the system's usual one), an empty one being ".". NULL-terminated, in one
 * allocation, which the caller frees; NULL where there is no memory. */
char **gw_search_new(const char *name, const char *path);

/* gw_search_refusal is why exec, which searched `path`, failed with errno `why`: ENOENT in place of
 * EACCES if there is no such file, but a folder that may not be searched. Shells say the same. */
int gw_search_refusal(const char *name, const char *path, int why);

#endif
