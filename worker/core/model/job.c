/* Jobs of this worker, their specs, and the programs that the specs name.
 *
 * Invariants: a spec lives as long as its job lists it or an attempt uses it. A job is freed when
 * all its tables are empty. */
#include "worker/core/model/job.h"

#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"

#include <stdlib.h>
#include <string.h>

struct gw_node_job *gw_core_job(struct gw_node_core *core, uint64_t id, bool make)
{
    uint64_t value;
    if (gw_map_get(&core->jobs, id, &value))
        return (struct gw_node_job *)(uintptr_t)value;
    if (!make)
        return NULL;
    struct gw_node_job *job = gw_core_alloc(sizeof *job);
    job->id = id;
    GW_MUST(gw_map_put(&core->jobs, id, (uintptr_t)job));
    return job;
}

void gw_job_tidy(struct gw_node_core *core, struct gw_node_job *job)
{
    if (job->specs.count || job->objects.count || job->fetches.count)
        return;
    gw_map_remove(&core->jobs, job->id);
    gw_job_free(job);
}

static void forget_specs(struct gw_node_job *job)
{
    for (size_t i = 0; i < job->specs.count; i++)
        if (job->specs.items[i])
            gw_spec_unref(job->specs.items[i]);
    gw_array_clear(&job->specs);
}

void gw_job_free(struct gw_node_job *job)
{
    forget_specs(job);
    gw_array_deinit(&job->specs);
    gw_map_deinit(&job->objects);
    gw_map_deinit(&job->fetches);
    free(job);
}

/* Tells each runner that knows a spec of the job to forget the job. */
static void tell_runners(struct gw_node_core *core, const struct gw_node_job *job)
{
    for (size_t p = 0; p < core->processes.count; p++) {
        struct gw_process *process = core->processes.items[p];
        bool knows = false;
        for (size_t i = 0; i < job->specs.count; i++)
            if (job->specs.items[i])
                knows |= gw_map_remove(&process->specs, job->specs.items[i]->serial);
        if (!knows || !process->link || process->reaping)
            continue;
        process->spec_last = 0;
        gw_core_send(core, process->link, GW_MESSAGE_forget)->message.forget.job = job->id;
    }
}

void gw_job_forget_specs(struct gw_node_core *core, struct gw_node_job *job)
{
    tell_runners(core, job);
    forget_specs(job);
}

/* -- Specs ---------------------------------------------------------------------------------------
 */

static struct gw_bin move_bin(uint8_t **at, struct gw_bin bin)
{
    struct gw_bin copy = {*at, bin.size};
    if (bin.size)
        memcpy(*at, bin.data, bin.size);
    *at += bin.size;
    return copy;
}

static const char *move_text(uint8_t **at, const char *text)
{
    size_t bytes = strlen(text ? text : "") + 1;
    char *copy = (char *)*at;
    memcpy(copy, text ? text : "", bytes);
    *at += bytes;
    return copy;
}

static size_t text_bytes(const char *text)
{
    return strlen(text ? text : "") + 1;
}

const char *gw_job_user(struct gw_node_core *core, const char *user)
{
    if (!user || !*user)
        return "";
    for (size_t i = 0; i < core->users.count; i++)
        if (strcmp(core->users.items[i], user) == 0)
            return core->users.items[i];
    char *copy = gw_core_strdup(user);
    GW_MUST(gw_array_push(&core->users, copy));
    return copy;
}

static struct gw_node_spec *copy_spec(struct gw_node_core *core, const struct gw_msg_spec *message)
{
    struct gw_node_spec *spec = gw_core_alloc(sizeof *spec);
    size_t bytes = (size_t)message->program.size + message->argv.size + message->env.size +
                   message->epilog.size + message->files.size + text_bytes(message->function) +
                   text_bytes(message->cwd) + text_bytes(message->resources) +
                   text_bytes(message->workers) + text_bytes(message->annotations) +
                   text_bytes(message->metrics);
    uint8_t *at = spec->block = gw_core_alloc(bytes);
    spec->job = message->key;
    spec->serial = ++core->serial;
    spec->refs = 1;
    spec->message = *message;
    spec->message.program = move_bin(&at, message->program);
    spec->message.argv = move_bin(&at, message->argv);
    spec->message.env = move_bin(&at, message->env);
    spec->message.epilog = move_bin(&at, message->epilog);
    spec->message.function = move_text(&at, message->function);
    spec->message.cwd = move_text(&at, message->cwd);
    spec->message.files = move_bin(&at, message->files);
    spec->message.resources = move_text(&at, message->resources);
    spec->message.workers = move_text(&at, message->workers);
    spec->message.annotations = move_text(&at, message->annotations);
    spec->message.metrics = move_text(&at, message->metrics);
    spec->message.user = gw_job_user(core, message->user);
    spec->message.actor_name = spec->message.job_key = spec->message.account = spec->message.queue =
        ""; /* no code of the worker reads these */
    spec->slots = message->slots == GW_NONE ? 0 : message->slots ? message->slots : 1;
    spec->cost_ns = UINT64_MAX;
    return spec;
}

