/* The registry of task functions. Constructors fill it on one thread before main. Afterwards it is
 * only read. */
#include "worker/runner/function.h"

#include "graph/base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static GW_ARRAY(const struct gw_function *) functions;

void gw_function_register(const struct gw_function *function)
{
    const struct gw_function *other = gw_function_find(function->name);
    if (other == function)
        return;
    if (other || gw_array_push(&functions, function) < 0) {
        fprintf(stderr, "gangway: %s%s\n",
                other ? "two task functions of this program are named " : "out of memory for ",
                function->name);
        exit(2);
    }
}

const struct gw_function *gw_function_find(const char *name)
{
    for (size_t i = 0; i < functions.count; i++)
        if (strcmp(functions.items[i]->name, name) == 0)
            return functions.items[i];
    return NULL;
}

size_t gw_function_count(void)
{
    return functions.count;
}

const struct gw_function *gw_function_at(size_t i)
{
    return i < functions.count ? functions.items[i] : NULL;
}
