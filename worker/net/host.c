/* The driver of the worker's core: it delivers events, carries out effects, and runs one timer for
 * the core's deadline.
 *
 * Invariants: at most one step of the core is in progress, and events that occur meanwhile wait for
 * its end. The timer is set for the core's deadline or earlier. It is set again only if the
 * deadline becomes earlier, which saves time for short tasks. */
#include "worker/net/host.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/machine.h"
#include "graph/base/text.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "worker/net/checkpoints/orphaned_files.h"
#include "worker/net/checkpoints/transfer.h"
#include "worker/net/checkpoints/watch.h"
#include "worker/net/effects.h"
#include "worker/net/link/reconnect.h"
#include "worker/net/link/send.h"
#include "worker/net/link/step.h"
#include "worker/net/peers.h"
#include "worker/net/tasks/held.h"
#include "worker/net/tasks/metric_reader.h"
#include "worker/net/tasks/report_socket.h"
#include "worker/net/tasks/runners.h"
#include "worker/net/tasks/supervisor.h"
#include "worker/net/tasks/survey.h"
#include "worker/net/tasks/task_socket.h"
#include "worker/net/tasks/tunnels.h"
#include "worker/net/tasks/users.h"
#include "worker/store/spillfile.h"

#include <assert.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/un.h>
#include <unistd.h>

/* -- Steps ---------------------------------------------------------------------------------------
 */

static void host_exit(struct gw_host *host);

static void host_on_tick(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    host->armed_ns = UINT64_MAX;
    (void)gw_host_step(host, &(struct gw_event){.type = GW_EVENT_TICK});
}

static void arm(struct gw_host *host)
{
    uint64_t deadline_ns = gw_node_core_deadline_ns(host->core);
    if (deadline_ns >= host->armed_ns)
        return;
    uint64_t now_ns = gw_clock_now_ns();
    uint64_t wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    host->armed_ns = deadline_ns;
    uv_update_time(host->loop);
    (void)uv_timer_start(&host->tick, host_on_tick, (wait_ns + GW_NS_PER_MS - 1) / GW_NS_PER_MS, 0);
}

static void host_on_step(struct gw_host *host)
{
    if (host->exiting)
        host_exit(host);
    else
        arm(host);
    if (!host->exiting)
        gw_tunnels_look(host->tunnels);
}

/* -- Callbacks of the parts ----------------------------------------------------------------------
 */

static void cache_on_ready(const uint8_t *hash, const char *folder, int code, const char *text,
                           void *arg)
{
    struct gw_host *host = arg;
    if (code < 0)
        gw_log_warn("cannot get the program of a task from the scheduler: %s", text);
    gw_step_later(host, &(struct gw_event){.type = GW_EVENT_PROGRAM,
                                           .hash = {hash, GW_HASH_BYTES},
                                           .user = folder,
                                           .code = code,
                                           .text = text});
}

static void cache_on_folder(uint64_t number, int code, const char *text, void *arg)
{
    struct gw_host *host = arg;
    if (code < 0)
        gw_log_warn("cannot get the files of a task from the scheduler: %s", text);
    gw_step_later(host, &(struct gw_event){
                            .type = GW_EVENT_FOLDER, .number = number, .code = code, .text = text});
}

static void cache_on_counted(uint64_t number, uint64_t bytes, uint64_t free_bytes, void *arg)
{
    gw_step_later(arg, &(struct gw_event){.type = GW_EVENT_COUNTED,
                                          .number = number,
                                          .bytes = bytes,
                                          .free_bytes = free_bytes});
}

static void disk_on_event(const struct gw_event *event, int fd, void *arg)
{
    struct gw_host *host = arg;
    struct gw_event told = *event;
    uint64_t token;
    if (host->exiting) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (fd >= 0) {
        GW_MUST(gw_tokens_add(&host->tokens, fd, &token));
        told.tokens = &token;
        told.token_count = 1;
    }
    (void)gw_host_step(host, &told);
}

static void usage_watched(uint64_t process, struct gw_node_watched *watched, void *arg)
{
    const struct gw_host *host = arg;
    gw_node_core_watched(host->core, process, watched);
}

