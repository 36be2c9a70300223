/* Search for a program: the files that exec tries for a name, in order. */
#ifndef GW_BASE_EXEC_SEARCH_H
#define GW_BASE_EXEC_SEARCH_H

/* gw_exec_search_new lists the files. If the name has a slash, the list is the name itself.
 * Otherwise it has one file for each folder of `path` (a PATH; NULL: the system's default). An
 * empty folder means ".". The list is NULL-terminated and one allocation, which the caller frees.
 * Returns NULL if out of memory. */
char **gw_exec_search_new(const char *name, const char *path);

/* gw_exec_search_refusal returns why exec failed after it searched `path`; `why` is the errno of
 * exec. It returns ENOENT instead of EACCES if the file does not exist in any folder but a folder
 * could not be searched. Shells do the same. */
int gw_exec_search_refusal(const char *name, const char *path, int why);

/* gw_exec_search_hint writes what was probably meant by the name of a program that does not exist:
 * a file of the working folder `cwd` ("": the present one), or words of a shell. It returns `text`,
 * which is empty or begins with ": ". */
enum { GW_EXEC_HINT_ROOM = 160 };
const char *gw_exec_search_hint(const char *cwd, const char *name,
                                char text[static GW_EXEC_HINT_ROOM]);

#endif
