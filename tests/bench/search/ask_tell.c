/* A search that a script drives: `ask_tell METHOD SEED TRIALS PARAM...` prints the parameters of
 * each trial as a line, name=value ..., and reads its value as a line. METHOD: random, sobol or
 * tpe. Ends with 1 if a value is missing. */
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

static int run(struct gw_search *search, struct gw_error *error)
{
    const struct gw_trial *trial;
    char line[128];
    int rc;
    while ((rc = gw_search_ask(search, 0, &trial, error)) == 0) {
        print_trial(trial);
        if (!fgets(line, sizeof line, stdin))
            return gw_error_set(error, GW_EIO, "a value is missing");
        rc = gw_search_end(search, trial->number, GW_TRIAL_DONE, strtod(line, NULL), error);
        if (rc < 0)
            return rc;
    }
    return rc == GW_ENOENT ? 0 : rc;
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
    const struct gw_search_options options =
        GW_INIT(gw_search_options, .method = method, .seed = strtoull(argv[2], NULL, 10),
                .trials = (uint32_t)strtoul(argv[3], NULL, 10));
    if (rc < 0)
        gw_space_free(space);
    else
        rc = gw_search_new(space, &options, &search, &error);
    if (rc == 0)
        rc = run(search, &error);
    gw_search_free(search);
    if (rc < 0)
        fprintf(stderr, "ask_tell: %s\n", error.text);
    return rc < 0;
}
