/* The training task of the pet-names examples: one function, run once in every rank of a gang.
 *
 * It takes one argument, made by pet_trainer_argument, and gives, from rank 0, a dict that
 * pet_trainer_read_result reads. Rank 0 prints a line an epoch. */
#ifndef GW_EXAMPLES_PETNAMES_TRAINER_H
#define GW_EXAMPLES_PETNAMES_TRAINER_H

#include <gangway/gangway.h>

GW_TASK_DECLARE(pet_trainer);

struct pet_trainer_options {
    const char *size;       /* "demo" or "article" */
    const char *data;       /* file or URL; "": made-up names */
    const char *column;     /* of a CSV; NULL: the usual ones */
    bool http_allowed;      /* the URL may be http, unencrypted */
    const char *checkpoint; /* file that gets a copy of each checkpoint; NULL: "task-INDEX" in the
                               job's folder */
    bool resume;            /* go on from that file where it is there */
    bool gpu;               /* train on GPUs: the gang has one for each rank */
    const char *precision;  /* of products on GPUs: "f32" (also NULL), "bf16" or "f16" */
    int64_t batch;          /* samples of a step, of all ranks together */
    int64_t epochs;
    int64_t steps; /* ends after so many, whatever the epochs; 0: no limit */
    double lr;
    int64_t seed;
    bool by_epoch; /* report "held_out" of each epoch, with the number of the epoch as step; false:
                      "loss" of each step */
};

/* pet_trainer_recipe fills size, batch, epochs and lr with what trains a size well on `ranks`
 * ranks; the batch is a multiple of them. GW_EINVAL for a size that is not known. */
int pet_trainer_recipe(const char *size, uint32_t ranks, struct pet_trainer_options *options,
                       struct gw_error *error);

/* pet_trainer_argument makes the task's argument; NULL when out of memory. */
struct gw_value *pet_trainer_argument(const struct pet_trainer_options *options);

/* What training gave. */
struct pet_trainer_result {
    double held_out_loss; /* nats a character */
    double samples_per_s; /* of all ranks together */
    double train_seconds;
};

/* pet_trainer_read_result reads a task's value (borrowed); GW_EINVAL with text. */
int pet_trainer_read_result(const struct gw_value *value, struct pet_trainer_result *result,
                            struct gw_error *error);

#endif