static void usage_on_measured(const struct gw_event *event, void *arg)
{
    (void)gw_host_step(arg, event);
}

static void gpus_on_seen(const struct gw_event *event, void *arg)
{
    (void)gw_host_step(arg, event);
}

static void health_on_checked(const struct gw_event *event, void *arg)
{
    (void)gw_host_step(arg, event);
}

/* -- Start and end -------------------------------------------------------------------------------
 */

/* Returns an identity of this machine. Containers have names of their own, but share the GPUs of
 * their machine. The boot id tells machines apart. */
static const char *read_machine(char *to, size_t bytes)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool well = file && fgets(to, (int)bytes, file);
    if (file)
        (void)fclose(file);
    if (!well)
        return NULL;
    to[strcspn(to, "\n")] = '\0';
    return to;
}

/* Opens the GPUs of this machine, keeps the part that this worker uses, and logs which GPUs these
 * are. */
static void open_devices(struct gw_host *host)
{
    struct gw_error error;
    char text[1024];
    struct gw_text uuids = {text, sizeof text, 0};
    size_t count, in_all;
    if (gw_devices_open(getenv("GANGWAY_NVML"), &host->devices, &error) < 0)
        gw_log_warn("this machine's GPUs are not used: %s", error.text);
    if (host->devices && gw_devices_left_out(host->devices))
        gw_log_warn("not all of this machine's GPUs are used: %s",
                    gw_devices_left_out(host->devices));
    if (!host->devices || !host->options.parts)
        return;
    (void)gw_devices_list(host->devices, &in_all);
    gw_devices_select_part(host->devices, host->options.part, host->options.parts);
    const struct gw_device *devices = gw_devices_list(host->devices, &count);
    for (size_t i = 0; i < count; i++)
        gw_text_say(&uuids, "%s%s", i ? ", " : ": ", devices[i].uuid);
    gw_log_info("this worker uses %zu of this machine's %zu GPUs%s", count, in_all,
                count ? text : "");
    if (count == 0) {
        gw_devices_close(host->devices);
        host->devices = NULL;
    }
}

/* Finds the GPUs of this worker. They belong to the first worker of a cluster on this machine. If
 * `gangway up` starts several workers, each has its own part of the GPUs. */
static uint32_t find_gpus(struct gw_host *host, struct gw_node_gpu gpus[GW_DEVICES_MAX])
{
    char path[PATH_MAX], part[24] = "";
    if (host->options.parts)
        (void)snprintf(part, sizeof part, "-%u", host->options.part);
    (void)snprintf(path, sizeof path, "%s/gpus%s.lock", host->options.dir, part);
    host->gpu_lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (host->gpu_lock_fd < 0 || flock(host->gpu_lock_fd, LOCK_EX | LOCK_NB) < 0)
        return 0;
    open_devices(host);
    if (!host->devices)
        return 0;
    size_t count;
    struct gw_device_state states[GW_DEVICES_MAX];
    const struct gw_device *devices = gw_devices_list(host->devices, &count);
    gw_devices_look(host->devices, states);
    for (size_t i = 0; i < count; i++)
        gpus[i] = (struct gw_node_gpu){
            .uuid = devices[i].uuid,
            .name = devices[i].name,
            .memory_bytes = devices[i].memory_bytes,
            .nvlink_domain = devices[i].nvlink_domain,
            .bridge = devices[i].bridge,
            .numa_node = devices[i].numa_node,
            .cpus = devices[i].cpus,
            .physical_gpu = devices[i].physical_gpu,
            .used_bytes = states[i].used_bytes,
            .processes = states[i].processes,
        };
    return (uint32_t)count;
}

/* Prepares the folder for spilled results. If there is none, the worker logs a warning and works
 * without spilling. */
