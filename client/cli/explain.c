/* `gangway explain`: why a job waits, or what it does. */
#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "client/cli/selector.h"
#include "client/cli/table.h"

static int explain(struct gw_client *client, uint64_t job, bool json, struct gw_error *error)
{
    struct gw_value *answer, *question = gw_dict();
    const char *text;
    int rc = gw_dict_set(question, "job", gw_i64((int64_t)job));
    if (rc == 0)
        rc = gw_client_query(client, "explain", question, &answer, error);
    gw_value_unref(question);
    if (rc < 0)
        return rc;
    rc = gw_value_get_str(answer, &text, error);
    if (rc == 0 && !json) {
        printf("%s\n", text);
    } else if (rc == 0) {
        struct gw_value *line = gw_dict();
        gw_dict_set(line, "job", gw_i64((int64_t)job));
        gw_dict_set(line, "text", gw_value_ref(answer));
        rc = gw_table_json(stdout, line, true);
        gw_value_unref(line);
    }
    gw_value_unref(answer);
    return rc;
}

int gw_cli_explain(int argc, char **argv)
{
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print a line of JSON for each"},
        {0},
    };
    const struct gw_options options = {
        .command = "explain",
        .arguments = "JOB",
        .summary = "Say why a job waits, or what it does.",
        .details = "JOB is a number, a list like 1,3,5-8, last, or all (that have not ended).",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_client *client;
    struct gw_selector selector;
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (gw_selector_check(argv[first], &error) < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    int rc = gw_selector_init(&selector, client, argv[first], true, &error);
    for (size_t i = 0; i < selector.count && rc == 0; i++)
        rc = explain(client, selector.items[i].job, json, &error);
    if (rc < 0)
        exit_code = gw_cli_error(&error);
    gw_selector_deinit(&selector);
    gw_client_close(client);
    return exit_code;
}
