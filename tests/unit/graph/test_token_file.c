/* Tokens: written tokens are read back; damaged, foreign or open files are refused with advice, and
 * no text ever contains a secret. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "graph/wire/token_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    char dir[64], path[96];
    struct gw_error error;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    strcpy(w->dir, "/tmp/gw-tokens-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    (void)snprintf(w->path, sizeof w->path, "%s/config/tokens", w->dir);
    assert_int_equal(setenv("XDG_CONFIG_HOME", w->dir, 1), 0);
    (void)unsetenv("GANGWAY_TOKEN");
    (void)unsetenv("GANGWAY_TOKEN_FILE");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    int rc = gw_dir_remove(w->dir, NULL);
    free(w);
    return rc;
}

static struct gw_token add(struct world *w, const char *user, enum gw_token_role role)
{
    struct gw_token token;
    assert_int_equal(gw_token_make(user, role, 1700000000, &token, &w->error), 0);
    assert_int_equal(gw_token_file_add(w->path, &token, &w->error), 0);
    return token;
}

static void assert_same(const struct gw_token *a, const struct gw_token *b)
{
    assert_non_null(b);
    assert_string_equal(a->id, b->id);
    assert_string_equal(a->user, b->user);
    assert_int_equal(a->role, b->role);
    assert_int_equal(a->created_s, b->created_s);
    assert_memory_equal(a->secret, b->secret, sizeof a->secret);
}

static char *slurp(const char *path, size_t *bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    *bytes = (size_t)st.st_size;
    char *data = malloc(*bytes + 1);
    assert_int_equal(read(fd, data, *bytes), *bytes);
    close(fd);
    return data;
}

static void spit(const char *path, const char *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), bytes);
    close(fd);
}

static void token_file_returns_added_and_drops_revoked_tokens(void **state)
{
    struct world *w = *state;
    struct gw_token tokens[3] = {add(w, "alice", GW_TOKEN_USER), add(w, "host-1", GW_TOKEN_WORKER),
                                 add(w, "root.2", GW_TOKEN_ADMIN)};
    struct gw_token_file file = {0};
    struct stat st;
    assert_int_equal(stat(w->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(gw_token_file_read(w->path, &file, &w->error), 0);
    assert_int_equal(file.tokens.count, 3);
    for (int i = 0; i < 3; i++)
        assert_same(&tokens[i], gw_token_file_find(&file, tokens[i].id));
    gw_token_file_deinit(&file);

    assert_int_equal(gw_token_file_revoke(w->path, tokens[1].id, &w->error), 0);
    assert_int_equal(gw_token_file_revoke(w->path, tokens[1].id, &w->error), GW_ENOENT);
    assert_int_equal(gw_token_file_read(w->path, &file, &w->error), 0);
    assert_int_equal(file.tokens.count, 2);
    assert_null(gw_token_file_find(&file, tokens[1].id));
    assert_same(&tokens[2], gw_token_file_find(&file, tokens[2].id));
    gw_token_file_deinit(&file);
}

static void token_file_with_open_permissions_is_refused(void **state)
{
    struct world *w = *state;
    struct gw_token_file file = {0};
    char link[112];
    assert_int_equal(gw_token_file_read(w->path, &file, &w->error), GW_ENOENT);
    assert_non_null(strstr(w->error.text, "gangway token create"));
    struct gw_token token = add(w, "alice", GW_TOKEN_USER);
    assert_int_equal(chmod(w->path, 0640), 0);
    assert_int_equal(gw_token_file_read(w->path, &file, &w->error), GW_EPERM);
    assert_non_null(strstr(w->error.text, "chmod 600"));
    assert_int_equal(gw_token_file_add(w->path, &token, &w->error), GW_EPERM);
    assert_int_equal(chmod(w->path, 0600), 0);
    if (geteuid() == 0) { /* another user's */
        assert_int_equal(chown(w->path, 1, 1), 0);
        assert_int_equal(gw_token_file_read(w->path, &file, &w->error), GW_EPERM);
        assert_non_null(strstr(w->error.text, "(uid 1), and this program runs as uid 0: run it"));
        assert_int_equal(chown(w->path, 0, 0), 0);
    }
    (void)snprintf(link, sizeof link, "%s/link", w->dir);
    assert_int_equal(symlink(w->path, link), 0);
    assert_int_equal(gw_token_file_read(link, &file, &w->error), GW_EIO);
    static const char *const names[] = {"",     "-x",  "a b",
                                        "a\nb", "a/b", "a23456789012345678901234567890123"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(gw_token_make(names[i], GW_TOKEN_USER, 0, &token, &w->error), GW_EINVAL);
    enum gw_token_role role;
    assert_int_equal(gw_token_role_parse("root", &role, &w->error), GW_EINVAL);
}

