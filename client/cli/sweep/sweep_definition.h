/* The options of `gangway sweep`: a search, and the command of its trials. */
#ifndef GW_CLI_SWEEP_DEFINITION_H
#define GW_CLI_SWEEP_DEFINITION_H

#include "client/cli/lib/options.h"

#include <gangway/gangway.h>

struct gw_sweep_definition {
    char **words; /* all words after `sweep`, owned, NULL-terminated */
    char *cwd;    /* the folder in which the sweep was begun; owned */

    /* The options, as they were typed; texts are in `words`. */
    const char *name, *minimize, *maximize, *method, *space, *target;
    const char *asha, *median, *population, *trial_dirs, *seed, *max_steps;
    const char *out, *mlflow, *experiment, *account, *queue, *notify;
    struct gw_option_texts params, derived, required, first;
    uint32_t trials, failures, patience, parallel, startup;
    uint64_t time_budget_ns;
    bool detached, json, quiet, dry_run;
    bool continues; /* a sweep of this name may exist */

    struct gw_search_options search;
    const char *metric;
    char **launch;  /* words for submit or dispatch, with templates; borrowed; owned array */
    bool gang;      /* dispatch */
    char given[80]; /* a name that was made up */
    char **own;     /* words of the options above; owned array */
};

/* gw_sweep_definition_init reads the words after `sweep`, and copies them. cwd NULL: the present
 * folder. `verbs` are listed in the help; or NULL. If it returns false, exit with *exit_code: an
 * error or the help was printed. gw_sweep_definition_deinit also accepts a definition of zeros. */
bool gw_sweep_definition_init(struct gw_sweep_definition *definition, char *const *words,
                              const char *cwd, const struct gw_cli_command *verbs, int *exit_code);
void gw_sweep_definition_deinit(struct gw_sweep_definition *definition);

/* gw_sweep_definition_space makes the space, which the caller frees. Errors: those of gw_space_add.
 */
int gw_sweep_definition_space(const struct gw_sweep_definition *definition, struct gw_space **space,
                              struct gw_error *error);

/* gw_sweep_definition_uses tells whether a word, a derived parameter, a condition or a constraint
 * uses a parameter. If none does, only GANGWAY_PARAMS tells the program its value. */
bool gw_sweep_definition_uses(const struct gw_sweep_definition *definition, const char *name);

/* gw_sweep_definition_extend changes the number of trials, also in the words. Returns 0 or
 * GW_ENOMEM.
 */
int gw_sweep_definition_extend(struct gw_sweep_definition *definition, uint32_t trials);

/* gw_sweep_definition_text returns the definition as JSON; the caller frees it. NULL: out of
 * memory. gw_sweep_definition_parse reads such a text: *words is NULL-terminated; the caller frees
 * it with gw_trial_template_free, and *cwd. GW_ECORRUPT: it is none. */
char *gw_sweep_definition_text(const struct gw_sweep_definition *definition);
int gw_sweep_definition_parse(const char *text, char ***words, char **cwd, struct gw_error *error);

#endif
