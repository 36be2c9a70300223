/* Selectors of jobs: this file checks their syntax, and the scheduler finds the jobs. */
#include "client/cli/lib/selector.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/units.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 32, AT_ONCE_MIN = 100 };

/* Whether the text is a job's name: it is not a number or a list of numbers, and not "all" or
 * "last". */
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
                        "\"%.80s%s\" is not a job: a number, a list like 1,3,5-8 of at most %d, "
                        "last, all, or a name",
                        text, strlen(text) > 80 ? "..." : "", GW_UNITS_RANGES_MAX);
}

static int by_number(const void *a, const void *b)
{
    const struct gw_selected *x = a, *y = b;
    return x->job < y->job ? -1 : x->job > y->job;
}

void gw_selector_sort(struct gw_selector *selector)
{
    size_t retained = 0;
    if (selector->count > 0)
        qsort(selector->items, selector->count, sizeof *selector->items, by_number);
    for (size_t i = 0; i < selector->count; i++)
        if (retained == 0 || selector->items[retained - 1].job != selector->items[i].job)
            selector->items[retained++] = selector->items[i];
    selector->count = retained;
}

/* -- Queries ------------------------------------------------------------------------------------
 */

static struct gw_value *ranges_of(const char *text)
{
    struct gw_units_range ranges[GW_UNITS_RANGES_MAX];
    const int count = gw_units_parse_ranges(text, ranges);
    struct gw_value *list = gw_list();
    int rc = list ? 0 : GW_ENOMEM;
    for (int i = 0; i < count && rc == 0; i++) {
        struct gw_value *pair = gw_list();
        rc = gw_list_push(pair, gw_i64((int64_t)ranges[i].first));
        rc = rc == 0 ? gw_list_push(pair, gw_i64((int64_t)ranges[i].last)) : rc;
        if (rc == 0)
            rc = gw_list_push(list, pair);
        else
            gw_value_unref(pair);
    }
    if (rc == 0)
        return list;
    gw_value_unref(list);
    return NULL;
}

struct gw_value *gw_selector_arguments(const char *text, const struct gw_selector_scope *scope)
{
    struct gw_value *dict = gw_dict();
    const bool all = strcmp(text, "all") == 0, last = strcmp(text, "last") == 0;
    int rc = is_name(text) ? gw_dict_set(dict, "name", gw_str(text))
             : all || last ? gw_dict_set(dict, text, gw_bool(true))
                           : gw_dict_set(dict, "ranges", ranges_of(text));
    if (rc == 0 && scope && scope->user)
        rc = gw_dict_set(dict, "user", gw_str(scope->user));
    if (rc == 0 && scope && scope->all_users)
        rc = gw_dict_set(dict, "all_users", gw_bool(true));
    if (rc == 0 && scope && scope->state && all)
        rc = gw_dict_set(dict, "state", gw_str(scope->state));
    if (rc == 0 && scope && scope->unfinished && all)
        rc = gw_dict_set(dict, "unfinished", gw_bool(true));
    if (rc == 0)
        return dict;
    gw_value_unref(dict);
    return NULL;
}

static bool has(const struct gw_selector *selector, uint64_t job)
{
    const struct gw_selected wanted = {.job = job};
    return selector->count > 0 && bsearch(&wanted, selector->items, selector->count,
                                          sizeof *selector->items, by_number) != NULL;
}

static int add(struct gw_selector *selector, size_t *room, struct gw_selected job)
{
    if (selector->count == *room) {
        const size_t more = *room ? 2 * *room : 16;
        struct gw_selected *items = realloc(selector->items, more * sizeof *items);
        if (!items)
            return GW_ENOMEM;
        selector->items = items;
        *room = more;
    }
    selector->items[selector->count++] = job;
    return 0;
}

/* Adds the single numbers for which no job exists. The scheduler reports them when the command uses
 * them. */
