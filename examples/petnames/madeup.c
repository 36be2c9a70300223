/* Made-up names. A name is one to three syllables and an ending; a stock of distinct ones is made
 * first and then drawn from by a power law, as real names are. */
#include "examples/petnames/madeup.h"

#include "examples/petnames/name.h"

#include <gangway/rng.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const onsets[] = {"b", "c", "d", "f", "g",  "h",  "j",  "k",  "l",  "m",
                                     "n", "p", "r", "s", "t",  "w",  "z",  "br", "bl", "ch",
                                     "f", "l", "m", "m", "gr", "sh", "sk", "sn", "sp", "tr"};
static const char *const vowels[] = {"a", "a", "a", "e", "e", "i", "i", "o", "o", "u", "oo", "ee"};
static const char *const codas[] = {"", "", "", "", "n", "l", "r", "s", "x", "ck", "mp", "bb"};
static const char *const endings[] = {"",   "",   "",   "a",  "ie", "y",    "o",
                                      "er", "la", "na", "bo", "ly", "ster", "bert"};
static const char *const titles[] = {"mr. ", "miss ", "sir ", "lady ", "captain "};

#define PET_PICK(rng, list) ((list)[gw_rng_below((rng), sizeof(list) / sizeof((list)[0]))])

static void make_name(struct gw_rng *rng, char name[PET_NAME_MAX + 1])
{
    size_t syllables = 1 + (gw_rng_below(rng, 10) < 4);
    size_t length = 0;
    const size_t room = PET_NAME_MAX + 1;
    name[0] = '\0';
    if (gw_rng_below(rng, 50) == 0)
        length += (size_t)snprintf(name, room, "%s", PET_PICK(rng, titles));
    for (size_t i = 0; i < syllables; i++) {
        const char *onset = PET_PICK(rng, onsets), *vowel = PET_PICK(rng, vowels);
        const char *coda = PET_PICK(rng, codas);
        length += (size_t)snprintf(name + length, room - length, "%s%s%s", onset, vowel, coda);
    }
    const char *ending = PET_PICK(rng, endings);
    if (syllables > 1 || ending[0])
        (void)snprintf(name + length, room - length, "%s", ending);
}

int pet_madeup(uint64_t seed, size_t count, char **text, size_t *length, struct gw_error *error)
{
    const size_t stock_count = count / 2 + 1, width = PET_NAME_MAX + 1;
    char *stock = malloc(stock_count * width), *made = malloc(count * width + 1);
    if (!stock || !made) {
        free(stock);
        free(made);
        return gw_error_set(error, GW_ENOMEM, "no memory for %zu made-up names", count);
    }
    struct gw_rng rng;
    gw_rng_init(&rng, seed);
    for (size_t i = 0; i < stock_count; i++)
        make_name(&rng, stock + i * width);

    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        double u = gw_rng_uniform(&rng); /* the density of u^3 favours the front of the stock */
        const char *name = stock + (size_t)(u * u * u * (double)stock_count) * width;
        size_t bytes = strlen(name);
        memcpy(made + at, name, bytes);
        made[at + bytes] = '\n';
        at += bytes + 1;
    }
    made[at] = '\0';
    free(stock);
    *text = made;
    *length = at;
    return 0;
}
