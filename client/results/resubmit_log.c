/* Resubmit logs. Invariants: a log is in `names` as long as it exists. Names count up, so the
 * inputs of a log have lower names than the log itself. */
#include "client/results/resubmit_log.h"

#include "graph/wire/enums.h"
#include "graph/wire/frame.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RECORDED_BYTES_MAX = 1 << 30,
    RECORDED_FILES_MAX = 256
}; /* limits for all logs of a client together */

#define NAME_BIT (UINT64_C(1) << 63)

/* Names are shared by all clients of the process, because a graph may be built with the futures of
 * one client and submitted by another. */
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gw_map names; /* name -> struct gw_resubmit_log * */
static uint64_t last_name = NAME_BIT;

static struct gw_resubmit_log *find(uint64_t name)
{
    uint64_t found;
    return name & NAME_BIT && gw_map_get(&names, name, &found)
               ? (struct gw_resubmit_log *)(uintptr_t)found
               : NULL;
}

struct gw_resubmit_log *gw_resubmit_log_new(struct gw_client *client, uint64_t request)
{
    struct gw_resubmit_log *record = client->home ? calloc(1, sizeof *record) : NULL;
    if (!record)
        return NULL;
    *record = (struct gw_resubmit_log){.client = client, .refs = 1, .request = request, .fd = -1};
    pthread_mutex_lock(&names_lock);
    record->name = ++last_name;
    int rc = gw_map_put(&names, record->name, (uintptr_t)record);
    pthread_mutex_unlock(&names_lock);
    if (rc == 0)
        return record;
    free(record);
    return NULL;
}

/* Frees the contents of a log. Input logs without other references are added to *list. */
static void clear(struct gw_resubmit_log *record, struct gw_resubmit_log **list)
{
    struct gw_client *client = record->client;
    struct gw_buffer *frame;
    struct gw_resubmit_log **input;
    GW_ARRAY_EACH (&record->frames, frame)
        gw_buffer_deinit(frame);
    gw_array_deinit(&record->frames);
    client->recorded_bytes -= record->bytes;
    record->bytes = 0;
    if (record->fd >= 0) {
        close(record->fd);
        client->recorded_files--;
    }
    record->fd = -1;
    GW_ARRAY_EACH (&record->inputs, input) {
        if (--(*input)->refs > 0)
            continue;
        (*input)->next = *list;
        *list = *input;
    }
    gw_array_deinit(&record->inputs);
    gw_map_deinit(&record->input_names);
}

/* Frees logs with a list and without recursion, because a chain of a million tasks is a chain of as
 * many logs. */
static void free_all(struct gw_resubmit_log *list)
{
    while (list) {
        struct gw_resubmit_log *record = list;
        list = record->next;
        pthread_mutex_lock(&names_lock);
        (void)gw_map_remove(&names, record->name);
        pthread_mutex_unlock(&names_lock);
        clear(record, &list);
        free(record);
    }
}

void gw_resubmit_log_unref(struct gw_resubmit_log *record)
{
    if (!record || --record->refs > 0)
        return;
    record->next = NULL;
    free_all(record);
}

struct gw_resubmit_log *gw_resubmit_log_find(uint64_t name)
{
    pthread_mutex_lock(&names_lock);
    struct gw_resubmit_log *record = find(name);
    pthread_mutex_unlock(&names_lock);
    return record;
}

void gw_resubmit_log_let_go(struct gw_client *client, uint64_t name)
{
    struct gw_resubmit_log *record = gw_resubmit_log_find(name);
    uint64_t job = gw_resubmit_log_job(name);
    if (job && client->io && !client->closed && !client->lost)
        (void)gw_io_release(client->io, job, 0);
    if (record && record->client == client) {
        record->held = false;
        gw_resubmit_log_unref(record);
    }
}

static void cut(struct gw_resubmit_log *record)
{
    struct gw_resubmit_log *list = NULL;
    pthread_mutex_lock(&record->client->lock);
    record->cut = true;
    clear(record, &list);
    free_all(list);
    pthread_mutex_unlock(&record->client->lock);
}

