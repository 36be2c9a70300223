/* Writes transition tables as Graphviz. This is not in sm.c, because the pure cores write no files.
 */
#include "graph/base/sm.h"

#include <inttypes.h>

void gw_sm_diagram(const struct gw_sm *sm, FILE *out)
{
    fprintf(out, "digraph \"%s\" {\n", sm->name);
    for (unsigned from = 0; from < sm->count; from++)
        fprintf(out, "    \"%s\";\n", gw_sm_name(sm, from));
    for (unsigned from = 0; from < sm->count; from++)
        for (unsigned to = 0; to < sm->count; to++) {
            if (!gw_sm_may(sm, from, to))
                continue;
            fprintf(out, "    \"%s\" -> \"%s\"", gw_sm_name(sm, from), gw_sm_name(sm, to));
            uint64_t taken = sm->taken ? sm->taken[from * sm->count + to] : 0;
            if (taken)
                fprintf(out, " [label=\"%" PRIu64 "\"]", taken);
            fputs(";\n", out);
        }
    fputs("}\n", out);
}
