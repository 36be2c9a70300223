/* Quotes texts of users in explanations. */
#include "scheduler/core/view/quote.h"

#include <string.h>

void gw_explain_quote(struct gw_text *text, const char *quoted)
{
    while (quoted && *quoted) {
        const size_t length = strcspn(quoted, ";");
        gw_text_say(text, "%.*s", (int)length, quoted);
        quoted += length;
        if (*quoted) {
            gw_text_say(text, "%c", GW_EXPLAIN_QUOTED);
            quoted++;
        }
    }
}
