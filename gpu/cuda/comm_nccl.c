/* Opens libgangway-cuda.so once per process and calls its functions. A machine without the module,
 * NCCL or a driver is a normal case: the functions return GW_ENOTSUP, and the text says what is
 * missing. */
#include "gpu/cuda/module.h"

#include "gpu/base/module.h"
#include "gpu/host/segment.h"
#include "graph/base/options_read.h"

#include <dlfcn.h>
#include <gangway/version.h>
#include <pthread.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct gw_cuda_module *module; /* NULL: unusable; `reason` says why */
static struct gw_error reason;

static void module_find(void)
{
    const struct gw_cuda_module *(*entry)(void);
    void *handle = gw_module_open(
        GW_CUDA_MODULE_FILE); /* never closed: the threads of NCCL do not allow unloading */
    if (!handle) {
        gw_error_set(&reason, GW_ENOTSUP, "cannot load NCCL: %s", dlerror());
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

/* Checks that this rank can use NCCL and its device. */
static int own_check(const struct gw_comm_nccl_options *options, struct gw_error *error)
{
    (void)pthread_once(&once, module_find);
    return module ? module->device_check(options->device, error)
                  : gw_error_set(error, reason.code, "%s", reason.text);
}

int gw_comm_nccl_kernels(const struct gw_kernel_device **kernels, struct gw_error *error)
{
    (void)pthread_once(&once, module_find);
    if (!module)
        return gw_error_set(error, reason.code, "%s", reason.text);
    *kernels = module->kernels;
    return 0;
}

int gw_comm_nccl_side_copy(const struct gw_side_copy_device **side_copy, struct gw_error *error)
{
    (void)pthread_once(&once, module_find);
    if (!module)
        return gw_error_set(error, reason.code, "%s", reason.text);
    *side_copy = module->side_copy;
    return 0;
}

/* Before any rank starts NCCL, all ranks check that all of them can. Otherwise they would wait for
 * a rank without a GPU. */
int gw_comm_open_nccl(const struct gw_comm_nccl_options *given, struct gw_comm **comm,
                      struct gw_error *error)
{
    struct gw_comm_nccl_options read;
    const struct gw_comm_nccl_options *options = &read;
    int rc = GW_OPTIONS_READ(&read, given, gw_comm_nccl_options, error);
    if (rc < 0)
        return rc;
    struct gw_comm *host = options->host;
    struct gw_error own = {.code = 0};
    int32_t worst = 0;
    if (!host || !host->backend->meet)
        return gw_error_set(error, GW_EINVAL,
                            "gw_comm_open_nccl needs a communicator of the host backend");
    const struct gw_segment_call call = {.verb = GW_COMM_JOIN,
                                         .send_at = GW_SEGMENT_NOWHERE,
                                         .recv_at = GW_SEGMENT_NOWHERE,
                                         .status = own_check(options, &own)};
    gw_comm_set_timeout(host, options->timeout_ns);
    gw_comm_backend_begin(host, GW_COMM_JOIN);
    rc = host->backend->meet(host, &call, &worst, error);
    if (rc == 0 && call.status < 0)
        rc = gw_error_set(error, own.code, "%s", own.text);
    else if (rc == 0 && worst < 0)
        rc = gw_error_set(error, gw_comm_worst_code(worst), "rank %d cannot use NCCL (%s)",
                          gw_comm_worst_rank(worst), gw_error_text(gw_comm_worst_code(worst)));
    else if (rc == 0)
        rc = module->comm_open(options, comm, error);
    gw_comm_backend_end(host);
    return rc;
}
