/* Prints the output of a task on this terminal: one reader for each rank and stream, and a lock for
 * each output. */
#ifndef GW_CLI_TAIL_H
#define GW_CLI_TAIL_H

#include <gangway/gangway.h>

struct gw_tail_options {
    struct gw_client *client; /* all pointers are borrowed and outlive the tail */
    uint64_t job;
    uint32_t index;
    uint64_t attempt;  /* 0: the latest attempt */
    uint32_t ranks;    /* 0: an ordinary task */
    int32_t rank;      /* only this rank; -1: all */
    bool out, err;     /* the streams of the task to print: its standard output to the standard
                          output of this process, and its standard error to the standard error */
    bool follow;       /* print new output until the attempt has ended */
    bool onwards;      /* only with `follow`: after the end of an attempt, continue with the next
                          one, until the task has ended */
    bool json;         /* print one line of JSON for each line, on stdout */
    bool tail;         /* of existing output, print only the last lines of each stream */
    uint32_t lines;    /* with tail: number of lines */
    uint64_t since_ns; /* print only output since this time; 0: all */
    bool timestamps;   /* print the time before each line */
    bool holds;        /* the task waits for this reader: gw_command.held_output */
    struct gw_future *future; /* with follow: go on until it has ended; or NULL */
};

struct gw_tail;

/* gw_tail_open starts threads that print the output. Returns 0 or GW_ENOMEM. gw_tail_close waits
 * until everything is printed and frees the tail. If the output may be incomplete, it prints the
 * reason on stderr (but not if the future has failed: its error contains the reason). It returns
 * the error of the first reader, for example GW_ENOENT, or 0. */
int gw_tail_open(const struct gw_tail_options *options, struct gw_tail **stream);
int gw_tail_close(struct gw_tail *stream, struct gw_error *error);

#endif
