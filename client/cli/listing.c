/* Listings. */
#include "client/cli/listing.h"

#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "client/cli/selector.h"

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

static bool is_listed(const struct gw_value *jobs, int64_t id)
{
    for (size_t i = 0; i < gw_value_count(jobs); i++)
        if (gw_table_number(gw_value_at(jobs, i), "id") == id)
            return true;
    return false;
}

static bool is_selected(const struct gw_selector *selector, int64_t id)
{
    for (size_t i = 0; i < selector->count; i++)
        if ((int64_t)selector->items[i].job == id)
            return true;
    return false;
}

/* What the scheduler does not list it is asked about: it says that there is no such job. */
static int ask(struct gw_client *client, uint64_t job, struct gw_value *chosen,
               struct gw_error *error)
{
    struct gw_value *one,
        *question = gw_selector_question(&(struct gw_selected_task){.job = job, .whole = true});
    int rc = gw_client_query(client, "job", question, &one, error);
    gw_value_unref(question);
    if (rc == 0 && gw_list_push(chosen, one) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    return rc;
}

/* Makes a list of those that one argument chooses, in the order of the list. */
static int choose(struct gw_client *client, const char *text, bool narrowed,
                  const struct gw_value *all, struct gw_value *chosen, struct gw_error *error)
{
    struct gw_selector selector;
    int rc = gw_selector_init(&selector, client, text, false, error);
    for (size_t i = 0; rc == 0 && i < gw_value_count(all); i++) {
        struct gw_value *one = gw_value_at(all, i);
        const int64_t id = gw_table_number(one, "id");
        if (is_selected(&selector, id) && !is_listed(chosen, id) &&
            gw_list_push(chosen, gw_value_ref(one)) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    for (size_t i = 0; rc == 0 && i < selector.count && !narrowed; i++)
        if (!is_listed(chosen, (int64_t)selector.items[i].job))
            rc = ask(client, selector.items[i].job, chosen, error);
    gw_selector_deinit(&selector);
    return rc;
}

/* Adds those of one list that are, or are not, in another. */
static int add(struct gw_value *to, const struct gw_value *from, const struct gw_value *other,
               bool in)
{
    int rc = 0;
    for (size_t i = 0; i < gw_value_count(from) && rc == 0; i++) {
        struct gw_value *one = gw_value_at(from, i);
        if (is_listed(other, gw_table_number(one, "id")) == in)
            rc = gw_list_push(to, gw_value_ref(one));
    }
    return rc;
}

/* Asks the listing's question, and keeps what the arguments choose of its answer. */
static int query(struct gw_client *client, const struct gw_listing *listing, char **arguments,
                 const struct gw_value *question, struct gw_value **answer, struct gw_error *error)
{
    struct gw_value *all, *chosen, *ordered;
    int rc = gw_client_query(client, listing->query, question, &all, error);
    if (rc < 0 || !*arguments) {
        *answer = all;
        return rc;
    }
    chosen = gw_list();
    ordered = gw_list(); /* as all are, whatever the order of the arguments */
    rc = chosen && ordered ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    for (; *arguments && rc == 0; arguments++)
        rc = choose(client, *arguments, question != NULL, all, chosen, error);
    if (rc == 0 && (add(ordered, all, chosen, true) < 0 || add(ordered, chosen, all, false) < 0))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    gw_value_unref(all);
    gw_value_unref(chosen);
    if (rc < 0)
        gw_value_unref(ordered);
    else
        *answer = ordered;
    return rc;
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
        .arguments = listing->chosen ? "[JOB...]" : "",
        .summary = listing->summary,
        .details = listing->details,
        .table = listing->where ? table : table + 1,
        .arguments_max = listing->chosen ? 1 << 20 : 0,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;

    struct gw_client *client;
    struct gw_value *question = NULL, *answer;
    struct gw_error error;
    int rc = where.count ? make_question(&where, &question, &error) : 0;
    for (char **text = argv + first; *text && rc == 0; text++)
        rc = gw_selector_check(*text, &error);
    free(where.items);
    if (rc < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code == 0) {
        rc = query(client, listing, argv + first, question, &answer, &error);
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
