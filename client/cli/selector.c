/* Selectors of jobs, resolved against the scheduler's list. */
#include "client/cli/selector.h"

#include "client/cli/cli.h"
#include "client/cli/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it is a job's name: no number, nor what was to be numbers. */
static bool is_name(const char *text)
{
    return text[strspn(text, "0123456789,-")] != '\0' && strcmp(text, "all") != 0 &&
           strcmp(text, "last") != 0;
}

int gw_selector_check(const char *text, struct gw_error *error)
{
    struct gw_units_range ranges[GW_UNITS_RANGES_MAX];
    if (strcmp(text, "all") == 0 || strcmp(text, "last") == 0 || is_name(text) ||
        gw_units_parse_ranges(text, ranges) > 0)
        return 0;
    return gw_error_set(error, GW_EINVAL,
                        "\"%s\" is not a job: a number, a list like 1,3,5-8, last, all, or a name",
                        text);
}

static int by_number(const void *a, const void *b)
{
    const struct gw_selected *x = a, *y = b;
    return x->job < y->job ? -1 : x->job > y->job;
}

static bool has_ended(const struct gw_value *job)
{
    const char *state;
    return gw_value_get_str(gw_value_find(job, "state"), &state, NULL) == 0 &&
           (strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 ||
            strcmp(state, "cancelled") == 0);
}

static bool is_called(const struct gw_value *job, const char *text)
{
    const char *name;
    return gw_value_get_str(gw_value_find(job, "name"), &name, NULL) == 0 &&
           strcmp(name, text) == 0;
}

/* Of another job's task: its number says nothing of what was submitted last at this terminal. */
static bool is_nested(const struct gw_value *job)
{
    int64_t depth = 0;
    (void)gw_value_get_i64(gw_value_find(job, "depth"), &depth, NULL);
    return depth > 0;
}

static bool in_ranges(uint64_t job, const struct gw_units_range *ranges, int count)
{
    for (int i = 0; i < count; i++)
        if (job >= ranges[i].first && job <= ranges[i].last)
            return true;
    return false;
}

/* Chooses among the jobs that there are. */
static int choose(struct gw_selector *selector, const struct gw_value *jobs, const char *text,
                  bool unfinished)
{
    struct gw_units_range ranges[GW_UNITS_RANGES_MAX];
    bool all = strcmp(text, "all") == 0, named = is_name(text);
    bool last = named || strcmp(text, "last") == 0; /* the latest of those */
    int range_count = all || last ? 0 : gw_units_parse_ranges(text, ranges);
    size_t room = gw_value_count(jobs) + (size_t)range_count + 1;
    selector->items = calloc(room, sizeof *selector->items);
    if (!selector->items)
        return GW_ENOMEM;
    for (size_t i = 0; i < gw_value_count(jobs); i++) {
        const struct gw_value *job = gw_value_at(jobs, i);
        int64_t id;
        if (gw_value_get_i64(gw_value_find(job, "id"), &id, NULL) < 0 ||
            (named ? !is_called(job, text) : last && is_nested(job)))
            continue;
        bool wanted = all    ? !unfinished || !has_ended(job)
                      : last ? selector->count == 0 || (uint64_t)id > selector->items[0].job
                             : in_ranges((uint64_t)id, ranges, range_count);
        if (wanted && last)
            selector->count = 0;
        if (wanted)
            selector->items[selector->count++] = (struct gw_selected){(uint64_t)id, has_ended(job)};
    }
    for (int i = 0; i < range_count; i++) {
        bool there = false;
        for (size_t k = 0; k < selector->count; k++)
            there |= selector->items[k].job == ranges[i].first;
        if (!there && ranges[i].first == ranges[i].last)
            selector->items[selector->count++].job = ranges[i].first;
    }
    if (selector->count > 0)
        qsort(selector->items, selector->count, sizeof *selector->items, by_number);
    return 0;
}

static bool has(const struct gw_selector *selector, uint64_t job)
{
    for (size_t i = 0; i < selector->count; i++)
        if (selector->items[i].job == job)
            return true;
    return false;
}