static bool same_bin(struct gw_bin a, struct gw_bin b)
{
    return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

static bool same_spec(const struct gw_msg_spec *a, const struct gw_msg_spec *b)
{
    return a->kind == b->kind && a->ranks == b->ranks && a->slots == b->slots &&
           a->gpus == b->gpus && a->gpu_mode == b->gpu_mode &&
           a->time_limit_ns == b->time_limit_ns && a->grace_ns == b->grace_ns &&
           a->fail_grace_ns == b->fail_grace_ns && a->output_bytes_max == b->output_bytes_max &&
           a->inactivity_timeout_ns == b->inactivity_timeout_ns && a->actor == b->actor &&
           a->until_step == b->until_step && same_bin(a->files, b->files) &&
           same_bin(a->program, b->program) && same_bin(a->argv, b->argv) &&
           same_bin(a->env, b->env) && strcmp(a->function, b->function ? b->function : "") == 0 &&
           strcmp(a->cwd, b->cwd ? b->cwd : "") == 0 &&
           strcmp(a->user, b->user ? b->user : "") == 0;
}

static void ask_for(struct gw_node_core *core, struct gw_program *program)
{
    program->code = GW_EAGAIN;
    gw_core_effect(core, GW_EFFECT_PROGRAM)->bytes =
        (struct gw_bin){program->hash, program->hash_size + (uint32_t)strlen(program->user)};
}

bool gw_job_program_gone(struct gw_node_core *core, struct gw_program *program, uint32_t agains)
{
    if (agains != program->agains || program->code != 0)
        return true; /* another failed start has already asked for the program again */
    if (program->again)
        return false;
    program->again = true;
    program->agains++;
    ask_for(core, program);
    return true;
}

static bool is_program(const struct gw_program *program, struct gw_bin hash, const char *user)
{
    return same_bin((struct gw_bin){program->hash, program->hash_size}, hash) &&
           strcmp(program->user, user ? user : "") == 0;
}

/* Returns the program with this hash for a user. Asks the driver for the program if it is new or if
 * the last request failed. */
static struct gw_program *want_program(struct gw_node_core *core, struct gw_bin hash,
                                       const char *user)
{
    struct gw_program *program = NULL;
    for (size_t i = 0; i < core->programs.count && !program; i++)
        if (is_program(core->programs.items[i], hash, user))
            program = core->programs.items[i];
    if (program && (program->code == 0 || program->code == GW_EAGAIN))
        return program;
    if (!program) {
        program = gw_core_alloc(sizeof *program);
        program->hash = gw_core_alloc(hash.size + text_bytes(user));
        program->hash_size = hash.size;
        if (hash.size)
            memcpy(program->hash, hash.data, hash.size);
        strcpy((char *)program->hash + hash.size, user ? user : "");
        program->user = (const char *)program->hash + hash.size;
        GW_MUST(gw_array_push(&core->programs, program));
    }
    ask_for(core, program);
    return program;
}

struct gw_node_spec *gw_job_on_spec(struct gw_node_core *core, const struct gw_msg_spec *received)
{
    enum { SPECS_MAX = 1 << 24 };
    struct gw_msg_spec spec;
    const struct gw_msg_spec *message = received;
    if (!core->options.separate_users && !(received->user && !*received->user)) {
        spec = *received;
        spec.user = "";
        message = &spec;
    }
    if (message->number >= SPECS_MAX)
        return NULL; /* an assign message that names this spec will be refused */
    struct gw_node_job *job = gw_core_job(core, message->key, true);
    while (job->specs.count <= message->number)
        GW_MUST(gw_array_push(&job->specs, NULL));
    struct gw_node_spec **place = &job->specs.items[message->number];
    if (*place && same_spec(&(*place)->message,
                            message)) { /* the scheduler sends its specs again after a reconnect */
        if (message->kind == GW_SPEC_FUNCTION)
            (*place)->program = want_program(core, message->program, message->user);
        return NULL;
    }
    if (*place)
        gw_spec_unref(*place);
    *place = copy_spec(core, message);
    if (message->kind == GW_SPEC_FUNCTION)
        (*place)->program = want_program(core, message->program, message->user);
    return *place;
}

struct gw_node_spec *gw_job_spec(struct gw_node_core *core, uint64_t id, uint32_t number)
{
    struct gw_node_job *job = gw_core_job(core, id, false);
    return job && number < job->specs.count ? job->specs.items[number] : NULL;
}

void gw_spec_unref(struct gw_node_spec *spec)
{
    if (--spec->refs)
        return;
    free(spec->block);
    free(spec);
}

void gw_job_free_programs(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->programs.count; i++) {
        struct gw_program *program = core->programs.items[i];
        free(program->hash);
        free(program->path);
        free(program->text);
        free(program);
    }
    for (size_t i = 0; i < core->users.count; i++)
        free(core->users.items[i]);
    gw_array_deinit(&core->users);
    gw_array_deinit(&core->programs);
}

void gw_program_on_event(struct gw_node_core *core, const struct gw_event *event)
{
    for (size_t i = 0; i < core->programs.count; i++) {
        struct gw_program *program = core->programs.items[i];
        if (!is_program(program, event->hash, event->user))
            continue;
        program->code = event->code;
        free(program->path);
        free(program->text);
        program->path = event->code == 0 ? gw_core_strdup(event->text) : NULL;
        program->text = event->code == 0 ? NULL : gw_core_strdup(event->text);
    }
    /* gw_pump_runners fails the attempts whose program could not be fetched */
}
