/* Parses words that options of `submit` and `dispatch` take. The caller reports errors, because it
 * knows where the word was written. */
#include "client/cli/launch/launch_word.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

bool gw_launch_word_gpus(const char *text, struct gw_task_options *task)
{
    char *end;
    double number = strtod(text, &end);
    task->gpu.count = 0;
    task->gpu.fraction = 0;
    if (strcmp(text, "any") == 0)
        task->gpu.count = GW_GPU_IF_ANY;
    else if (end == text || *end || !(number >= 0 && number <= 1024))
        return false;
    else if (number == (int32_t)number)
        task->gpu.count = (int32_t)number;
    else
        task->gpu.fraction = number;
    return number < 1 || task->gpu.fraction == 0;
}

bool gw_launch_word_bind(const char *text, struct gw_task_options *task)
{
    task->gpu.unbound = strcmp(text, "none") == 0;
    return task->gpu.unbound || strcmp(text, "near") == 0;
}

bool gw_launch_word_signal(const char *text, uint32_t *number)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (end != text && !*end && value > 0 && value < NSIG) {
        *number = (uint32_t)value;
        return true;
    }
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (int i = 1; i < NSIG; i++)
        if (sigabbrev_np(i) && strcmp(sigabbrev_np(i), name) == 0) {
            *number = (uint32_t)i;
            return true;
        }
    return false;
}