static void open_disk(struct gw_host *host)
{
    struct gw_error error;
    if (gw_spillfile_folder(host->options.spill_dir, host->options.dir, host->spill_dir,
                            &host->spill_lock_fd, &error) < 0) {
        gw_log_warn("results cannot be written to disk when memory is short: %s", error.text);
        host->spill_dir[0] = '\0';
        return;
    }
    host->disk =
        gw_disk_new(&(struct gw_disk_options){host->loop, host->spill_dir, disk_on_event, host});
}

/* Returns which checks are run. */
static uint32_t health_checks(const struct gw_host_options *options)
{
    return !options->health_interval_ms ? 0
           : options->health_check      ? (1U << GW_HEALTH_CHECKS) - 1
                                        : (1U << GW_HEALTH_SCRIPT) - 1;
}

static void open_health(struct gw_host *host)
{
    const struct gw_host_options *options = &host->options;
    if (!options->health_interval_ms)
        return;
    host->health = gw_health_checks_new(
        &(struct gw_health_checks_options){.loop = host->loop,
                                           .folder = options->dir,
                                           .script = options->health_check,
                                           .name = options->name,
                                           .interval_ms = options->health_interval_ms,
                                           .timeout_ms = options->health_timeout_ms,
                                           .on_checked = health_on_checked,
                                           .arg = host});
}

static void new_core(struct gw_host *host)
{
    struct gw_node_gpu gpus[GW_DEVICES_MAX];
    char name[256], machine[64];
    cpu_set_t ours; /* a container or taskset may allow fewer processors than the machine has */
    int cores = sched_getaffinity(0, sizeof ours, &ours) == 0 ? CPU_COUNT(&ours) : 0;
    const struct gw_memory_lines *lines = &host->options.memory;
    if (gethostname(name, sizeof name) < 0)
        strcpy(name, "localhost");
    name[sizeof name - 1] = '\0';
    uint64_t part = host->options.slots, all = host->options.slots_in_all;
    host->memory_bytes =
        (lines->limit_bytes ? lines->limit_bytes : gw_machine_memory_bytes()) / all * part;
    struct gw_node_options options = {
        .slots = host->options.slots,
        .cores = (uint32_t)((uint64_t)cores * part / all),
        .memory_bytes = host->memory_bytes,
        .target_permille = lines->target,
        .spill_permille = lines->spill,
        .pause_permille = lines->pause,
        .terminate_permille = lines->terminate,
        .descriptors_max = gw_machine_descriptors_for_values(),
        .spills_off = !host->disk,
        .gpus = gpus,
        .gpu_count = find_gpus(host, gpus),
        .gpus_watched = true,
        .host = name,
        .machine = read_machine(machine, sizeof machine),
        .address = host->peers_address,
        .interface = host->options.interface,
        .private_socket = host->options.private_cluster ? host->scheduler_path : NULL,
        .log_dir = host->log_dir,
        .checkpoint_dir = host->checkpoint_dir,
        .binary_dir = *host->binary_dir ? host->binary_dir : NULL,
        .resources = host->options.resources,
        .retained_bytes_max = host->options.retained_bytes_max,
        .all_users = host->options.trust_users || host->options.separate_users,
        .separate_users = host->options.separate_users,
        .uid = geteuid(),
        .far = host->options.connect != NULL,
        .orphan_ns = host->options.orphan_ms ? host->options.orphan_ms * GW_NS_PER_MS : 1,
        .health_checks = health_checks(&host->options),
    };
    host->core = gw_node_core_new(&options);
}

/* Chooses the path of the socket for other workers: in the worker's folder, or beside the
 * scheduler's socket if that path is too long for a socket. */
static void place_peers(struct gw_host *host)
{
    char path[GW_ENDPOINT_TEXT_MAX];
    int n = snprintf(host->peers_address, PATH_MAX, "%s/worker-%d.sock", host->options.dir,
                     (int)getpid());
    if (n < (int)sizeof((struct sockaddr_un *)0)->sun_path ||
        gw_endpoint_follow(host->scheduler_path, path, NULL) < 0)
        return;
    (void)snprintf(host->peers_address, PATH_MAX, "%.*s/worker-%d.sock",
                   (int)(strrchr(path, '/') - path), path, (int)getpid());
}

