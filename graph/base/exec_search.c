/* Lists the files that a search in PATH tries. The list is one allocation: first the pointers, then
 * the texts. */
#include "graph/base/exec_search.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
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

const char *gw_exec_search_hint(const char *cwd, const char *name,
                                char text[static GW_EXEC_HINT_ROOM])
{
    char path[PATH_MAX];
    const size_t length = strlen(name);
    const bool is_python = length > 3 && strcmp(name + length - 3, ".py") == 0;
    *text = '\0';
    if (!strchr(name, '/') &&
        (size_t)snprintf(path, sizeof path, "%s/%s", *cwd ? cwd : ".", name) < sizeof path &&
        access(path, F_OK) == 0)
        (void)snprintf(text, GW_EXEC_HINT_ROOM, ": did you mean %s%.80s?",
                       is_python                 ? "python3 "
                       : access(path, X_OK) == 0 ? "./"
                                                 : "sh ",
                       name);
    else if (strpbrk(name, " ;|&<>$"))
        (void)snprintf(text, GW_EXEC_HINT_ROOM, ": words of a shell are typed as sh -c 'WORDS'");
    return text;
}