static int add_missing(struct gw_selector *selector, size_t *room, const char *text)
{
    struct gw_units_range ranges[GW_UNITS_RANGES_MAX];
    struct gw_selector found = *selector; /* sorted; new rows are added after it */
    const int count = is_name(text) ? 0 : gw_units_parse_ranges(text, ranges);
    int rc = 0;
    for (int i = 0; i < count && rc == 0; i++) {
        if (ranges[i].first != ranges[i].last || has(&found, ranges[i].first))
            continue;
        rc = add(selector, room, (struct gw_selected){.job = ranges[i].first, .missing = true});
        found.items = selector->items;
    }
    gw_selector_sort(selector);
    return rc;
}

/* Asks the scheduler which jobs a word means, and adds them. Returns GW_ENOMEM or the error of the
 * query. */
static int resolve(struct gw_selector *selector, struct gw_client *client, const char *text,
                   const struct gw_selector_scope *scope, struct gw_error *error)
{
    struct gw_value *arguments = gw_selector_arguments(text, scope), *rows;
    size_t room = 0;
    *selector = (struct gw_selector){0};
    int rc = arguments ? gw_dict_set(arguments, "brief", gw_bool(true)) : GW_ENOMEM;
    rc = rc < 0 ? gw_error_set(error, rc, "out of memory")
                : gw_client_query(client, "jobs", arguments, &rows, error);
    gw_value_unref(arguments);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < gw_value_count(rows) && rc == 0; i++) {
        const struct gw_value *row = gw_value_at(rows, i);
        int64_t id;
        bool ended;
        if (gw_value_type(row) != GW_LIST || gw_value_count(row) != 2 ||
            gw_value_get_i64(gw_value_at(row, 0), &id, NULL) < 0 ||
            gw_value_get_bool(gw_value_at(row, 1), &ended, NULL) < 0)
            rc = gw_error_set(error, GW_EPROTO,
                              "the scheduler's answer is malformed: install one version of Gangway "
                              "on both sides");
        else if (add(selector, &room, (struct gw_selected){(uint64_t)id, ended, false}) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    gw_value_unref(rows);
    gw_selector_sort(selector);
    if (rc == 0 && add_missing(selector, &room, text) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    return rc;
}

/* Adds the jobs of one part of a list. */
static int unite(struct gw_selector *selector, const struct gw_selector *part)
{
    size_t room = selector->count;
    int rc = 0;
    for (size_t i = 0; i < part->count && rc == 0; i++)
        rc = add(selector, &room, part->items[i]);
    gw_selector_sort(selector);
    return rc;
}

/* Resolves a list that contains names, like "3,train,7-9". The list as a whole is not the name of a
 * job. */
static int resolve_each(struct gw_selector *selector, struct gw_client *client, char *list,
                        const struct gw_selector_scope *scope, struct gw_error *error)
{
    int rc = 0;
    char *rest = list;
    for (char *text; rc == 0 && (text = strsep(&rest, ","));) {
        struct gw_selector part = {0};
        rc = *text && strcmp(text, "all") != 0
                 ? gw_selector_check(text, error)
                 : gw_error_set(error, GW_EINVAL,
                                "\"%s\" cannot be in a list of jobs: a list has numbers and ranges "
                                "of numbers, like 1,3,5-8",
                                text);
        rc = rc == 0 ? resolve(&part, client, text, scope, error) : rc;
        if (rc == 0 && part.count == 0)
            rc = gw_error_set(error, GW_ENOENT, "there is no job \"%s\"", text);
        else if (rc == 0 && unite(selector, &part) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        free(part.items);
    }
    return rc;
}

static int resolve_list(struct gw_selector *selector, struct gw_client *client, const char *text,
                        const struct gw_selector_scope *scope, struct gw_error *error)
{
    int rc = resolve(selector, client, text, scope, error);
    if (rc < 0 || selector->count > 0 || !is_name(text) || !strchr(text, ','))
        return rc;
    char *list = strdup(text);
    rc = list ? resolve_each(selector, client, list, scope, error)
              : gw_error_set(error, GW_ENOMEM, "out of memory");
    free(list);
    return rc;
}

/* Says whose jobs were searched, for the message that no job was found. */
static const char *whose(const struct gw_selector_scope *scope, char text[static 160])
{
    if (scope && scope->all_users)
        return "";
    if (scope && scope->user)
        (void)snprintf(text, 160, " of user %.128s", scope->user);
    else
        (void)snprintf(text, 160, " of yours");
    return text;
}

int gw_selector_init(struct gw_selector *selector, struct gw_client *client, const char *text,
                     const struct gw_selector_scope *scope, struct gw_error *error)
{
    char of[160] = "";
    *selector = (struct gw_selector){0};
    int rc = gw_selector_check(text, error);
    if (rc == 0)
        rc = resolve_list(selector, client, text, scope, error);
    if (rc < 0) {
        selector->count = 0; /* a list is resolved completely or not at all */
        return rc;
    }
    if (selector->count == 0 && strcmp(text, "last") == 0)
        return gw_error_set(error, GW_ENOENT, "there are no jobs%s", whose(scope, of));
    if (selector->count == 0 && strcmp(text, "all") != 0)
        return gw_error_set(error, GW_ENOENT, "there is no job \"%s\"%s", text,
                            is_name(text) ? whose(scope, of) : "");
    if (selector->count == 0)
        fprintf(stderr, "%s\n", scope && scope->unfinished ? "no unfinished jobs" : "no jobs");
    return 0;
}

struct gw_value *gw_selector_ranges(const struct gw_selector *selector, size_t *at)
{
    enum { RANGES_MAX = 200 };
    struct gw_value *dict = gw_dict(), *list = gw_list();
    int rc = dict && list ? 0 : GW_ENOMEM;
    for (int count = 0; count<RANGES_MAX && * at> 0 && rc == 0; count++) {
        struct gw_value *pair = gw_list();
        const uint64_t last = selector->items[--*at].job;
        uint64_t first = last;
        while (*at > 0 && selector->items[*at - 1].job == first - 1) {
            first--;
            --*at;
        }
        rc = gw_list_push(pair, gw_i64((int64_t)first));
        rc = rc == 0 ? gw_list_push(pair, gw_i64((int64_t)last)) : rc;
        rc = rc == 0 ? gw_list_push(list, gw_value_ref(pair)) : rc;
        gw_value_unref(pair);
    }
    rc = rc == 0 ? gw_dict_set(dict, "ranges", gw_value_ref(list)) : rc;
    gw_value_unref(list);
    if (rc == 0)
        return dict;
    gw_value_unref(dict);
    return NULL;
}

void gw_selector_deinit(struct gw_selector *selector)
{
    free(selector->items);
}

/* -- One task ------------------------------------------------------------------------------------
 */

enum { JOB_TEXT_BYTES = 300, JOBS_MAX = 100000 };

/* Finds the separator between job and task. Returns NULL if the text names only a job. A name may
 * contain a dot. */
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
        return gw_error_set(
            error, GW_EINVAL,
            "\"%s\" is not a task: give JOB, JOB/NAME or JOB/INDEX; JOB may be last", text);
    memcpy(job, text, length);
    job[length] = '\0';
    *task = at ? at + 1 : NULL;
    if (strcmp(job, "all") == 0 || (!is_name(job) && strpbrk(job, ",-")))
        return gw_error_set(error, GW_EINVAL,
                            "\"%s\" selects several jobs, and this command takes one: give a "
                            "number, a name or last",
                            job);
    return gw_selector_check(job, error);
}

int gw_selector_task_check(const char *text, struct gw_error *error)
{
    char job[JOB_TEXT_BYTES];
    const char *task = NULL;
    return split(text, job, &task, error);
}

/* Asks the scheduler for the index of the task with this name. */
static int find_named(struct gw_client *client, const char *name, struct gw_selected_task *task,
                      struct gw_error *error)
{
    struct gw_value *filter = gw_dict(), *answer;
    int64_t index = 0;
    int rc = gw_dict_set(filter, "job", gw_i64((int64_t)task->job));
    if (rc == 0)
        rc = gw_dict_set(filter, "name", gw_str(name));
    rc = rc == 0 ? gw_client_query(client, "tasks", filter, &answer, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(filter);
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
    rc = gw_selector_init(&selector, client, job, NULL, error);
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

struct gw_value *gw_selector_query(const struct gw_selected_task *task)
{
    struct gw_value *filter = gw_dict();
    int rc = gw_dict_set(filter, "job", gw_i64((int64_t)task->job));
    if (rc == 0 && !task->whole)
        rc = gw_dict_set(filter, "index", gw_i64(task->index));
    if (rc == 0)
        return filter;
    gw_value_unref(filter);
    return NULL;
}

int gw_selector_name_check(const char *name, struct gw_error *error)
{
    if (!is_name(name))
        return gw_error_set(error, GW_EINVAL,
                            "\"%s\" selects other jobs in every command: give a name that is not "
                            "all, last, or a list of numbers",
                            name);
    if (strchr(name, '/'))
        return gw_error_set(
            error, GW_EINVAL,
            "\"%s\" selects a task of a job in every command: give a name without /", name);
    if (separator(name))
        return gw_error_set(
            error, GW_EINVAL,
            "\"%s\" selects a task of job %.*s in every command: give a name without that dot",
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

/* Jobs that several threads share; each thread takes the next job. Each answer waits for the
 * scheduler's disk. If many requests are sent at once, the scheduler writes them to disk together.
 */
struct crew {
    const struct gw_selector_command *command;
    struct gw_client *client;
    const struct gw_selector *selector;
    pthread_mutex_t lock;
    size_t next, failed; /* failed: index of the first job with an exit code that is not 0 */
    int exit_code;
};

static void *work(void *arg)
{
    struct crew *crew = arg;
    (void)pthread_mutex_lock(&crew->lock);
    while (crew->next < crew->selector->count) {
        const size_t at = crew->next++;
        (void)pthread_mutex_unlock(&crew->lock);
        int code =
            crew->command->each(crew->client, &crew->selector->items[at], crew->command->arg);
        (void)pthread_mutex_lock(&crew->lock);
        if (code && at < crew->failed) {
            crew->failed = at;
            crew->exit_code = code;
        }
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Returns the exit code of the first job, in their order, whose exit code is not 0. */
static int run_selected(const struct gw_selector_command *command, struct gw_client *client,
                        const struct gw_selector *selector)
{
    struct crew crew = {command, client,   selector,  PTHREAD_MUTEX_INITIALIZER,
                        0,       SIZE_MAX, GW_EXIT_OK};
    pthread_t threads[THREADS_MAX];
    size_t started = 0;
    if (command->at_once && selector->count >= AT_ONCE_MIN)
        while (started < THREADS_MAX && pthread_create(&threads[started], NULL, work, &crew) == 0)
            started++;
    (void)work(&crew);
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
    return crew.exit_code;
}

static int run_jobs(const struct gw_selector_command *command, struct gw_client *client,
                    const struct gw_selector_scope *scope, const char *text)
{
    struct gw_selector selector;
    struct gw_error error;
    int exit_code = GW_EXIT_OK;
    if (gw_selector_init(&selector, client, text, scope, &error) < 0)
        exit_code = gw_cli_error(&error);
    else
        exit_code = run_selected(command, client, &selector);
    gw_selector_deinit(&selector);
    return exit_code;
}

/* The jobs and tasks that all arguments name. */
struct targets {
    struct target {
        struct gw_selected_task task;
        bool ended;
        size_t order; /* position among the arguments */
    } * items;
    size_t count, room;
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
    if (targets->count == targets->room) {
        const size_t more = targets->room ? 2 * targets->room : 16;
        struct target *items = realloc(targets->items, more * sizeof *items);
        if (!items)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        targets->items = items;
        targets->room = more;
    }
    target.order = targets->count;
    targets->items[targets->count++] = target;
    return 0;
}

static int targets_find(struct targets *targets, const struct gw_selector_command *command,
                        struct gw_client *client, const struct gw_selector_scope *scope,
                        const char *text, struct gw_error *error)
{
    struct target target = {{0}, false, 0};
    struct gw_selector selector = {0};
    int rc;
    if (command->task && separator(text)) {
        rc = gw_selector_task(client, text, &target.task, error);
        return rc < 0 ? rc : targets_add(targets, target, error);
    }
    rc = gw_selector_init(&selector, client, text, scope, error);
    for (size_t i = 0; i < selector.count && rc == 0; i++) {
        target.task = (struct gw_selected_task){.job = selector.items[i].job, .whole = true};
        target.ended = selector.items[i].ended;
        rc = targets_add(targets, target, error);
    }
    gw_selector_deinit(&selector);
    return rc;
}

/* Whether an earlier entry is the same job or task. Entries of one job are adjacent. */
static bool is_again(const struct targets *targets, size_t at)
{
    const struct gw_selected_task *task = &targets->items[at].task;
    for (size_t i = at; i-- > 0 && targets->items[i].task.job == task->job;)
        if (targets->items[i].task.whole == task->whole &&
            (task->whole || targets->items[i].task.index == task->index))
            return true;
    return false;
}

/* Runs the command on all named jobs in the order of their numbers. If an argument cannot be
 * resolved, the others are still processed. */
static int run_by_number(const struct gw_selector_command *command, struct gw_client *client,
                         const struct gw_selector_scope *scope, char **texts)
{
    struct targets targets = {NULL, 0, 0};
    struct gw_error error;
    int exit_code = GW_EXIT_OK;
    for (; *texts; texts++)
        if (targets_find(&targets, command, client, scope, *texts, &error) < 0) {
            int code = gw_cli_error(&error);
            exit_code = exit_code ? exit_code : code;
        }
    if (targets.count > 0)
        qsort(targets.items, targets.count, sizeof *targets.items, by_job);
    for (size_t i = 0; i < targets.count; i++) {
        const struct target *target = &targets.items[i];
        const struct gw_selected job = {target->task.job, target->ended, false};
        if (is_again(&targets, i))
            continue;
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

static int run_each(const struct gw_selector_command *command, struct gw_client *client,
                    const struct gw_selector_scope *scope, char **texts)
{
    int exit_code = GW_EXIT_OK;
    for (; *texts; texts++) {
        int code = is_task(command, *texts) ? run_task(command, client, *texts)
                                            : run_jobs(command, client, scope, *texts);
        exit_code = exit_code ? exit_code : code;
    }
    return exit_code;
}

/* Refuses --state with anything else than "all": it could be taken for a filter of the others. */
static int check_state(const struct gw_selector_scope *scope, char **texts, struct gw_error *error)
{
    for (; *texts && scope->state; texts++)
        if (strcmp(*texts, "all") != 0)
            return gw_error_set(error, GW_EINVAL, "--state goes only with all, and not with %s",
                                *texts);
    return 0;
}

int gw_selector_run(const struct gw_selector_command *command, int argc, char **argv)
{
    struct gw_selector_scope scope = {.unfinished = command->unfinished};
    const struct gw_option table[] = {
        GW_OPTION_TABLE((void *)(uintptr_t)
                            command->options.table), /* the cast is safe: the table is only read */
        GW_SELECTOR_OPTIONS(&scope),
        {command->state ? "state" : NULL, 's', GW_OPTION_TEXT, &scope.state, "STATE",
         "all means only jobs in this state, like failed"},
        {0},
    };
    struct gw_options options = command->options;
    struct gw_client *client;
    struct gw_error error;
    int first, exit_code;
    options.table = table;
    options.arguments = command->task ? "JOB[/TASK]..." : "JOB...";
    options.arguments_min = 1;
    options.arguments_max = JOBS_MAX;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    for (int i = first; argv[i];
         i++) /* argv ends with NULL; with options, the arguments end before argc */
        if ((is_task(command, argv[i]) ? gw_selector_task_check : gw_selector_check)(argv[i],
                                                                                     &error) < 0)
            return gw_cli_error(&error);
    if (gw_selector_scope_check(&scope, &error) < 0 ||
        check_state(&scope, argv + first, &error) < 0)
        return gw_cli_error(&error);
    scope.state = scope.state ? scope.state : command->state;
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    exit_code =
        (command->by_number ? run_by_number : run_each)(command, client, &scope, argv + first);
    if (exit_code == GW_EXIT_OK && command->end)
        exit_code = command->end(client, command->arg);
    gw_client_close(client);
    return exit_code;
}

int gw_selector_scope_check(const struct gw_selector_scope *scope, struct gw_error *error)
{
    if (scope->user && scope->all_users)
        return gw_error_set(error, GW_EINVAL,
                            "--user and --all-users contradict each other: give one of them");
    return 0;
}
