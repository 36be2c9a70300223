/* `gangway token`: who may use a cluster over TCP. A secret is printed to stdout once, when it is
 * made, and read from stdin. It is never an argument, because everybody on a machine can read the
 * arguments of its processes. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/options.h"
#include "client/cli/lib/table.h"
#include "client/deploy/address.h"
#include "graph/wire/token_file.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Returns the file of --tokens, or the default file. */
static int path_of(const char *given, char path[PATH_MAX], struct gw_error *error)
{
    if (!given)
        return gw_token_file_default(path, error);
    if (strlen(given) >= PATH_MAX - 8)
        return gw_error_set(error, GW_EINVAL, "--tokens: the path is longer than %d bytes",
                            PATH_MAX - 1);
    strcpy(path, given);
    return 0;
}

/* Reads where this user's cluster listens. The result is "HOST:PORT" if it does not listen by TCP.
 */
static void find_address(char address[GW_ADDRESS_TCP_MAX])
{
    if (gw_address_read_note(address, NULL) < 0 && gw_address_read_default(address, NULL) < 0)
        strcpy(address, "HOST:PORT");
}

static void print_alone(const struct gw_token *token)
{
    char text[GW_TOKEN_TEXT_BYTES];
    gw_token_format(token, text);
    printf("%s\n", text);
    explicit_bzero(text, sizeof text);
}

static void print_lines(const struct gw_token *token)
{
    char text[GW_TOKEN_TEXT_BYTES], address[GW_ADDRESS_TCP_MAX];
    gw_token_format(token, text);
    find_address(address);
    fflush(stdout);
    gw_cli_message(
        "token %s of user %s, role %s. Paste this on the machine that will use the token%s:",
        token->id, token->user, gw_token_role_name(token->role),
        strcmp(address, "HOST:PORT") == 0
            ? ", with the address of `gangway up --listen` in place of HOST:PORT"
            : "");
    fputc('\n', stderr);
    printf("gangway token store <<'END'\n%s\nEND\n", text);
    if (token->role == GW_TOKEN_WORKER)
        printf("gangway worker --connect %s\n", address);
    else
        printf("export GANGWAY_ADDRESS=%s\n", address);
    explicit_bzero(text, sizeof text);
}

/* Row of an option table for --tokens. */
#define TOKENS_OPTION(tokens, whose)                                                               \
    {                                                                                              \
        "tokens", 0, GW_OPTION_TEXT, &(tokens), "FILE",                                            \
            whose " token file (default:\n~/.config/gangway/tokens)"                               \
    }

static void print_json(const struct gw_token *token)
{
    char text[GW_TOKEN_TEXT_BYTES];
    gw_token_format(token, text);
    printf("{\"id\": \"%s\", \"user\": \"%s\", \"role\": \"%s\", \"token\": \"%s\"}\n", token->id,
           token->user, gw_token_role_name(token->role), text);
    explicit_bzero(text, sizeof text);
}

