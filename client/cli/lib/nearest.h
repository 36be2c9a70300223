/* Suggestions for mistyped words. */
#ifndef GW_CLI_NEAREST_H
#define GW_CLI_NEAREST_H

#include <stddef.h>

/* gw_nearest_word returns the candidate that a mistyped word probably means, or NULL. `next`
 * returns the candidates one by one, then NULL. */
const char *gw_nearest_word(const char *word, const char *(*next)(void *arg, size_t i), void *arg);

#endif
