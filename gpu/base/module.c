/* Finds and opens modules. */
#include "gpu/base/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the folder of the file that contains this code, or NULL. */
static char *own_folder(char path[PATH_MAX])
{
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)gw_module_open, &info) || !info.dli_fname)
        return NULL;
    /* A name without a slash is argv[0] of a program that was found in PATH. It must not be looked
     * up in the working directory. */
    if (!realpath(strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe", path))
        return NULL;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash ? path : NULL;
}

/* Tries the folder itself and the lib/ folder beside it. */
static void *open_in(const char *folder, const char *file)
{
    static const char *const places[] = {"", "/../lib"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(path, sizeof path, "%s%s/%s", folder, places[i], file);
        void *handle = length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (handle)
            return handle;
    }
    return NULL;
}

void *gw_module_open(const char *file)
{
    char path[PATH_MAX];
    const char *own = own_folder(path), *binaries = getenv("GANGWAY_BINARY_DIR");
    void *handle = own ? open_in(own, file) : NULL;
    if (!handle && binaries)
        handle = open_in(binaries, file);
    return handle ? handle : dlopen(file, RTLD_NOW | RTLD_LOCAL);
}
