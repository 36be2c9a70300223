/* Drawing names. All names of a group grow together, so that a step is one batch; each name has its
 * own random sequence, so it does not matter which others it grows with. */
#include "examples/petnames/generate.h"

#include <gangway/rng.h>
#include <math.h>
#include <string.h>

enum { GROUP_MAX = 256 };

struct growing {
    char *text;
    size_t length;
    uint64_t window;
    struct gw_rng rng;
};

/* Draws a label; a name has neither its end nor a blank at its beginning, nor two blanks. */
static int draw(struct growing *name, const pet_real *probabilities, double temperature)
{
    double weights[PET_LABELS], highest = 0, sum = 0;
    for (int label = 0; label < PET_LABELS; label++)
        highest = fmax(highest, (double)probabilities[label]);
    for (int label = 0; label < PET_LABELS; label++) {
        weights[label] = pow((double)probabilities[label] / highest, 1 / temperature);
        if (label == PET_END && name->length == 0)
            weights[label] = 0;
        if (label == PET_BLANK && (name->length == 0 || name->text[name->length - 1] == ' '))
            weights[label] = 0;
        sum += weights[label];
    }
    double left = gw_rng_uniform(&name->rng) * sum;
    int last = 0;
    for (int label = 0; label < PET_LABELS; label++) {
        if (weights[label] > 0)
            last = label;
        left -= weights[label];
        if (left < 0)
            break;
    }
    return last;
}

/* Adds a label to a name; whether the name goes on. */
static bool grow(struct growing *name, int label)
{
    if (label == PET_END)
        return false;
    name->text[name->length++] = pet_character(label);
    name->text[name->length] = '\0';
    name->window = pet_window_push(name->window, label);
    return name->length < PET_NAME_MAX;
}

static void end(struct growing *name)
{
    while (name->length > 1 && name->text[name->length - 1] == ' ')
        name->text[--name->length] = '\0';
}

int pet_generate(const struct pet_model *model, const pet_real *parameters,
                 const struct pet_generate_options *options, char (*names)[PET_NAME_MAX + 1],
                 struct gw_error *error)
{
    if (!(options->temperature > 0) || options->temperature > 1e6)
        return gw_error_set(error, GW_EINVAL, "temperature %g: take one above 0, 1 say",
                            options->temperature);
    struct growing group[GROUP_MAX];
    struct pet_batch *batch = NULL;
    struct pet_workspace *workspace = NULL;
    int rc = pet_batch_new(GROUP_MAX, &batch, error);
    if (rc == 0)
        rc = pet_workspace_new(model, GROUP_MAX, &workspace, error);

    for (size_t first = 0; rc == 0 && first < options->count; first += GROUP_MAX) {
        size_t left = options->count - first, alive = left < GROUP_MAX ? left : GROUP_MAX;
        for (size_t i = 0; i < alive; i++) {
            group[i] = (struct growing){.text = names[first + i], .window = pet_window_blank()};
            group[i].text[0] = '\0';
            gw_rng_init(&group[i].rng, options->seed + (first + i) * UINT64_C(0x9e3779b97f4a7c15));
        }
        while (alive > 0) {
            uint64_t samples[GROUP_MAX];
            for (size_t i = 0; i < alive; i++)
                samples[i] = pet_sample(group[i].window, PET_END);
            pet_batch_build(batch, samples, alive);
            pet_model_forward(model, parameters, batch, workspace);
            const pet_real *rows = pet_model_probabilities(workspace);
            for (size_t i = alive; i-- > 0;) {
                size_t leaf = pet_batch_leaf_of(batch, group[i].window);
                if (!grow(&group[i],
                          draw(&group[i], rows + leaf * PET_LABELS, options->temperature))) {
                    end(&group[i]);
                    group[i] = group[--alive];
                }
            }
        }
    }
    pet_workspace_free(workspace);
    pet_batch_free(batch);
    return rc;
}