static int make_paths(struct gw_host *host, struct gw_error *error)
{
    const char *dir = host->options.dir;
    const struct {
        char *path;
        const char *name;
    } paths[] = {{host->scheduler_path, "scheduler.sock"},
                 {host->log_dir, "logs"},
                 {host->checkpoint_dir, "checkpoints"}};
    if (host->options.connect)
        (void)snprintf(host->scheduler_path, PATH_MAX, "%s", host->options.connect);
    for (size_t i = host->options.connect ? 1 : 0; i < sizeof paths / sizeof *paths; i++)
        if (snprintf(paths[i].path, PATH_MAX, "%s/%s", dir, paths[i].name) >= PATH_MAX)
            return gw_error_set(error, GW_EINVAL,
                                "%s: the path, or a path below it, is longer than %d bytes", dir,
                                PATH_MAX - 1);
    if (host->options.peers)
        (void)snprintf(host->peers_address, PATH_MAX, "%s", host->options.peers);
    else
        place_peers(host);
    ssize_t length = readlink("/proc/self/exe", host->binary_dir, PATH_MAX - 1);
    host->binary_dir[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(host->binary_dir, '/');
    if (slash)
        *slash = '\0';
    int rc = gw_dir_make(host->log_dir, error);
    return rc < 0 ? rc : gw_dir_make(host->checkpoint_dir, error);
}

int gw_host_open(uv_loop_t *loop, const struct gw_host_options *options, struct gw_host **opened,
                 struct gw_error *error)
{
    struct gw_host *host = calloc(1, sizeof *host);
    GW_MUST_PTR(host);
    host->loop = loop;
    host->execute = gw_effects_execute;
    host->stepped = host_on_step;
    host->link_callbacks = (struct gw_link_callbacks){gw_peers_on_message, gw_peers_on_close, NULL};
    host->options = *options;
    host->next_peer = 1;
    host->leases.loop = loop;
    host->armed_ns = UINT64_MAX;
    host->gpu_lock_fd = host->spill_lock_fd = -1;
    if (getrandom(&host->incarnation, sizeof host->incarnation, GRND_NONBLOCK) < 0)
        host->incarnation = gw_clock_wall_ns() ^ (uint64_t)getpid();
    host->incarnation >>= 1;
    int rc = make_paths(host, error);
    const struct gw_cache_options cache = {
        .dir = options->dir,
        .files_bytes_max = options->files_bytes_max,
        .callbacks = {gw_host_send_scheduler, cache_on_ready, cache_on_folder, cache_on_counted,
                      host},
    };
    if (rc == 0)
        rc = gw_cache_open(loop, &cache, &host->cache, error);
    if (rc == 0)
        rc = gw_users_check(host, error);
    if (rc == 0)
        rc = gw_peers_listen(host, error);
    if (rc < 0) {
        if (host->cache)
            gw_cache_close(host->cache);
        free(host);
        return rc;
    }
    open_disk(host);
    host->usage =
        gw_usage_new(&(struct gw_usage_options){loop, usage_watched, usage_on_measured, host});
    new_core(host);
    if (host->devices)
        host->gpus =
            gw_gpus_new(&(struct gw_gpus_options){loop, host->devices, gpus_on_seen, host});
    open_health(host);
    host->follow = gw_follow_new(
        &(struct gw_follow_options){loop, host->core, host->log_dir, host->incarnation,
                                    gw_host_send_scheduler, gw_held_on_read, host});
    host->tunnels = gw_tunnels_new(host);
    host->transfers = gw_transfers_new(host);
    gw_orphaned_files_open(host);
    host->watches = gw_watches_new(host);
    uv_timer_t *timers[] = {&host->tick,        &host->lazy, &host->reconnect_timer,
                            &host->hello_timer, &host->beat, &host->sweep_timer,
                            &host->metric_timer};
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        (void)uv_timer_init(loop, timers[i]);
        timers[i]->data = host;
    }
    gw_host_reconnect_init(host, gw_peers_link_gone);
    *opened = host;
    (void)gw_host_step(host,
                       &(struct gw_event){.type = GW_EVENT_START, .number = host->incarnation});
    rc = gw_supervisor_start(host, error);
    if (rc < 0) {
        host->exiting = true;
        host_exit(host);
        return rc;
    }
    host->reconnect_ms = 200;
    gw_peers_connect_scheduler(host);
    return 0;
}

