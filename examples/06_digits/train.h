/* The training task of the example: one function, run in every rank of a gang. */
#ifndef GW_EXAMPLES_DIGITS_TRAIN_H
#define GW_EXAMPLES_DIGITS_TRAIN_H

#include <gangway/gangway.h>

GW_TASK_DECLARE(digits_train);

struct digits_train_options {
    const char *net;       /* "convnet" or "residual" */
    const char *optimizer; /* "sgd", "adam", "lars" */
    const char *precision; /* "f32", "bf16", "f16": of parameters and gradients */
    const char *data;      /* folder with MNIST's files; "": drawn digits */
    bool gpu;              /* train on GPUs: the gang has one for each rank */
    bool plateau;  /* the rate falls if the held-out loss no longer does; else by a cosine */
    int64_t batch; /* images of a step, of all ranks together; at least one for each */
    int64_t epochs;
    double lr;     /* of one rank */
    int64_t ranks; /* the rate is multiplied by it, however many ranks an attempt has */
    int64_t seed;
};

/* digits_train_argument makes the argument of the task; NULL if out of memory. */
struct gw_value *digits_train_argument(const struct digits_train_options *options);

/* What the task returns. */
struct digits_train_result {
    double accuracy; /* part of the held-out images, 0 to 1 */
    double loss;     /* of the held-out images, nats */
    double images_per_s;
};

/* digits_train_read_result reads the value of the task, which is borrowed. GW_EINVAL. */
int digits_train_read_result(const struct gw_value *value, struct digits_train_result *result,
                             struct gw_error *error);

#endif