static int run_create(int argc, char **argv)
{
    const char *user = NULL, *role = "user", *tokens = NULL;
    bool json = false, quiet = false;
    const struct gw_option table[] = {
        {"user", 'u', GW_OPTION_TEXT, &user, "NAME",
         "name of the token's user (default: this user)"},
        {"role", 0, GW_OPTION_TEXT, &role, "ROLE",
         "user (default): may act on the user's own jobs;\n"
         "worker: a machine that runs jobs; admin: may act\n"
         "on all jobs and end the cluster"},
        TOKENS_OPTION(tokens, "the scheduler's"),
        {"quiet", 'q', GW_OPTION_FLAG, &quiet, NULL, "print the token alone, for a file"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "token create",
        .arguments = "",
        .summary = "Make a token, and print the commands to paste on the other machine.",
        .details = "The token contains a secret, which is shown only once. A running scheduler\n"
                   "accepts the token at once.",
        .table = table,
    };
    struct gw_token token;
    struct gw_error error;
    enum gw_token_role number = GW_TOKEN_USER;
    char path[PATH_MAX], self[GW_TOKEN_USER_MAX + 1];
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (!user) {
        gw_address_user(self);
        user = self;
    }
    int rc = gw_token_role_parse(role, &number, &error);
    if (rc == 0)
        rc = path_of(tokens, path, &error);
    if (rc == 0)
        rc = gw_token_make(user, number, (uint64_t)time(NULL), &token, &error);
    if (rc == 0)
        rc = gw_token_file_add(path, &token, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    if (json)
        print_json(&token);
    else if (quiet)
        print_alone(&token);
    else
        print_lines(&token);
    explicit_bzero(&token, sizeof token);
    return GW_EXIT_OK;
}

/* Makes a list of dicts that do not contain the secrets. */
static int make_rows(const struct gw_token_file *file, struct gw_value **rows)
{
    struct gw_value *list = gw_list();
    const struct gw_token *token;
    int rc = list ? 0 : GW_ENOMEM;
    GW_ARRAY_EACH (&file->tokens, token) {
        struct gw_value *row = gw_dict();
        if (rc == 0)
            rc = gw_dict_set(row, "id", gw_str(token->id));
        if (rc == 0)
            rc = gw_dict_set(row, "user", gw_str(token->user));
        if (rc == 0)
            rc = gw_dict_set(row, "role", gw_str(gw_token_role_name(token->role)));
        if (rc == 0)
            rc = gw_dict_set(row, "created_ns",
                             gw_i64((int64_t)(token->created_s * UINT64_C(1000000000))));
        if (rc == 0)
            rc = gw_list_push(list, row);
        else
            gw_value_unref(row);
    }
    if (rc < 0)
        gw_value_unref(list);
    else
        *rows = list;
    return rc;
}

static int run_list(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"id", "TOKEN", GW_CELL_TEXT},
        {"user", "USER", GW_CELL_TEXT},
        {"role", "ROLE", GW_CELL_TEXT},
        {"created_ns", "AGE", GW_CELL_SINCE},
        {0},
    };
    const char *tokens = NULL;
    bool json = false;
    const struct gw_option table[] = {
        TOKENS_OPTION(tokens, "the"),
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {.command = "token list",
                                       .arguments = "",
                                       .summary = "List tokens, without their secrets.",
                                       .table = table};
    struct gw_token_file file = {0};
    struct gw_value *rows = NULL;
    struct gw_error error;
    char path[PATH_MAX];
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    int rc = path_of(tokens, path, &error);
    if (rc == 0)
        rc = gw_token_file_read(path, &file, &error);
    if (rc == 0 && make_rows(&file, &rows) < 0)
        rc = gw_error_set(&error, GW_ENOMEM, "out of memory");
    gw_token_file_deinit(&file);
    if (rc < 0)
        return gw_cli_error(&error);
    if (json)
        (void)gw_table_json(stdout, rows, false);
    else if (gw_value_count(rows) == 0)
        fprintf(stderr, "no tokens\n");
    else
        gw_table_print(stdout, columns, rows);
    gw_value_unref(rows);
    return GW_EXIT_OK;
}

static int run_revoke(int argc, char **argv)
{
    const char *tokens = NULL;
    const struct gw_option table[] = {
        TOKENS_OPTION(tokens, "the"),
        {0},
    };
    const struct gw_options options = {
        .command = "token revoke",
        .arguments = "TOKEN...",
        .summary = "Revoke tokens: a running scheduler closes their connections.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = GW_TOKENS_MAX,
    };
    struct gw_error error;
    char path[PATH_MAX];
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    int rc = path_of(tokens, path, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    for (int i = first; i < argc; i++)
        if (gw_token_file_revoke(path, argv[i], &error) < 0)
            exit_code = gw_cli_error(&error);
    return exit_code;
}

static int run_store(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "token store",
        .arguments = "",
        .summary = "Store a token, read from stdin, as this user's token on this machine.",
        .details = "The token is written to ~/.config/gangway/token, mode 0600, and replaces an\n"
                   "earlier one. GANGWAY_TOKEN and GANGWAY_TOKEN_FILE (a path) take precedence.",
        .table = table,
    };
    struct gw_token token;
    struct gw_error error;
    char text[4 * GW_TOKEN_TEXT_BYTES], path[PATH_MAX];
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (isatty(STDIN_FILENO))
        fprintf(stderr, "paste the token, then press Ctrl-D: ");
    size_t got = fread(text, 1, sizeof text - 1, stdin);
    text[got] = '\0';
    int rc = gw_token_parse(text, &token, &error);
    if (rc == 0)
        rc = gw_token_file_write_own(&token, path, &error);
    explicit_bzero(text, sizeof text);
    if (rc < 0)
        return gw_cli_error(&error);
    fprintf(stderr, "token %s is stored in %s\n", token.id, path);
    explicit_bzero(&token, sizeof token);
    return GW_EXIT_OK;
}

int gw_cli_token(int argc, char **argv)
{
    static const struct gw_cli_command verbs[] = {
        {"create", "make a token for a user or a worker", run_create},
        {"list", "list tokens", run_list},
        {"revoke", "revoke a token", run_revoke},
        {"store", "store a token, read from stdin, on this machine", run_store},
        {NULL, NULL, NULL},
    };
    return gw_cli_run_verb("token", verbs, argc, argv);
}
