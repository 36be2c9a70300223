/* `gangway logs`: a task's output, of all ranks or one. */
#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "client/cli/selector.h"
#include "client/cli/stream.h"

#include <stdlib.h>
#include <string.h>

/* "JOB" or "JOB.INDEX"; GW_EINVAL. The job's part may be "last". */
static int parse_task(const char *text, char job[64], uint32_t *index, struct gw_error *error)
{
    const char *dot = strchr(text, '.');
    size_t length = dot ? (size_t)(dot - text) : strlen(text);
    char *end = NULL;
    *index = dot ? (uint32_t)strtoul(dot + 1, &end, 10) : 0;
    if (length == 0 || length >= 64 || (dot && (end == dot + 1 || *end)))
        return gw_error_set(error, GW_EINVAL, "\"%s\" is not a task: JOB, JOB.INDEX or last", text);
    memcpy(job, text, length);
    job[length] = '\0';
    return gw_selector_check(job, error);
}

/* How many ranks a task has; 0: it is no gang. */
static int rank_count(struct gw_client *client, uint64_t job, uint32_t index, uint32_t *ranks,
                      struct gw_error *error)
{
    struct gw_value *question = gw_dict(), *answer;
    int64_t number = 0;
    int rc = gw_dict_set(question, "job", gw_i64((int64_t)job));
    if (rc == 0)
        rc = gw_dict_set(question, "index", gw_i64(index));
    if (rc == 0)
        rc = gw_client_query(client, "tasks", question, &answer, error);
    gw_value_unref(question);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < gw_value_count(answer); i++) {
        const struct gw_value *task = gw_value_at(answer, i);
        int64_t at = -1;
        if (gw_value_get_i64(gw_value_find(task, "index"), &at, NULL) == 0 && at == index)
            gw_value_get_i64(gw_value_find(task, "ranks"), &number, NULL);
    }
    gw_value_unref(answer);
    *ranks = (uint32_t)number;
    return 0;
}

static int check_rank(int32_t rank, uint32_t ranks, struct gw_error *error)
{
    uint32_t last = ranks ? ranks - 1 : 0;
    if (rank == -1 || (rank >= 0 && (uint32_t)rank <= last))
        return 0;
    if (last == 0)
        return gw_error_set(error, GW_EINVAL, "there is no rank %d: the only one is 0", rank);
    return gw_error_set(error, GW_EINVAL, "there is no rank %d: they are 0 to %u", rank, last);
}

int gw_cli_logs(int argc, char **argv)
{
    struct gw_stream_options stream_options = {.rank = -1};
    bool follow = false, out = false, err = false, json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"follow", 'f', GW_OPTION_FLAG, &follow, NULL, "go on until the task has ended"},
        {"rank", 'r', GW_OPTION_I32, &stream_options.rank, "R", "of a gang, only this rank"},
        {"out", 0, GW_OPTION_FLAG, &out, NULL, "only its standard output"},
        {"err", 0, GW_OPTION_FLAG, &err, NULL, "only its standard error"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print a line of JSON for each line"},
        {0},
    };
    const struct gw_options options = {
        .command = "logs",
        .arguments = "JOB[.INDEX]",
        .summary = "Print what a task wrote in its latest attempt; of a gang, each line with its\n"
                   "rank before it.",
        .details = "JOB is a number or last; INDEX the task in it (default: 0). Standard output\n"
                   "goes to standard output, standard error to standard error.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_selector selector;
    struct gw_error error;
    char job[64];
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (parse_task(argv[first], job, &stream_options.index, &error) < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&stream_options.client);
    if (exit_code)
        return exit_code;
    int rc = gw_selector_init(&selector, stream_options.client, job, false, &error);
    if (rc == 0 && selector.count != 1)
        rc = gw_error_set(&error, GW_EINVAL, "\"%s\" is not one job", job);
    if (rc == 0)
        rc = rank_count(stream_options.client, selector.items[0].job, stream_options.index,
                        &stream_options.ranks, &error);
    if (rc == 0)
        rc = check_rank(stream_options.rank, stream_options.ranks, &error);
    if (rc == 0) {
        struct gw_stream *stream;
        stream_options.job = selector.items[0].job;
        stream_options.out = out || !err;
        stream_options.err = err || !out;
        stream_options.follow = follow;
        stream_options.json = json;
        rc = gw_stream_open(&stream_options, &stream);
        if (rc == 0)
            rc = gw_stream_close(stream, &error);
        else
            gw_error_set(&error, rc, "out of memory");
    }
    gw_selector_deinit(&selector);
    gw_client_close(stream_options.client);
    return rc < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
}
