/* Made-up pet names, for machines without data: syllables put together by a few rules, some names
 * far more popular than others. */
#ifndef GW_EXAMPLES_PETNAMES_MADEUP_H
#define GW_EXAMPLES_PETNAMES_MADEUP_H

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

/* pet_madeup gives back count names, one a line, as text that the caller frees; the same for a seed
 * on every machine. GW_ENOMEM. */
int pet_madeup(uint64_t seed, size_t count, char **text, size_t *length, struct gw_error *error);

#endif