/* The file is truncated at every byte, and the highest bit of each byte is flipped; each variant
 * is refused. */
static void damaged_token_file_is_refused(void **state)
{
    struct world *w = *state;
    size_t bytes;
    struct gw_token alice = add(w, "alice", GW_TOKEN_USER), bob = add(w, "bob", GW_TOKEN_ADMIN);
    char *whole = slurp(w->path, &bytes), *copy = malloc(bytes + 1);
    struct gw_token_file file = {0};
    for (size_t at = 0; at < bytes; at++) {
        assert_int_equal(gw_token_file_decode(whole, at, &file, &w->error), GW_ECORRUPT);
        gw_token_file_deinit(&file);
        memcpy(copy, whole, bytes);
        copy[at] ^= 0x80;
        assert_int_equal(gw_token_file_decode(copy, bytes, &file, &w->error), GW_ECORRUPT);
        gw_token_file_deinit(&file);
    }
    spit(w->path, whole, bytes - 3);
    assert_int_equal(gw_token_file_read(w->path, &file, &w->error), GW_ECORRUPT);
    assert_non_null(strstr(w->error.text, "new tokens"));
    assert_int_equal(gw_token_file_add(w->path, &bob, &w->error), GW_ECORRUPT);
    assert_int_equal(gw_token_file_revoke(w->path, alice.id, &w->error), GW_ECORRUPT);
    memcpy(copy, whole, bytes);
    copy[bytes] = '\n'; /* extra bytes at the end */
    assert_int_equal(gw_token_file_decode(copy, bytes + 1, &file, &w->error), GW_ECORRUPT);
    gw_token_file_deinit(&file);
    spit(w->path, whole, bytes);
    assert_int_equal(gw_token_file_read(w->path, &file, &w->error), 0);
    assert_same(&alice, gw_token_file_find(&file, alice.id));
    gw_token_file_deinit(&file);
    free(whole);
    free(copy);
}

static void token_text_parses_back_and_refuses_changes(void **state)
{
    struct world *w = *state;
    struct gw_token token, read;
    char text[GW_TOKEN_TEXT_BYTES], padded[GW_TOKEN_TEXT_BYTES + 8];
    assert_int_equal(gw_token_make("alice", GW_TOKEN_USER, 1, &token, &w->error), 0);
    gw_token_format(&token, text);
    (void)snprintf(padded, sizeof padded, " \n%s\r\n", text);
    assert_int_equal(gw_token_parse(padded, &read, &w->error), 0);
    assert_string_equal(read.id, token.id);
    assert_memory_equal(read.secret, token.secret, sizeof read.secret);
    for (size_t i = 0; text[i]; i++) {
        char wrong[GW_TOKEN_TEXT_BYTES];
        strcpy(wrong, text);
        wrong[i] = '!';
        assert_int_equal(gw_token_parse(wrong, &read, &w->error), GW_EINVAL);
        assert_null(strstr(w->error.text, text + 40));
        wrong[i] = '\0';
        assert_int_equal(gw_token_parse(wrong, &read, &w->error), GW_EINVAL);
    }
}

static void own_token_is_read_from_the_environment_or_file(void **state)
{
    struct world *w = *state;
    struct gw_token token, read;
    char text[GW_TOKEN_TEXT_BYTES], path[PATH_MAX];
    assert_int_equal(gw_token_file_own(&read, &w->error), GW_ENOENT);
    assert_non_null(strstr(w->error.text, "GANGWAY_TOKEN"));
    assert_int_equal(gw_token_make("alice", GW_TOKEN_USER, 1, &token, &w->error), 0);
    assert_int_equal(gw_token_file_write_own(&token, path, &w->error), 0);
    assert_int_equal(gw_token_file_own(&read, &w->error), 0);
    assert_string_equal(read.id, token.id);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(gw_token_file_own(&read, &w->error), GW_EPERM);
    assert_int_equal(setenv("GANGWAY_TOKEN_FILE", "/nowhere", 1), 0);
    assert_int_equal(gw_token_file_own(&read, &w->error), GW_ENOENT);
    assert_int_equal(setenv("GANGWAY_TOKEN", "gangway-0", 1), 0);
    assert_int_equal(gw_token_file_own(&read, &w->error), GW_EINVAL);
    gw_token_format(&token, text);
    assert_int_equal(setenv("GANGWAY_TOKEN", text, 1), 0);
    assert_int_equal(gw_token_file_own(&read, &w->error), 0);
    assert_memory_equal(read.secret, token.secret, sizeof read.secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(token_file_returns_added_and_drops_revoked_tokens, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(token_file_with_open_permissions_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(damaged_token_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(token_text_parses_back_and_refuses_changes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(own_token_is_read_from_the_environment_or_file, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