/* -- Storing messages ---------------------------------------------------------------------------
 */

static int add_input(struct gw_resubmit_log *record, uint64_t name)
{
    if (gw_map_get(&record->input_names, name, NULL))
        return 0;
    int rc = gw_map_put(&record->input_names, name, 1);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&record->client->lock);
    struct gw_resubmit_log *input = gw_resubmit_log_find(name);
    if (input && input->client == record->client &&
        (rc = gw_array_push(&record->inputs, input)) == 0)
        input->refs++;
    pthread_mutex_unlock(&record->client->lock);
    return rc;
}

static int add_inputs(struct gw_resubmit_log *record, const struct gw_message *message)
{
    if (message->type != GW_MESSAGE_submit)
        return 0;
    uint64_t last = 0;
    int rc = 0;
    for (uint32_t i = 0; i < message->submit.dep_job.count && rc == 0; i++) {
        uint64_t name = gw_col64_at(message->submit.dep_job, i);
        if (name & NAME_BIT && name != last)
            rc = add_input(record, name);
        last = name;
    }
    return rc;
}

/* Reserves bytes of the client's budget. Returns false if they do not fit. */
static bool reserve_bytes(struct gw_resubmit_log *record, size_t bytes)
{
    struct gw_client *client = record->client;
    pthread_mutex_lock(&client->lock);
    bool fits = bytes <= RECORDED_BYTES_MAX - client->recorded_bytes;
    if (fits) {
        client->recorded_bytes += bytes;
        record->bytes += bytes;
    }
    pthread_mutex_unlock(&client->lock);
    return fits;
}

static bool record_file(struct gw_resubmit_log *record, int fd)
{
    struct gw_client *client = record->client;
    pthread_mutex_lock(&client->lock);
    record->fd = client->recorded_files < RECORDED_FILES_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    client->recorded_files += record->fd >= 0;
    pthread_mutex_unlock(&client->lock);
    return record->fd >= 0;
}

void gw_resubmit_log_add(struct gw_resubmit_log *record, const struct gw_message *message, int fd)
{
    if (record->cut)
        return;
    struct gw_buffer frame = {0};
    bool recorded = gw_message_encode(message, 0, &frame) == 0 &&
                    reserve_bytes(record, frame.size) && (fd < 0 || record_file(record, fd)) &&
                    add_inputs(record, message) == 0;
    if (recorded) {
        uint8_t *tight = realloc(frame.data, frame.size);
        frame.data = tight ? tight : frame.data;
        recorded = gw_array_push(&record->frames, frame) == 0;
    }
    if (recorded)
        return;
    gw_buffer_deinit(&frame);
    cut(record);
}

/* -- Names ---------------------------------------------------------------------------------------
 */

void gw_resubmit_log_accept(struct gw_resubmit_log *record, uint64_t job)
{
    pthread_mutex_lock(&names_lock);
    record->job = job;
    record->life = record->client->life;
    pthread_mutex_unlock(&names_lock);
}

/* Returns the job number for a name. names_lock is held. */
static uint64_t job_of(uint64_t name)
{
    if (!(name & NAME_BIT))
        return name;
    const struct gw_resubmit_log *record = find(name);
    return record && record->life == record->client->life ? record->job : 0;
}

uint64_t gw_resubmit_log_job(uint64_t name)
{
    pthread_mutex_lock(&names_lock);
    uint64_t job = job_of(name);
    pthread_mutex_unlock(&names_lock);
    return job;
}

int gw_resubmit_log_rename(struct gw_message *message, uint64_t **room)
{
    const struct gw_col64 jobs = message->submit.dep_job;
    uint32_t i = 0;
    *room = NULL;
    while (i < jobs.count && !(gw_col64_at(jobs, i) & NAME_BIT))
        i++;
    if (i == jobs.count)
        return 0;
    *room = malloc(jobs.count * sizeof **room);
    if (!*room)
        return GW_ENOMEM;
    int rc = 0;
    pthread_mutex_lock(&names_lock);
    for (i = 0; i < jobs.count; i++) {
        uint64_t name = gw_col64_at(jobs, i);
        (*room)[i] = job_of(name);
        if (name && !(*room)[i])
            rc = GW_ENOENT;
    }
    pthread_mutex_unlock(&names_lock);
    message->submit.dep_job.data = *room;
    return rc;
}