/* Takes what a part of a list chose. */
static int unite(struct gw_selector *selector, const struct gw_selector *part)
{
    size_t room = selector->count + part->count;
    struct gw_selected *items = realloc(selector->items, room * sizeof *items);
    if (!items)
        return GW_ENOMEM;
    selector->items = items;
    for (size_t i = 0; i < part->count; i++)
        if (!has(selector, part->items[i].job))
            selector->items[selector->count++] = part->items[i];
    qsort(selector->items, selector->count, sizeof *selector->items, by_number);
    return 0;
}

/* A list in which there are names, and which is none itself: "3,train,7-9". */
static int choose_each(struct gw_selector *selector, const struct gw_value *jobs, char *list,
                       struct gw_error *error)
{
    int rc = 0;
    char *rest = list;
    for (char *text; rc == 0 && (text = strsep(&rest, ","));) {
        struct gw_selector part = {0};
        rc = *text && strcmp(text, "all") != 0
                 ? gw_selector_check(text, error)
                 : gw_error_set(error, GW_EINVAL, "\"%s\" is no job of a list", text);
        if (rc == 0 && choose(&part, jobs, text, false) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        else if (rc == 0 && part.count == 0)
            rc = gw_error_set(error, GW_ENOENT, "there is no job \"%s\"", text);
        else if (rc == 0 && unite(selector, &part) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        free(part.items);
    }
    return rc;
}

static int select_of(struct gw_selector *selector, const struct gw_value *jobs, const char *text,
                     bool unfinished, struct gw_error *error)
{
    if (choose(selector, jobs, text, unfinished) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    if (selector->count > 0 || !is_name(text) || !strchr(text, ','))
        return 0;
    char *list = strdup(text);
    int rc = list ? choose_each(selector, jobs, list, error)
                  : gw_error_set(error, GW_ENOMEM, "out of memory");
    free(list);
    return rc;
}

int gw_selector_init(struct gw_selector *selector, struct gw_client *client, const char *text,
                     bool unfinished, struct gw_error *error)
{
    struct gw_value *jobs;
    *selector = (struct gw_selector){0};
    int rc = gw_selector_check(text, error);
    if (rc == 0)
        rc = gw_client_query(client, "jobs", NULL, &jobs, error);
    if (rc < 0)
        return rc;
    rc = select_of(selector, jobs, text, unfinished, error);
    gw_value_unref(jobs);
    if (rc < 0) {
        selector->count = 0; /* all of a list or nothing */
        return rc;
    }
    if (selector->count == 0 && strcmp(text, "last") == 0)
        return gw_error_set(error, GW_ENOENT, "there are no jobs");
    if (selector->count == 0 && strcmp(text, "all") != 0)
        return gw_error_set(error, GW_ENOENT, "there is no job \"%s\"", text);
    if (selector->count == 0)
        fprintf(stderr, "%s\n", unfinished ? "no unfinished jobs" : "no jobs");
    return 0;
}

void gw_selector_deinit(struct gw_selector *selector)
{
    free(selector->items);
}

/* -- One task ------------------------------------------------------------------------------------
 */

enum { JOB_TEXT_BYTES = 300, JOBS_MAX = 100000 };

/* What stands between the job and the task; NULL: only a job is named. A name may have a dot. */
static const char *separator(const char *text)
{
    const char *slash = strchr(text, '/');
    size_t digits = strspn(text, "0123456789");
    const char *behind = digits ? text + digits : strncmp(text, "last", 4) == 0 ? text + 4 : "";
    return slash ? slash : *behind == '.' && !strpbrk(behind, " \t") ? behind : NULL;
}

static int split(const char *text, char job[JOB_TEXT_BYTES], const char **task,
                 struct gw_error *error)
{
    const char *at = separator(text);
    size_t length = at ? (size_t)(at - text) : strlen(text);
    if (length == 0 || length >= JOB_TEXT_BYTES || (at && !at[1]))
        return gw_error_set(error, GW_EINVAL,
                            "\"%s\" is not a task: JOB, JOB/NAME, JOB/INDEX, or last for the job",
                            text);
    memcpy(job, text, length);
    job[length] = '\0';
    *task = at ? at + 1 : NULL;
    if (strcmp(job, "all") == 0 || (!is_name(job) && strpbrk(job, ",-")))
        return gw_error_set(error, GW_EINVAL, "\"%s\" is not one job", job);
    return gw_selector_check(job, error);
}

int gw_selector_task_check(const char *text, struct gw_error *error)
{
    char job[JOB_TEXT_BYTES];
    const char *task = NULL;
    return split(text, job, &task, error);
}

/* The row of a name, by the scheduler. */
static int find_named(struct gw_client *client, const char *name, struct gw_selected_task *task,
                      struct gw_error *error)
{
    struct gw_value *question = gw_dict(), *answer;
    int64_t index = 0;
    int rc = gw_dict_set(question, "job", gw_i64((int64_t)task->job));
    if (rc == 0)
        rc = gw_dict_set(question, "name", gw_str(name));
    rc = rc == 0 ? gw_client_query(client, "tasks", question, &answer, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(question);
    if (rc < 0)
        return rc;
    rc = gw_value_get_i64(gw_value_find(gw_value_at(answer, 0), "index"), &index, error);
    gw_value_unref(answer);
    task->index = (uint32_t)index;
    return rc;
}

int gw_selector_task(struct gw_client *client, const char *text, struct gw_selected_task *task,
                     struct gw_error *error)
{
    char job[JOB_TEXT_BYTES], *end;
    const char *name = NULL;
    struct gw_selector selector;
    int rc = split(text, job, &name, error);
    if (rc < 0)
        return rc;
    rc = gw_selector_init(&selector, client, job, false, error);
    if (rc == 0)
        *task = (struct gw_selected_task){.job = selector.items[0].job, .whole = name == NULL};
    gw_selector_deinit(&selector);
    if (rc < 0 || !name)
        return rc;
    unsigned long index = strtoul(name, &end, 10);
    if (*name >= '0' && *name <= '9' && *end == '\0' && index < UINT32_MAX)
        task->index = (uint32_t)index;
    else
        rc = find_named(client, name, task, error);
    return rc;
}

struct gw_value *gw_selector_question(const struct gw_selected_task *task)
{
    struct gw_value *question = gw_dict();
    int rc = gw_dict_set(question, "job", gw_i64((int64_t)task->job));
    if (rc == 0 && !task->whole)
        rc = gw_dict_set(question, "index", gw_i64(task->index));
    if (rc == 0)
        return question;
    gw_value_unref(question);
    return NULL;
}

int gw_selector_name_check(const char *name, struct gw_error *error)
{
    if (!is_name(name))
        return gw_error_set(error, GW_EINVAL,
                            "\"%s\" would mean other jobs to every command: give one that is not "
                            "all, last, or made of numbers",
                            name);
    if (strchr(name, '/'))
        return gw_error_set(error, GW_EINVAL,
                            "\"%s\" would mean a task of a job to every command: give one without "
                            "/",
                            name);
    if (separator(name))
        return gw_error_set(error, GW_EINVAL,
                            "\"%s\" would mean a task of job %.*s to every command: give one "
                            "without that dot",
                            name, (int)(separator(name) - name), name);
    return 0;
}

/* -- Subcommands ---------------------------------------------------------------------------------
 */

static int run_task(const struct gw_selector_command *command, struct gw_client *client,
                    const char *text)
{
    struct gw_selected_task task;
    struct gw_error error;
    if (gw_selector_task(client, text, &task, &error) < 0)
        return gw_cli_error(&error);
    return command->task(client, &task, command->arg);
}

static int run_jobs(const struct gw_selector_command *command, struct gw_client *client,
                    const char *text)
{
    struct gw_selector selector;
    struct gw_error error;
    int exit_code = GW_EXIT_OK;
    if (gw_selector_init(&selector, client, text, command->unfinished, &error) < 0)
        exit_code = gw_cli_error(&error);
    for (size_t i = 0; i < selector.count; i++) {
        int code = command->each(client, &selector.items[i], command->arg);
        exit_code = exit_code ? exit_code : code;
    }
    gw_selector_deinit(&selector);
    return exit_code;
}

/* What all arguments name, each job or task once. */
struct targets {
    struct target {
        struct gw_selected_task task;
        bool ended;
        size_t order; /* in which it was named */
    } * items;
    size_t count;
};

static int by_job(const void *a, const void *b)
{
    const struct target *one = a, *two = b;
    if (one->task.job != two->task.job)
        return one->task.job < two->task.job ? -1 : 1;
    return one->order < two->order ? -1 : 1;
}

static int targets_add(struct targets *targets, struct target target, struct gw_error *error)
{
    for (size_t i = 0; i < targets->count; i++) {
        const struct gw_selected_task *task = &targets->items[i].task;
        if (task->job == target.task.job && task->whole == target.task.whole &&
            (task->whole || task->index == target.task.index))
            return 0;
    }
    struct target *items = realloc(targets->items, (targets->count + 1) * sizeof *items);
    if (!items)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    targets->items = items;
    target.order = targets->count;
    items[targets->count++] = target;
    return 0;
}

static int targets_find(struct targets *targets, const struct gw_selector_command *command,
                        struct gw_client *client, const char *text, struct gw_error *error)
{
    struct target target = {{0}, false, 0};
    struct gw_selector selector = {0};
    int rc;
    if (command->task && separator(text)) {
        rc = gw_selector_task(client, text, &target.task, error);
        return rc < 0 ? rc : targets_add(targets, target, error);
    }
    rc = gw_selector_init(&selector, client, text, command->unfinished, error);
    for (size_t i = 0; i < selector.count && rc == 0; i++) {
        target.task = (struct gw_selected_task){.job = selector.items[i].job, .whole = true};
        target.ended = selector.items[i].ended;
        rc = targets_add(targets, target, error);
    }
    gw_selector_deinit(&selector);
    return rc;
}

/* One that cannot be found leaves the others as they are. */
static int run_by_number(const struct gw_selector_command *command, struct gw_client *client,
                         char **texts)
{
    struct targets targets = {NULL, 0};
    struct gw_error error;
    int exit_code = GW_EXIT_OK;
    for (; *texts; texts++)
        if (targets_find(&targets, command, client, *texts, &error) < 0) {
            int code = gw_cli_error(&error);
            exit_code = exit_code ? exit_code : code;
        }
    if (targets.count > 0)
        qsort(targets.items, targets.count, sizeof *targets.items, by_job);
    for (size_t i = 0; i < targets.count; i++) {
        const struct target *target = &targets.items[i];
        const struct gw_selected job = {target->task.job, target->ended};
        int code = target->task.whole ? command->each(client, &job, command->arg)
                                      : command->task(client, &target->task, command->arg);
        exit_code = exit_code ? exit_code : code;
    }
    free(targets.items);
    return exit_code;
}

static bool is_task(const struct gw_selector_command *command, const char *text)
{
    return command->task && separator(text);
}

int gw_selector_run(const struct gw_selector_command *command, int argc, char **argv)
{
    struct gw_options options = command->options;
    struct gw_client *client;
    struct gw_error error;
    int first, exit_code;
    options.arguments = command->task ? "JOB[/TASK]..." : "JOB...";
    options.arguments_min = 1;
    options.arguments_max = JOBS_MAX;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    for (int i = first; argv[i]; i++) /* ends with a NULL, before argc where there are options */
        if ((is_task(command, argv[i]) ? gw_selector_task_check : gw_selector_check)(argv[i],
                                                                                     &error) < 0)
            return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    if (command->by_number)
        exit_code = run_by_number(command, client, argv + first);
    for (int i = first; argv[i] && !command->by_number; i++) {
        int code = (is_task(command, argv[i]) ? run_task : run_jobs)(command, client, argv[i]);
        exit_code = exit_code ? exit_code : code;
    }
    gw_client_close(client);
    return exit_code;
}
