/* See alloc.h: what the linker's --wrap puts in place of the allocation functions. */
#include "tests/unit/alloc.h"

#include <stddef.h>

static int64_t left = -1;
static uint64_t asked;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);

void gw_alloc_fail_after(int64_t count)
{
    left = count;
    asked = 0;
}

uint64_t gw_alloc_count(void)
{
    return asked;
}

static int refused(void)
{
    asked++;
    if (left < 0)
        return 0;
    if (left == 0)
        return 1;
    left--;
    return 0;
}

void *__wrap_malloc(size_t bytes)
{
    return refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return refused() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return refused() ? NULL : __real_realloc(memory, bytes);
}

char *__wrap_strdup(const char *text)
{
    return refused() ? NULL : __real_strdup(text);
}
