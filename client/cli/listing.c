/* Listings. */
#include "client/cli/listing.h"

#include "client/cli/cli.h"
#include "client/cli/options.h"

#include <stdlib.h>
#include <string.h>

/* {"where": {name: value}} of what was typed. */
static int make_question(const struct gw_option_texts *where, struct gw_value **question,
                         struct gw_error *error)
{
    struct gw_value *pairs = gw_dict(), *dict = gw_dict();
    int rc = pairs && dict ? 0 : GW_ENOMEM;
    for (size_t i = 0; i < where->count && rc == 0; i++) {
        const char *text = where->items[i], *value = strchr(text, '=');
        char name[128];
        size_t length = value ? (size_t)(value - text) : 0;
        if (length == 0 || length >= sizeof name) {
            gw_value_unref(pairs);
            gw_value_unref(dict);
            return gw_error_set(error, GW_EINVAL, "--where %s is not NAME=VALUE", text);
        }
        memcpy(name, text, length);
        name[length] = '\0';
        rc = gw_dict_set(pairs, name, gw_str(value + 1));
    }
    if (rc == 0) {
        rc = gw_dict_set(dict, "where", pairs);
        pairs = NULL;
    }
    if (rc < 0) {
        gw_value_unref(pairs);
        gw_value_unref(dict);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    *question = dict;
    return 0;
}

static void print_single(const struct gw_listing *listing, const struct gw_value *answer)
{
    const struct gw_value *below = listing->below ? gw_value_find(answer, listing->below) : NULL;
    gw_table_print_dict(stdout, listing->columns, answer);
    if (!below || gw_value_count(below) == 0)
        return;
    printf("\n");
    gw_table_print(stdout, listing->below_columns, below);
}

int gw_listing_run(const struct gw_listing *listing, int argc, char **argv)
{
    bool json = false;
    int first, exit_code;
    struct gw_option_texts where = {0};
    const struct gw_option table[] = {
        {"where", 0, GW_OPTION_TEXTS, &where, "NAME=VALUE",
         "only those that were annotated so; may\nbe given many times"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = listing->command,
        .arguments = "",
        .summary = listing->summary,
        .table = listing->where ? table : table + 1,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;

    struct gw_client *client;
    struct gw_value *question = NULL, *answer;
    struct gw_error error;
    int rc = where.count ? make_question(&where, &question, &error) : 0;
    free(where.items);
    if (rc < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code == 0) {
        rc = gw_client_query(client, listing->query, question, &answer, &error);
        gw_client_close(client);
    }
    gw_value_unref(question);
    if (exit_code)
        return exit_code;
    if (rc < 0)
        return gw_cli_error(&error);
    if (json)
        gw_table_json(stdout, answer, false);
    else if (listing->single)
        print_single(listing, answer);
    else if (gw_value_count(answer) == 0)
        fprintf(stderr, "%s\n", listing->none);
    else
        gw_table_print(stdout, listing->columns, answer);
    if (listing->remark && !json)
        listing->remark(answer);
    gw_value_unref(answer);
    return GW_EXIT_OK;
}
