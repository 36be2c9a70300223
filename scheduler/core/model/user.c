/* Names of users. */
#include "scheduler/core/model/user.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *find(const struct gw_sched *sched, uint32_t uid)
{
    uint64_t value;
    return gw_map_get(&sched->users, uid, &value) ? (const char *)(uintptr_t)value : NULL;
}

void gw_user_seen(struct gw_sched *sched, uint32_t uid, const char *name)
{
    const char *known = find(sched, uid);
    if (name && *name && (!known || strcmp(known, name) != 0))
        GW_FACT(sched, user_named, .uid = uid, .name = name);
}

void gw_sched_apply_user_named(struct gw_sched *sched, const struct gw_fact_user_named *fact)
{
    uint64_t before;
    char *name = strdup(fact->name);
    GW_MUST_PTR(name);
    if (gw_map_get(&sched->users, fact->uid, &before))
        free((char *)(uintptr_t)before);
    GW_MUST(gw_map_put(&sched->users, fact->uid, (uintptr_t)name));
}

const char *gw_user_name(const struct gw_sched *sched, uint32_t uid, char text[GW_USER_NAME_MAX])
{
    const char *name = find(sched, uid);
    if (name)
        return name;
    (void)snprintf(text, GW_USER_NAME_MAX, "%u", uid);
    return text;
}

bool gw_user_is(const struct gw_sched *sched, uint32_t uid, const char *word)
{
    char number[GW_USER_NAME_MAX];
    const char *name = find(sched, uid);
    (void)snprintf(number, sizeof number, "%u", uid);
    return (name && strcmp(name, word) == 0) || strcmp(number, word) == 0;
}

void gw_users_deinit(struct gw_sched *sched)
{
    size_t at = 0;
    uint64_t uid, name;
    while (gw_map_next(&sched->users, &at, &uid, &name))
        free((char *)(uintptr_t)name);
    gw_map_deinit(&sched->users);
}
