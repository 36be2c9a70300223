/* The protocol between a terminal and the process that it controls through a tunnel. A frame has a
 * kind, a length and bytes. */
#ifndef GW_WIRE_CONSOLE_H
#define GW_WIRE_CONSOLE_H

#include "graph/wire/message.h"

enum gw_console_kind {
    GW_CONSOLE_IN = 'i', /* input for the process; no bytes: end of the input */
    GW_CONSOLE_SIZE =
        'w', /* size of the terminal: rows and columns, two bytes each, little-endian */
    GW_CONSOLE_SIGNAL = 's', /* one byte: number of a signal for the process group */
    GW_CONSOLE_OUT = 'o',    /* standard output of the process */
    GW_CONSOLE_ERR = 'e',    /* standard error of the process */
    GW_CONSOLE_EXIT =
        'x', /* two bytes: exit code, and the signal that ended it or 0; the last frame */
    GW_CONSOLE_FAILED = 'f', /* a text: why it could not be started; the last frame */
};

enum { GW_CONSOLE_HEAD_BYTES = 5, GW_CONSOLE_BYTES_MAX = 32 << 10 };

/* gw_console_head writes the header of a frame with `bytes` bytes of data. */
void gw_console_head(uint8_t head[static GW_CONSOLE_HEAD_BYTES], enum gw_console_kind kind,
                     uint32_t bytes);

/* A parser for a stream of frames that arrives in pieces. A zero-initialised parser is empty. */
struct gw_console {
    struct gw_buffer pending;
    size_t taken; /* bytes of pending that were parsed */
};

void gw_console_deinit(struct gw_console *console);

/* gw_console_feed adds received bytes. Returns 0 or GW_ENOMEM. */
int gw_console_feed(struct gw_console *console, const void *data, size_t bytes);

/* gw_console_next returns the next complete frame; data is borrowed until the next gw_console_feed.
 * Returns 1, 0 if no complete frame has arrived, or GW_EPROTO. */
int gw_console_next(struct gw_console *console, uint8_t *kind, struct gw_bin *data);

#endif