/* -- Sending again ------------------------------------------------------------------------------
 */

static int decode(const struct gw_buffer *frame, struct gw_arena *arena, struct gw_message *message)
{
    return gw_message_decode(frame->data + GW_FRAME_HEADER_BYTES,
                             frame->size - GW_FRAME_HEADER_BYTES, arena, message, NULL);
}

static int say_frame(const struct gw_resubmit_log *record, const struct gw_message *recorded,
                     uint32_t life)
{
    struct gw_io *io = record->client->io;
    struct gw_message message = *recorded;
    uint64_t *room = NULL;
    int fd = -1, rc = 0;
    if (message.type == GW_MESSAGE_submit) {
        message.submit.flags &=
            ~(uint32_t)GW_SUBMIT_QUIET; /* the reconnect thread waits for the answer */
        rc = gw_resubmit_log_rename(&message, &room);
    }
    if (rc == 0 && record->fd >= 0 && (fd = fcntl(record->fd, F_DUPFD_CLOEXEC, 0)) < 0)
        rc = GW_ENOMEM;
    if (rc == 0 && (rc = gw_io_room(io)) < 0 && fd >= 0)
        close(fd);
    if (rc == 0)
        rc = gw_io_put_in(io, (struct gw_io_manner){.life = life}, &message, fd);
    free(room);
    return rc;
}

int gw_resubmit_log_say(const struct gw_resubmit_log *record, uint32_t life)
{
    const struct gw_buffer *frame;
    struct gw_arena arena = {0};
    int rc = 0;
    GW_ARRAY_EACH (&record->frames, frame) {
        struct gw_message message;
        rc = decode(frame, &arena, &message);
        if (rc == 0)
            rc = say_frame(record, &message, life);
        if (rc < 0)
            break;
    }
    gw_arena_deinit(&arena);
    return rc;
}

void gw_resubmit_log_targets(const struct gw_resubmit_log *record,
                             void (*on_row)(uint32_t row, void *arg), void *arg)
{
    const struct gw_buffer *frame;
    struct gw_arena arena = {0};
    GW_ARRAY_EACH (&record->frames, frame) {
        struct gw_message message;
        if (decode(frame, &arena, &message) < 0)
            continue;
        if (message.type == GW_MESSAGE_scatter)
            on_row(0, arg);
        for (uint32_t i = 0; message.type == GW_MESSAGE_submit && i < message.submit.targets.count;
             i++)
            on_row(gw_col32_at(message.submit.targets, i), arg);
    }
    gw_arena_deinit(&arena);
}

static int compare(const void *a, const void *b)
{
    const struct gw_resubmit_log *first = *(struct gw_resubmit_log *const *)a;
    const struct gw_resubmit_log *second = *(struct gw_resubmit_log *const *)b;
    return first->name < second->name ? -1 : first->name > second->name;
}

int gw_resubmit_log_list(const struct gw_client *client, struct gw_resubmit_log ***records,
                         size_t *count)
{
    size_t at = 0, found = 0;
    uint64_t name, value;
    pthread_mutex_lock(&names_lock);
    struct gw_resubmit_log **list = malloc((names.count + 1) * sizeof *list);
    while (list && gw_map_next(&names, &at, &name, &value)) {
        struct gw_resubmit_log *record = (struct gw_resubmit_log *)(uintptr_t)value;
        if (record->client != client || !(record->job || record->left))
            continue;
        record->refs++;
        list[found++] = record;
    }
    pthread_mutex_unlock(&names_lock);
    if (!list)
        return GW_ENOMEM;
    qsort(list, found, sizeof(struct gw_resubmit_log *), compare);
    *records = list;
    *count = found;
    return 0;
}