void gw_host_configure(struct gw_host *host, const struct gw_host_options *options)
{
    const struct gw_memory_lines *lines = &options->memory;
    if (host->exiting)
        return;
    host->options.health_check = options->health_check;
    host->options.health_interval_ms = options->health_interval_ms;
    host->options.health_timeout_ms = options->health_timeout_ms;
    if (host->health)
        gw_health_checks_close(host->health);
    host->health = NULL;
    open_health(host);
    gw_node_core_limit(host->core,
                       &(struct gw_node_options){.target_permille = lines->target,
                                                 .spill_permille = lines->spill,
                                                 .pause_permille = lines->pause,
                                                 .terminate_permille = lines->terminate,
                                                 .health_checks = health_checks(options)});
    (void)gw_host_step(host, &(struct gw_event){.type = GW_EVENT_TICK});
}

/* Closes everything. The supervisor ends after its connection has closed and its last process has
 * ended. */
static void host_exit(struct gw_host *host)
{
    if (uv_is_closing((uv_handle_t *)&host->tick))
        return;
    gw_peers_close(host);
    gw_relays_close(&host->relays);
    gw_lease_deinit(&host->leases);
    gw_cache_close(host->cache);
    gw_follow_close(host->follow);
    gw_tunnels_close(host->tunnels);
    gw_transfers_close(host->transfers);
    gw_watches_close(host->watches);
    gw_host_surveys_close(host);
    gw_usage_close(host->usage);
    if (host->gpus)
        gw_gpus_close(host->gpus);
    if (host->health)
        gw_health_checks_close(host->health);
    if (host->disk)
        gw_disk_close(host->disk);
    uv_close((uv_handle_t *)&host->tick, NULL);
    uv_close((uv_handle_t *)&host->lazy, NULL);
    uv_close((uv_handle_t *)&host->sweep_timer, NULL);
    uv_close((uv_handle_t *)&host->metric_timer, NULL);
    uv_close((uv_handle_t *)&host->reconnect_timer, NULL);
    uv_close((uv_handle_t *)&host->hello_timer, NULL);
    uv_close((uv_handle_t *)&host->beat, NULL);
    gw_acceptor_close(host->acceptor);
    gw_task_socket_close(&host->task_socket);
    gw_report_sockets_close(host);
    gw_host_reconnect_close(host);
    if (!host->options.peers)
        (void)unlink(host->peers_address);
}

void gw_host_free(struct gw_host *host)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&host->runners, &at, &key, &value))
        gw_runners_free((struct gw_host_runner *)(uintptr_t)value);
    gw_node_core_free(host->core);
    gw_orphaned_files_close(host);
    gw_keyring_deinit(&host->keyring);
    gw_host_reconnect_deinit(host);
    gw_tokens_deinit(&host->tokens);
    gw_map_deinit(&host->links);
    gw_map_deinit(&host->runners);
    gw_map_deinit(&host->held);
    gw_users_free(host);
    gw_report_sockets_free(host);
    gw_metric_readers_deinit(host);
    gw_array_deinit(&host->effects.list);
    gw_arena_deinit(&host->effects.arena);
    for (size_t i = host->pending_done; i < host->pending.count; i++) {
        free(host->pending.items[i]->text);
        free(host->pending.items[i]->user);
        free(host->pending.items[i]);
    }
    gw_array_deinit(&host->pending);
    gw_devices_close(host->devices);
    if (host->gpu_lock_fd >= 0)
        close(host->gpu_lock_fd);
    struct gw_error error;
    if (host->spill_dir[0] && gw_dir_remove(host->spill_dir, &error) < 0)
        gw_log_warn("%s", error.text);
    if (host->spill_lock_fd >= 0)
        close(host->spill_lock_fd);
    free(host);
}
