/* Options and commands as other tools call them: Slurm, torchrun, mpiexec, docker. */
#ifndef GW_CLI_SYNONYM_H
#define GW_CLI_SYNONYM_H

#include <stdbool.h>

/* An option. If a command has one of the options that it means, it is read as that option; else the
 * answer is printed, as a mistake. A command's own option of that name or letter comes first. */
struct gw_synonym {
    const char *name;     /* without dashes; NULL ends a table */
    char letter;          /* or 0 */
    const char *meant[2]; /* names in the table of the command, or NULL */
    const char *answer;   /* what to type instead; NULL: the option is then unknown */
    bool minutes;         /* there a number alone is minutes, here seconds: it is refused */
};

/* gw_synonym_launch is the table of `submit` and `dispatch`, gw_synonym_explain of `explain`. */
extern const struct gw_synonym gw_synonym_launch[];
extern const struct gw_synonym gw_synonym_explain[];

/* gw_synonym_command tells what to type instead of a command of another tool; NULL: not known. */
const char *gw_synonym_command(const char *name);

#endif
