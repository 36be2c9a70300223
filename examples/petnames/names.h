/* Pet names: read from a file or the web, or made up; cleaned; split into training and held-out.
 *
 * A source is one name a line, or CSV with a header (the first line has a comma, or is a known
 * header alone); either may be gzip'ed. Cleaning: letters to lower case, accents off (é to e, Latin
 * letters), apostrophes out, runs of white space or '_' to one blank, blanks at the ends out. A
 * name with anything else (digits, brackets, other scripts) or longer than PET_NAME_MAX is dropped.
 * Equal names become one with a count. Every tenth distinct name, by a hash of its letters, is held
 * out: the same on every machine and whatever else the file holds. */
#ifndef GW_EXAMPLES_PETNAMES_NAMES_H
#define GW_EXAMPLES_PETNAMES_NAMES_H

#include "examples/petnames/name.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pet_names {
    struct pet_name *names; /* [name_count], distinct, sorted by text */
    size_t name_count;
    size_t held_out_count; /* of them */
    size_t accepted_count; /* names in the source that were kept, duplicates counted */
    size_t dropped_count;  /* and those that were not */
    char source[512];      /* where they come from, for a person */
};

struct pet_names_options {
    const char *data;   /* a file or a URL; NULL: names are made up */
    const char *column; /* of a CSV; NULL: "Animal's Name", "Pet Name" or "Name" */
    bool http_allowed;  /* URLs may be http, unencrypted */
    uint64_t seed;      /* of made-up names */
    size_t made_up;     /* how many to make up; 0: PET_MADE_UP_DEFAULT */
};

enum { PET_MADE_UP_DEFAULT = 20000 };

/* pet_names_load gives back names for pet_names_free; blocks while it fetches. Errors name the
 * source and what to do: those of pet_fetch, GW_ENOENT and GW_EIO (cannot read), GW_ECORRUPT
 * (malformed CSV or gzip, not text, no usable column), GW_EINVAL (no name in it), GW_ELIMIT. */
int pet_names_load(const struct pet_names_options *options, struct pet_names **names,
                   struct gw_error *error);

/* pet_names_free frees names; NULL is fine. */
void pet_names_free(struct pet_names *names);

/* pet_names_find returns a name by its cleaned text; NULL where there is none. */
const struct pet_name *pet_names_find(const struct pet_names *names, const char *text);

/* Which names make samples, and how often each. */
enum pet_names_part {
    PET_TRAIN_COUNT, /* training names as often as the source has them */
    PET_TRAIN_ROOT,  /* n times in the source: the root of n times, rounded up. Popular names weigh
                        more than rare ones, without drowning them: what the model trains on */
    PET_HELD_OUT,    /* held-out names, once each */
};

/* pet_names_samples gives back all samples (see alphabet.h) of a part, every prefix of every name
 * and its end, in order of the names. The caller frees them. GW_EINVAL where the part has no name;
 * GW_ENOMEM. */
int pet_names_samples(const struct pet_names *names, enum pet_names_part part, uint64_t **samples,
                      size_t *count, struct gw_error *error);

/* pet_names_clean writes the cleaned form of raw[length], 1 to PET_NAME_MAX characters; false where
 * the name is dropped. */
bool pet_names_clean(const char *raw, size_t length, char text[PET_NAME_MAX + 1]);

/* pet_names_is_held_out says on which side of the split a cleaned name is. */
bool pet_names_is_held_out(const char *text);

#endif
