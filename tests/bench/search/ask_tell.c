/* A search that a script drives: `ask_tell METHOD SEED TRIALS PARAM...` prints the parameters of
 * each trial as a line, name=value ..., and reads its value as a line. METHOD: random, sobol or
 * tpe. GANGWAY_STARTUP: random trials before TPE. GANGWAY_ASHA: steps of a trial; ASHA with
 * promotion then reads a value for each step and answers with a line, `continue` or `end`, and a
 * trial's line begins with its number and the step that it has reached. The end of the input ends
 * the search. */
#include <gangway/search.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_trial(const struct gw_trial *trial)
{
    for (size_t i = 0; i < gw_value_count(trial->params); i++) {
        const struct gw_value *value = gw_value_at(trial->params, i);
        const char *text;
        double x;
        if (gw_value_get_f64(value, &x, NULL) == 0)
            printf("%s=%.17g ", gw_value_key(trial->params, i), x);
        else if (gw_value_get_str(value, &text, NULL) == 0)
            printf("%s=%s ", gw_value_key(trial->params, i), text);
    }
    printf("\n");
    fflush(stdout);
}

static int read_value(double *value, struct gw_error *error)
{
    char line[128];
    if (!fgets(line, sizeof line, stdin))
        return gw_error_set(error, GW_ENOENT, "the input has ended");
    *value = strtod(line, NULL);
    return 0;
}

/* Reads the values of a trial up to its next rung. */
static int run_steps(struct gw_search *search, const struct gw_trial *trial, double *value,
                     enum gw_trial_state *state, struct gw_error *error)
{
    enum gw_decision decision = GW_DECISION_CONTINUE;
    uint64_t step = trial->step;
    while (decision == GW_DECISION_CONTINUE) {
        int rc = read_value(value, error);
        if (rc == 0)
            rc = gw_search_tell(search, trial->number, ++step, *value, &decision, error);
        if (rc < 0)
            return rc;
        puts(decision == GW_DECISION_CONTINUE ? "continue" : "end");
        fflush(stdout);
    }
    *state = decision == GW_DECISION_PAUSE ? GW_TRIAL_PAUSED : GW_TRIAL_DONE;
    return 0;
}

static int run(struct gw_search *search, bool asha, struct gw_error *error)
{
    const struct gw_trial *trial;
    double value = 0;
    int rc;
    while ((rc = gw_search_ask(search, 0, &trial, error)) == 0) {
        enum gw_trial_state state = GW_TRIAL_DONE;
        if (asha)
            printf("number=%u step=%" PRIu64 " ", trial->number, trial->step);
        print_trial(trial);
        rc = asha ? run_steps(search, trial, &value, &state, error) : read_value(&value, error);
        if (rc == 0)
            rc = gw_search_end(search, trial->number, state, value, error);
        if (rc < 0)
            break;
    }
    return rc == GW_ENOENT ? 0 : rc;
}

static uint64_t read_setting(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    struct gw_error error = {0};
    struct gw_space *space = gw_space_new();
    struct gw_search *search = NULL;
    if (argc < 5) {
        fprintf(stderr, "usage: ask_tell METHOD SEED TRIALS PARAM...\n");
        return 2;
    }
    int rc = 0;
    for (int i = 4; rc == 0 && i < argc; i++)
        rc = gw_space_add(space, argv[i], &error);
    const enum gw_search_method method = strcmp(argv[1], "tpe") == 0     ? GW_SEARCH_TPE
                                         : strcmp(argv[1], "sobol") == 0 ? GW_SEARCH_SOBOL
                                                                         : GW_SEARCH_RANDOM;
    const uint64_t steps = read_setting("GANGWAY_ASHA");
    const struct gw_search_options options =
        GW_INIT(gw_search_options, .method = method, .seed = strtoull(argv[2], NULL, 10),
                .startup = (uint32_t)read_setting("GANGWAY_STARTUP"),
                .trials = (uint32_t)strtoul(argv[3], NULL, 10), .max_steps = steps,
                .pruner = steps ? GW_PRUNE_ASHA_PROMOTE : GW_PRUNE_NOTHING);
    if (rc < 0)
        gw_space_free(space);
    else
        rc = gw_search_new(space, &options, &search, &error);
    if (rc == 0)
        rc = run(search, steps > 0, &error);
    gw_search_free(search);
    if (rc < 0)
        fprintf(stderr, "ask_tell: %s\n", error.text);
    return rc < 0;
}
