/* See descriptors.h. */
#include "tests/unit/descriptors.h"

#include "tests/unit/unit.h"

#include <dirent.h>

static int before;

int count_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

int descriptors_setup(void **state)
{
    (void)state;
    before = count_descriptors();
    return 0;
}

int descriptors_teardown(void **state)
{
    (void)state;
    return count_descriptors() == before ? 0 : -1;
}
