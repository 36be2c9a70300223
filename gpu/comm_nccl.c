/* Opens libgangway-cuda.so, once a process, and hands on to it. A machine without the module, NCCL
 * or a driver is an ordinary machine: GW_ENOTSUP, and the text says what is missing. */
#include "gpu/cuda/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct gw_cuda_module *module; /* NULL: not there, and `reason` says why */
static struct gw_error reason;

/* The folder of the file that this code is in, or NULL. */
static char *own_folder(char path[PATH_MAX])
{
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)own_folder, &info) || !info.dli_fname ||
        !realpath(info.dli_fname, path))
        return NULL;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash ? path : NULL;
}

/* Beside libgangway (or a program that holds it); in lib/ beside the program's bin/; else wherever
 * the loader looks. */
static void *module_open(void)
{
    static const char *const places[] = {"", "/../lib"};
    char folder[PATH_MAX], path[PATH_MAX];
    for (size_t i = 0; own_folder(folder) && i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(path, sizeof path, "%s%s/" GW_CUDA_MODULE_FILE, folder, places[i]);
        void *handle = length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (handle)
            return handle;
    }
    return dlopen(GW_CUDA_MODULE_FILE, RTLD_NOW | RTLD_LOCAL);
}

static void module_find(void)
{
    const struct gw_cuda_module *(*entry)(void);
    void *handle = module_open(); /* for ever: NCCL's threads cannot be unloaded */
    if (!handle) {
        gw_error_set(&reason, GW_ENOTSUP, "no NCCL here: %s", dlerror());
        return;
    }
    void *symbol = dlsym(handle, GW_CUDA_MODULE_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    const struct gw_cuda_module *found = entry ? entry() : NULL;
    if (!found || strcmp(found->version, GANGWAY_VERSION) != 0)
        gw_error_set(&reason, GW_ENOTSUP, "%s is of version %s, libgangway of %s",
                     GW_CUDA_MODULE_FILE, found ? found->version : "?", GANGWAY_VERSION);
    else
        module = found;
}

int gw_comm_open_nccl(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                      struct gw_error *error)
{
    (void)pthread_once(&once, module_find);
    if (!module)
        return gw_error_set(error, reason.code, "%s", reason.text);
    return module->comm_open(options, comm, error);
}
