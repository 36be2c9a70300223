/* Memory files for attempts that have not begun. The list is short, so a linear search is enough.
 */
#include "worker/runner/given.h"

#include <string.h>
#include <unistd.h>

static void let_go(const struct gw_task_result_given *given)
{
    if (given->fd >= 0)
        close(given->fd);
}

int gw_givens_add(struct gw_givens *givens, uint64_t attempt, struct gw_task_result_given given)
{
    const struct gw_given item = {attempt, given};
    if (gw_array_push(&givens->items, item) < 0) {
        let_go(&given);
        return GW_ENOMEM;
    }
    return 0;
}

void gw_givens_take(struct gw_givens *givens, uint64_t attempt, struct gw_task_result *result)
{
    for (size_t i = givens->items.count; i-- > 0;) {
        const struct gw_given item = givens->items.items[i];
        if (item.attempt != attempt)
            continue;
        givens->items.count--;
        memmove(&givens->items.items[i], &givens->items.items[i + 1],
                (givens->items.count - i) * sizeof item);
        if (result)
            gw_task_result_give(result, item.given);
        else
            let_go(&item.given);
        result = NULL;
    }
}

void gw_givens_clear(struct gw_givens *givens)
{
    const struct gw_given *item;
    GW_ARRAY_EACH (&givens->items, item)
        let_go(&item->given);
    gw_array_clear(&givens->items);
}
