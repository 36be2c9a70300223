/* Values of options, as texts. */
#ifndef GW_CLI_OPTION_VALUE_H
#define GW_CLI_OPTION_VALUE_H

#include <gangway/error.h>

struct gw_option;

/* gw_option_value_store parses the text of a value and stores it where the option says. The option
 * borrows the text. GW_EINVAL: a bad value; the error text begins with "--NAME VALUE". */
int gw_option_value_store(const struct gw_option *option, const char *text, struct gw_error *error);

#endif
