/* Finds the word that a mistyped word is most similar to. */
#include "client/cli/lib/nearest.h"

#include <stdint.h>
#include <string.h>

enum { WORD_MAX = 32 };

/* Returns the number of edits (insert, delete, replace, swap of neighbours) that change a into b.
 */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), cost[WORD_MAX + 1][WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            size_t best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (cost[i - 1][j] + 1 < best)
                best = cost[i - 1][j] + 1;
            if (cost[i][j - 1] + 1 < best)
                best = cost[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                cost[i - 2][j - 2] + 1 < best)
                best = cost[i - 2][j - 2] + 1;
            cost[i][j] = best;
        }
    }
    return cost[n][m];
}

const char *gw_nearest_word(const char *word, const char *(*next)(void *arg, size_t i), void *arg)
{
    const char *best = NULL, *candidate;
    size_t length = strlen(word), best_distance = length < 4 ? 2 : length / 3 + 2;
    if (length < 3)
        return NULL; /* short words are all similar to each other */
    for (size_t i = 0; (candidate = next(arg, i)); i++) {
        size_t d = distance(word, candidate);
        if (d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    }
    return best;
}
