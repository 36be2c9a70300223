/* Output of a task on this terminal: one reader for each rank and stream, lines under one lock. */
#ifndef GW_CLI_TAIL_H
#define GW_CLI_TAIL_H

#include <gangway/gangway.h>

struct gw_tail_options {
    struct gw_client *client; /* all borrowed, longer than it lives */
    uint64_t job;
    uint32_t index;
    uint64_t attempt;         /* 0: the latest */
    uint32_t ranks;           /* 0: an ordinary task */
    int32_t rank;             /* only this one; -1: all */
    bool out, err;            /* which streams; both go to this process's own of the same kind */
    bool follow;              /* until the attempt has ended */
    bool onwards;             /* with follow: then the next one, until the task has ended */
    bool json;                /* a line of JSON for each line, on stdout */
    bool tail;                /* of what is there already only the last lines, of each stream */
    uint32_t lines;           /* with tail: so many */
    bool holds;               /* the task waits for this reader: gw_command.held_output */
    struct gw_future *future; /* with follow: until it has ended, over all attempts; or NULL */
};

struct gw_tail;

/* gw_tail_open begins to print, on threads of its own. 0, GW_ENOMEM. gw_tail_close waits until
 * all is printed, says on stderr why there may be less than was written (unless the future failed:
 * its error says it), and frees; gives the first reader's error (GW_ENOENT, say), or 0. */
int gw_tail_open(const struct gw_tail_options *options, struct gw_tail **stream);
int gw_tail_close(struct gw_tail *stream, struct gw_error *error);

#endif
