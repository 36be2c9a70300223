/* The relations of the fields of each message. The first field of a relation determines the rows.
 */
#include "graph/wire/relation.h"

#include <stddef.h>

enum { HASH_BYTES = 32 };

#define AT(field) offsetof(struct gw_message, field)
#define ROWS(x, y)                                                                                 \
    {                                                                                              \
        GW_RELATION_ROWS, AT(x), AT(y)                                                             \
    }
#define CUTS(x, y)                                                                                 \
    {                                                                                              \
        GW_RELATION_CUTS, AT(x), AT(y)                                                             \
    }
#define HASH(x)                                                                                    \
    {                                                                                              \
        GW_RELATION_HASH, AT(x), AT(x)                                                             \
    }
#define HASHES(x)                                                                                  \
    {                                                                                              \
        GW_RELATION_HASHES, AT(x), AT(x)                                                           \
    }
#define END                                                                                        \
    {                                                                                              \
        .kind = 0                                                                                  \
    }

static const struct gw_relation none[] = {END};

static const struct gw_relation program[] = {HASH(program.hash), END};
static const struct gw_relation blob_want[] = {HASHES(blob_want.hashes), END};
static const struct gw_relation blob[] = {HASH(blob.hash), END};
static const struct gw_relation program_ready[] = {HASH(program_ready.hash), END};

static const struct gw_relation submit[] = {
    ROWS(submit.spec, submit.args_size),
    ROWS(submit.spec, submit.dep_count),
    CUTS(submit.args_size, submit.args),
    CUTS(submit.dep_count, submit.dep_job),
    ROWS(submit.dep_job, submit.dep_index),
    ROWS(submit.dep_job, submit.dep_rank),
    ROWS(submit.named, submit.name_size),
    CUTS(submit.name_size, submit.names),
    END,
};

static const struct gw_relation done[] = {
    ROWS(done.request, done.index),     ROWS(done.request, done.rank),
    ROWS(done.request, done.bytes),     ROWS(done.request, done.value_size),
    CUTS(done.value_size, done.values), END,
};

static const struct gw_relation release[] = {
    ROWS(release.job, release.index),
    ROWS(release.job, release.rank),
    END,
};

static const struct gw_relation registration[] = {
    ROWS(registration.object_job, registration.object_index),
    ROWS(registration.object_job, registration.object_rank),
    ROWS(registration.object_job, registration.object_bytes),
    ROWS(registration.object_job, registration.object_attempt),
    ROWS(registration.attempt, registration.attempt_rank),
    ROWS(registration.attempt, registration.attempt_job),
    ROWS(registration.attempt, registration.attempt_index),
    ROWS(registration.attempt, registration.attempt_claim),
    ROWS(registration.attempt, registration.attempt_world),
    ROWS(registration.attempt, registration.attempt_ran_ns),
    ROWS(registration.attempt, registration.attempt_gpu_count),
    CUTS(registration.attempt_gpu_count, registration.attempt_gpus),
    END,
};

static const struct gw_relation assign[] = {
    ROWS(assign.job, assign.index),
    ROWS(assign.job, assign.spec),
    ROWS(assign.job, assign.attempt),
    ROWS(assign.job, assign.try_number),
    ROWS(assign.job, assign.rank),
    ROWS(assign.job, assign.gpu_count),
    ROWS(assign.job, assign.args_size),
    ROWS(assign.job, assign.dep_count),
    CUTS(assign.gpu_count, assign.gpus),
    CUTS(assign.args_size, assign.args),
    CUTS(assign.dep_count, assign.dep_job),
    ROWS(assign.dep_job, assign.dep_index),
    ROWS(assign.dep_job, assign.dep_rank),
    ROWS(assign.dep_job, assign.dep_bytes),
    ROWS(assign.dep_job, assign.dep_worker),
    ROWS(assign.dep_job, assign.dep_value_size),
    CUTS(assign.dep_value_size, assign.dep_values),
    END,
};

static const struct gw_relation started[] = {ROWS(started.attempt, started.rank), END};

static const struct gw_relation finished[] = {
    ROWS(finished.attempt, finished.rank),       ROWS(finished.attempt, finished.bytes),
    ROWS(finished.attempt, finished.value_size), ROWS(finished.attempt, finished.run_ns),
    CUTS(finished.value_size, finished.values),  END,
};

static const struct gw_relation failures[] = {ROWS(failures.attempt, failures.run_ns), END};

static const struct gw_relation measured[] = {
    ROWS(measured.attempt, measured.bytes), ROWS(measured.attempt, measured.rank),
    ROWS(measured.attempt, measured.cpu_ns), ROWS(measured.attempt, measured.so_far_ns), END};

static const struct gw_relation range[] = {
    ROWS(range.dep_job, range.dep_index),
    ROWS(range.dep_job, range.dep_rank),
    END,
};

static const struct gw_relation gpu_usage[] = {
    ROWS(gpu_usage.used_bytes, gpu_usage.processes),
    ROWS(gpu_usage.used_bytes, gpu_usage.power_mw),
    ROWS(gpu_usage.used_bytes, gpu_usage.busy_percent),
    ROWS(gpu_usage.used_bytes, gpu_usage.clearing),
    END,
};

static const struct gw_relation after[] = {ROWS(after.job, after.any), END};

const struct gw_relation *gw_relation_of(uint32_t type)
{
    switch (type) {
#define OF(message)                                                                                \
    case GW_MESSAGE_##message:                                                                     \
        return message;
        OF(program)
        OF(blob_want)
        OF(blob)
        OF(program_ready)
        OF(submit)
        OF(done)
        OF(release)
        OF(registration)
        OF(assign)
        OF(started)
        OF(finished)
        OF(failures)
        OF(measured)
        OF(range)
        OF(after)
        OF(gpu_usage)
    default:
        return none;
    }
}

/* Bins and columns of both widths have the same layout: data, then a count or size. */
_Static_assert(offsetof(struct gw_bin, size) == offsetof(struct gw_col32, count), "same layout");
_Static_assert(offsetof(struct gw_bin, size) == offsetof(struct gw_col64, count), "same layout");

static struct gw_col32 field_at(const struct gw_message *message, uint16_t offset)
{
    struct gw_col32 field;
    __builtin_memcpy(&field, (const char *)message + offset, sizeof field);
    return field;
}

bool gw_relation_holds(const struct gw_relation *relation, const struct gw_message *message)
{
    struct gw_col32 a = field_at(message, relation->a);
    struct gw_col32 b = field_at(message, relation->b);
    switch (relation->kind) {
    case GW_RELATION_ROWS:
        return a.count == b.count;
    case GW_RELATION_CUTS: {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < a.count; i++)
            sum += gw_col32_at(a, i);
        return sum == b.count;
    }
    case GW_RELATION_HASH:
        return a.count == HASH_BYTES;
    case GW_RELATION_HASHES:
        return a.count % HASH_BYTES == 0;
    }
    return false;
}
