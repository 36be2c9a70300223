/* Lists the files that a search in PATH tries. The list is one allocation: first the pointers, then
 * the texts. */
#include "graph/base/exec_search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char **gw_exec_search_new(const char *name, const char *path)
{
    const char *usual = "/usr/local/bin:/usr/bin:/bin";
    const char *search = strchr(name, '/') ? NULL : path ? path : usual;
    size_t count = 1, length = strlen(name);
    for (const char *c = search; c && *c; c++)
        count += *c == ':';
    size_t bytes = (search ? strlen(search) : 0) + count * (length + 3);
    char **list = calloc(1, (count + 1) * sizeof *list + bytes);
    if (!list)
        return NULL;
    char *out = (char *)(list + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t directory = search ? strcspn(search, ":") : 0;
        list[i] = out;
        if (search)
            out +=
                sprintf(out, "%.*s/", (int)(directory ? directory : 1), directory ? search : ".");
        out += sprintf(out, "%s", name) + 1;
        if (search)
            search += directory + (search[directory] == ':');
    }
    return list;
}

int gw_exec_search_refusal(const char *name, const char *path, int why)
{
    char **list = why == EACCES && !strchr(name, '/') ? gw_exec_search_new(name, path) : NULL;
    int refusal = list ? ENOENT : why;
    for (char **one = list; one && *one; one++)
        if (access(*one, F_OK) == 0)
            refusal = why;
    free(list);
    return refusal;
}
