/* Optuna's journal files: JournalStorage(JournalFileBackend(path)) and optuna-dashboard open them.
 */
#ifndef GW_SWEEP_OPTUNA_H
#define GW_SWEEP_OPTUNA_H

#include "client/sweep/export/study.h"

#include <stdio.h>

/* gw_optuna_write writes the study with all trials. A paused trial counts as pruned: nothing runs
 * it. A derived parameter becomes an attribute of the trial, because Optuna did not choose it.
 * Times are local times, as Optuna writes them. Errors of writing are left to the stream. */
void gw_optuna_write(FILE *out, const struct gw_study *study);

#endif
