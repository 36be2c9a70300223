/* The command of a trial: words in which {NAME} becomes the value of a parameter. */
#ifndef GW_CLI_TRIAL_TEMPLATE_H
#define GW_CLI_TRIAL_TEMPLATE_H

#include <gangway/search.h>
#include <stdbool.h>

/* gw_trial_template_expand replaces in each word {NAME} by the value of a parameter, and {trial} by
 * the number of the trial. A word with a parameter that the trial does not have is left out. Words
 * in braces that submit and dispatch replace later ({rank}, {{}) stay. *made ends with NULL; free
 * it with gw_trial_template_free. Returns 0 or GW_ENOMEM. */
int gw_trial_template_expand(char *const *words, const struct gw_trial *trial, char ***made);
void gw_trial_template_free(char **made);

/* gw_trial_template_check returns GW_EINVAL if a word has {NAME} with an unknown name. `known`
 * tells the names. */
int gw_trial_template_check(char *const *words, bool (*known)(const char *name, void *arg),
                            void *arg, struct gw_error *error);

#endif
