/* Makes the command of one trial: the words of the definition, with the values of its parameters,
 * as submit or dispatch would read them. */
#include "client/cli/sweep/trial_command.h"

#include "client/cli/launch/launch_options.h"
#include "client/cli/lib/table.h"
#include "client/cli/sweep/trial_folder.h"
#include "client/cli/sweep/trial_template.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds "--env NAME=VALUE" before the command. */
static int insert_env(char ***words, size_t *count, const char *name, const char *value)
{
    char **longer = realloc(*words, (*count + 3) * sizeof **words);
    char *flag = strdup("--env"), *line = NULL;
    if (longer)
        *words = longer;
    if (!longer || !flag || asprintf(&line, "%s=%s", name, value) < 0) {
        free(flag);
        return GW_ENOMEM;
    }
    memmove(longer + 3, longer + 1, *count * sizeof *longer);
    longer[1] = flag;
    longer[2] = line;
    *count += 2;
    return 0;
}

static char *params_json(const struct gw_value *params)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    const int rc = gw_table_json(out, params, true);
    if (fclose(out) != 0 || rc < 0) {
        free(text);
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static size_t count_words(char **words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

static int add_params(const struct gw_trial *trial, char ***words)
{
    size_t count = count_words(*words);
    char *json = params_json(trial->params);
    const int rc = json ? insert_env(words, &count, "GANGWAY_PARAMS", json) : GW_ENOMEM;
    free(json);
    return rc;
}

/* Whether the command of a trial needs its parameters as a variable. */
static bool reads_params(const struct gw_sweep_definition *d, const struct gw_trial *trial)
{
    bool reads = false;
    for (char **word = d->launch; *word; word++)
        reads |= strstr(*word, "GANGWAY_PARAMS") != NULL;
    for (size_t i = 0; i < gw_value_count(trial->params); i++)
        reads |= !gw_sweep_definition_uses(d, gw_value_key(trial->params, i));
    return reads;
}

/* The words of one trial for submit or dispatch, with its variables. */
static int trial_words(const struct gw_sweep_definition *d, const struct gw_trial *trial,
                       char ***words, int *argc)
{
    char number[16], folder[PATH_MAX];
    int rc = gw_trial_template_expand(d->launch, trial, words);
    if (rc < 0)
        return rc;
    (void)snprintf(number, sizeof number, "%" PRIu32, trial->number);
    rc = add_params(trial, words);
    size_t count = count_words(*words);
    if (rc == 0)
        rc = insert_env(words, &count, "GANGWAY_TRIAL", number);
    if (rc == 0 && d->trial_dirs &&
        gw_trial_folder_path(d->cwd, d->trial_dirs, trial->number, folder, NULL) == 0)
        rc = insert_env(words, &count, "GANGWAY_CHECKPOINT_DIR", folder);
    if (rc < 0)
        gw_trial_template_free(*words);
    *argc = (int)count;
    return rc;
}

static int make_node(const struct gw_sweep_definition *d, const struct gw_launch_options *typed,
                     struct gw_graph *graph, struct gw_sweep_task *made, struct gw_error *error)
{
    struct gw_task_options task = typed->task;
    char *annotations = NULL;
    const char **env = NULL;
    if (gw_launch_options_env(typed, &env) < 0 ||
        asprintf(&annotations, "%s%s%s", made->annotations, typed->annotated ? "," : "",
                 typed->annotated ? typed->annotated : "") < 0) {
        free(env);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    task.annotations = annotations;
    task.until_step = made->until_step ? made->until_step : task.until_step;
    const uint32_t ranks = task.ranks ? task.ranks : 1;
    made->slots = ranks * (task.slots ? task.slots : 1);
    made->gpus = task.gpu.count > 0 ? ranks * (uint32_t)task.gpu.count : 0;
    /* A task with shipped files has a folder of its own. */
    const char *cwd = typed->cwd || typed->ship.count ? typed->cwd : d->cwd;
    const struct gw_command command =
        GW_INIT(gw_command, .argv = typed->command, .env = env, .cwd = cwd,
                .env_templates = (uint32_t)typed->env.count, .epilog = typed->wrap.epilog);
    made->node = gw_graph_command(graph, &command, &task);
    free(env);
    free(annotations);
    return 0;
}

int gw_trial_command_make(const struct gw_trial *trial, struct gw_graph *graph,
                          struct gw_sweep_task *task, void *arg, struct gw_error *error)
{
    const struct gw_sweep_definition *d = arg;
    struct gw_launch_options typed;
    char **words;
    int argc, exit_code;
    int rc = d->trial_dirs && task->starts
                 ? gw_trial_folder_make(d->cwd, d->trial_dirs, trial, error)
                 : 0;
    if (rc < 0)
        return rc;
    rc = trial_words(d, trial, &words, &argc);
    if (rc < 0)
        return gw_error_set(error, rc, "out of memory");
    /* The parser reorders and borrows the words. */
    char **borrowed = calloc((size_t)argc + 1, sizeof *borrowed);
    if (borrowed)
        memcpy(borrowed, words, (size_t)argc * sizeof *borrowed);
    if (!borrowed)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    else if (!gw_launch_options_init(&typed, d->gang, argc, borrowed, &exit_code))
        rc = gw_error_set(error, GW_EINVAL, "the options of trial %" PRIu32 " are wrong: see above",
                          trial->number);
    else {
        rc = make_node(d, &typed, graph, task, error);
        gw_launch_options_deinit(&typed);
    }
    free(borrowed);
    gw_trial_template_free(words);
    return rc;
}

static bool is_plain(const char *word)
{
    return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "_-+=./:,@%^") == strlen(word);
}

char *gw_trial_command_text(const struct gw_sweep_definition *d, const struct gw_trial *trial)
{
    char **words, *text = NULL;
    size_t bytes;
    if (gw_trial_template_expand(d->launch, trial, &words) < 0)
        return NULL;
    if (reads_params(d, trial) && add_params(trial, &words) < 0) {
        gw_trial_template_free(words);
        return NULL;
    }
    FILE *out = open_memstream(&text, &bytes);
    if (out)
        (void)fprintf(out, "gangway");
    for (char **word = words; out && *word; word++) {
        (void)fprintf(out, is_plain(*word) ? " %s" : " '", *word);
        for (const char *at = is_plain(*word) ? "" : *word; *at; at++)
            (void)fprintf(out, *at == '\'' ? "'\\''" : "%c", *at);
        if (!is_plain(*word))
            (void)fputc('\'', out);
    }
    gw_trial_template_free(words);
    if (!out || fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
