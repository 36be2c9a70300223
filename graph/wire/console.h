/* What a terminal and the process behind it tell each other through a tunnel: frames of a kind, a
 * length and bytes. */
#ifndef GW_WIRE_CONSOLE_H
#define GW_WIRE_CONSOLE_H

#include "graph/wire/message.h"

enum gw_console_kind {
    GW_CONSOLE_IN = 'i',     /* to its standard input; no bytes: its end */
    GW_CONSOLE_SIZE = 'w',   /* of the terminal: rows, columns, two bytes each, little-endian */
    GW_CONSOLE_SIGNAL = 's', /* one byte: its number, for the process group */
    GW_CONSOLE_OUT = 'o',    /* its standard output */
    GW_CONSOLE_ERR = 'e',    /* its standard error */
    GW_CONSOLE_EXIT = 'x',   /* two bytes: exit code, and the signal that ended it or 0; the last */
    GW_CONSOLE_FAILED = 'f', /* a text: it could not be started; the last */
};

enum { GW_CONSOLE_HEAD_BYTES = 5, GW_CONSOLE_BYTES_MAX = 32 << 10 };

/* gw_console_head writes the head of a frame of so many bytes. */
void gw_console_head(uint8_t head[static GW_CONSOLE_HEAD_BYTES], enum gw_console_kind kind,
                     uint32_t bytes);

/* Reads frames out of a stream that comes in pieces. Zero-initialised is empty. */
struct gw_console {
    struct gw_buffer pending;
    size_t taken; /* of pending */
};

void gw_console_deinit(struct gw_console *console);

/* gw_console_feed adds what came; 0 or GW_ENOMEM. */
int gw_console_feed(struct gw_console *console, const void *data, size_t bytes);

/* gw_console_next gives the next whole frame (data: borrowed until the next feed): 1, 0 when more
 * must come first, or GW_EPROTO. */
int gw_console_next(struct gw_console *console, uint8_t *kind, struct gw_bin *data);

#endif
