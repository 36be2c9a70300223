/* The input of the launcher: requests of a worker, lists of users, and login.defs. The first byte
 * chooses. No report of a sanitizer; an accepted name is one that was listed; each refusal has a
 * text. */
#include "tests/fuzz/fuzz.h"

#include "worker/launcher/account.h"
#include "worker/launcher/allow_list.h"
#include "worker/launcher/request.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void feed_request(const uint8_t *data, size_t size)
{
    struct gw_launch_request request;
    struct gw_error error = {0};
    int rc = gw_launch_request_read(data, size, &request, &error);
    assert(rc == 0 || error.text[0]);
    if (rc == 0)
        assert(request.user[0] && strlen(request.user) <= GW_LAUNCHER_NAME_MAX &&
               !strpbrk(request.user, "/: \n"));
}

static bool is_member(const char *user, const char *group)
{
    return strcmp(user, "alice") == 0 && strcmp(group, "team") == 0;
}

static void feed_list(const char *text)
{
    struct gw_error error = {0};
    char name[GW_UNIX_NAME_MAX + 1];
    int rc = gw_allow_list_find(text, "alice", is_member, name, &error);
    assert(rc == 0 || ((rc == GW_EPERM || rc == GW_ECORRUPT) && error.text[0]));
    if (rc == 0)
        assert(name[0] && !strpbrk(name, "/: \n") &&
               (strstr(text, name) || strcmp(name, "alice") == 0) &&
               (strstr(text, "alice") || strstr(text, "@team")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long uid_min = 1000, umask = 077;
    if (size == 0)
        return 0;
    char *text = malloc(size);
    assert(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == 0)
        feed_request(data + 1, size - 1);
    else if (data[0] % 3 == 1)
        feed_list(text);
    else
        gw_account_limits(text, &uid_min, &umask);
    free(text);
    return 0;
}

size_t gw_fuzz_seed(uint32_t i, uint8_t *data, size_t room)
{
    static const char *const texts[] = {
        "\1# who may run tasks\nalice\n\tbob:robert # under another name\n@team\n",
        "\1alice:a.l-i_ce\n@others\n",
        "\2UID_MIN\t\t1000\n  UMASK 027\nSUB_UID_MIN 100000\n",
    };
    const struct gw_launch_request request = {.version = GW_LAUNCHER_VERSION, .user = "alice"};
    if (i > 3)
        return 0;
    size_t size = i == 3 ? 1 + sizeof request : strlen(texts[i]);
    assert(size <= room);
    memcpy(data, i == 3 ? "\3" : texts[i], i == 3 ? 1 : size);
    if (i == 3)
        memcpy(data + 1, &request, sizeof request);
    return size;
}
