/* Names of options and commands in other tools: Slurm, torchrun, mpiexec, docker, kubectl. */
#ifndef GW_CLI_SYNONYM_H
#define GW_CLI_SYNONYM_H

#include <stdbool.h>
#include <stddef.h>

/* An option of another tool. If the command has one of the options in `meant`, the word is read as
 * that option. Otherwise `answer` is printed as an error. If the command itself has an option with
 * this name or letter, that option is used. */
struct gw_synonym {
    const char *name;     /* without dashes; NULL ends a table */
    char letter;          /* or 0 */
    const char *meant[2]; /* options with this meaning, or NULL */
    const char *answer;   /* advice what to type instead; NULL: report an unknown option */
    bool minutes; /* a number without a unit is refused, because it means minutes there and seconds
                     here */
};

/* gw_synonym_launch is the table for `submit` and `dispatch`; the others are for the command in
 * their name. */
extern const struct gw_synonym gw_synonym_launch[];
extern const struct gw_synonym gw_synonym_exec[];
extern const struct gw_synonym gw_synonym_explain[];
extern const struct gw_synonym gw_synonym_jobs[];
extern const struct gw_synonym gw_synonym_logs[];
extern const struct gw_synonym gw_synonym_sweep[];      /* beside those of gw_synonym_launch */
extern const struct gw_synonym gw_synonym_sweep_show[]; /* and for the other verbs that show */
extern const struct gw_synonym gw_synonym_top[];
extern const struct gw_synonym gw_synonym_up[];
extern const struct gw_synonym gw_synonym_wait[];

/* gw_synonym_command returns advice what to type instead of a command of another tool, or NULL if
 * the command is not known. */
const char *gw_synonym_command(const char *name);

/* gw_synonym_verb_answer returns advice what to type instead of a verb that the command does not
 * have, or NULL. */
const char *gw_synonym_verb_answer(const char *command, const char *name);

/* gw_synonym_verb returns the verbs that clearly mean the same as the verb `name`, one by one, then
 * NULL. *at is 0 at first. A command has at most some of these verbs. */
const char *gw_synonym_verb(const char *name, size_t *at);

#endif
