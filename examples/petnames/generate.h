/* New names, drawn from a model a character at a time. */
#ifndef GW_EXAMPLES_PETNAMES_GENERATE_H
#define GW_EXAMPLES_PETNAMES_GENERATE_H

#include "examples/petnames/model.h"
#include "examples/petnames/names.h"

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

struct pet_generate_options {
    size_t count;
    double temperature; /* above 0: 1 draws as the model says, less keeps to what is likely */
    uint64_t seed;
};

/* pet_generate writes count names, each of 1 to PET_NAME_MAX characters of the alphabet; the same
 * for a seed, up to rounding of the model. A name that reaches PET_NAME_MAX ends there. GW_EINVAL
 * (temperature), GW_ENOMEM. */
int pet_generate(const struct pet_model *model, const pet_real *parameters,
                 const struct pet_generate_options *options, char (*names)[PET_NAME_MAX + 1],
                 struct gw_error *error);

#endif
