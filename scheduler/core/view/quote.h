/* Quotes texts of users in explanations. */
#ifndef GW_SCHEDULER_CORE_QUOTE_H
#define GW_SCHEDULER_CORE_QUOTE_H

#include "graph/base/text.h"

/* The text of an explanation is a reason and further facts, separated by "; ". Texts of users,
 * which may contain the separator, are quoted: each ';' is written as this byte. */
enum { GW_EXPLAIN_QUOTED = 0x1f };

/* gw_explain_quote appends a text of a user or a program, quoted. NULL: nothing. */
void gw_explain_quote(struct gw_text *text, const char *quoted);

#endif
