/* Makes, formats and parses tokens. No error text contains a secret. */
#include "graph/wire/token.h"

#include "graph/wire/hash.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define TEXT_PREFIX "gangway-"

static const char *const role_names[] = {
    [GW_TOKEN_USER] = "user", [GW_TOKEN_WORKER] = "worker", [GW_TOKEN_ADMIN] = "admin"};

const char *gw_token_role_name(enum gw_token_role role)
{
    return role_names[role];
}

int gw_token_role_parse(const char *text, enum gw_token_role *role, struct gw_error *error)
{
    for (int i = 0; i < GW_TOKEN_ROLES; i++)
        if (strcmp(text, role_names[i]) == 0) {
            *role = (enum gw_token_role)i;
            return 0;
        }
    return gw_error_set(error, GW_EINVAL, "\"%.32s\" is no role: user, worker or admin", text);
}

bool gw_token_is_user(const char *user)
{
    size_t length = strlen(user);
    if (length == 0 || length > GW_TOKEN_USER_MAX || !isalnum((unsigned char)*user))
        return false;
    for (const char *c = user; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return false;
    return true;
}

bool gw_token_is_id(const char *id)
{
    return strlen(id) == GW_TOKEN_ID_BYTES - 1 &&
           strspn(id, "0123456789abcdef") == GW_TOKEN_ID_BYTES - 1;
}

int gw_token_make(const char *user, enum gw_token_role role, uint64_t now_s, struct gw_token *token,
                  struct gw_error *error)
{
    struct gw_token made = {.role = role, .created_s = now_s};
    uint8_t random[GW_TOKEN_SECRET_BYTES + GW_TOKEN_ID_BYTES / 2];
    if (!gw_token_is_user(user))
        return gw_error_set(error, GW_EINVAL,
                            "\"%.64s\" is no user's name: letters, digits, '.', '_' and '-', at "
                            "most %d, a letter or digit first",
                            user, GW_TOKEN_USER_MAX);
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return gw_error_set(error, GW_EIO, "no random numbers: %s", strerror(errno));
    strcpy(made.user, user);
    memcpy(made.secret, random, sizeof made.secret);
    for (int i = 0; i < GW_TOKEN_ID_BYTES / 2; i++)
        (void)snprintf(made.id + 2 * i, 3, "%02x", random[GW_TOKEN_SECRET_BYTES + i]);
    *token = made;
    explicit_bzero(random, sizeof random);
    explicit_bzero(&made, sizeof made);
    return 0;
}

uint32_t gw_token_number(const char *name)
{
    uint8_t hash[GW_HASH_BYTES];
    gw_hash_bytes(name, strlen(name), hash);
    return UINT32_C(0x80000000) | (uint32_t)hash[0] << 16 | (uint32_t)hash[1] << 8 | hash[2] |
           (uint32_t)(hash[3] & 0x7f) << 24;
}

void gw_token_format(const struct gw_token *token, char text[GW_TOKEN_TEXT_BYTES])
{
    char secret[GW_HASH_TEXT_BYTES];
    gw_hash_format(token->secret, secret);
    (void)snprintf(text, GW_TOKEN_TEXT_BYTES, TEXT_PREFIX "%s-%s", token->id, secret);
    explicit_bzero(secret, sizeof secret);
}

int gw_token_parse(const char *text, struct gw_token *token, struct gw_error *error)
{
    enum { PREFIX = sizeof TEXT_PREFIX - 1, ID = GW_TOKEN_ID_BYTES - 1 };
    struct gw_token read = {0};
    text += strspn(text, " \t\r\n");
    size_t bytes = strcspn(text, " \t\r\n");
    bool whole = bytes == PREFIX + ID + 1 + GW_HASH_TEXT_BYTES - 1 &&
                 text[bytes + strspn(text + bytes, " \t\r\n")] == '\0' &&
                 memcmp(text, TEXT_PREFIX, PREFIX) == 0 && text[PREFIX + ID] == '-' &&
                 gw_hash_parse(text + PREFIX + ID + 1, read.secret);
    if (whole)
        memcpy(read.id, text + PREFIX, ID);
    if (!whole || !gw_token_is_id(read.id))
        return gw_error_set(
            error, GW_EINVAL,
            "this is not a token (%zu characters): a token is the line that `gangway "
            "token create` prints, " TEXT_PREFIX "...",
            bytes);
    *token = read;
    explicit_bzero(&read, sizeof read);
    return 0;
}
