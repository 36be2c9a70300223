/* Builds the command line of a daemon. Words are borrowed; numbers are formatted into the struct.
 */
#include "client/deploy/argv.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

void gw_argv_add(struct gw_argv *argv, const char *word)
{
    assert(argv->count + 1 < GW_ARGV_MAX);
    argv->words[argv->count++] = word;
}

void gw_argv_add_text(struct gw_argv *argv, const char *option, const char *value)
{
    if (!value || !*value)
        return;
    gw_argv_add(argv, option);
    gw_argv_add(argv, value);
}

void gw_argv_add_number(struct gw_argv *argv, const char *option, uint64_t number)
{
    assert(argv->number_count < GW_ARGV_NUMBERS_MAX);
    char *text = argv->numbers[argv->number_count++];
    (void)snprintf(text, GW_ARGV_NUMBER_BYTES, "%" PRIu64, number);
    gw_argv_add(argv, option);
    gw_argv_add(argv, text);
}
