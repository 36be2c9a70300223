/* The annotations by which a sweep recognises the jobs of its trials. */
#ifndef GW_SWEEP_TRIAL_RECORD_H
#define GW_SWEEP_TRIAL_RECORD_H

#include <gangway/value.h>
#include <stdint.h>

/* One start of a trial. */
struct gw_trial_record {
    uint32_t start; /* 0, 1, 2 ... in the order in which the sweep started trials */
    uint32_t batch; /* the first start that was submitted with this one: the cluster may lack starts
                       from this number on, although it has this one */
    uint32_t trial;
    uint64_t seen;          /* events up to this number were handled before the start */
    const char *held;       /* "START:SEEN ..." of earlier starts that were not submitted before
                               this one; "" */
    const char *params;     /* gw_trial_record_params */
    const char *definition; /* NULL: the one of an earlier start */
    const char *unfit;      /* why the cluster cannot run the trial: its job only says so; NULL: it
                               runs the trial */
};

enum { GW_TRIAL_RECORD_BYTES = 4096 };

/* gw_trial_record_write writes the annotations of a start. GW_ELIMIT: they are too long. */
int gw_trial_record_write(const struct gw_trial_record *record, const char *sweep,
                          char text[static GW_TRIAL_RECORD_BYTES], struct gw_error *error);

/* gw_trial_record_read reads the annotations of a job, a dict of texts. The texts of the record are
 * malloced; gw_trial_record_deinit frees them. GW_EINVAL: it is not the job of a trial. GW_ENOMEM.
 */
int gw_trial_record_read(const struct gw_value *annotations, struct gw_trial_record *record);
void gw_trial_record_deinit(struct gw_trial_record *record);

/* gw_trial_record_params returns the params of a trial as "lr=0.01 batch=64", with all digits. The
 * caller frees it. NULL: out of memory. */
char *gw_trial_record_params(const struct gw_value *params);

#endif
