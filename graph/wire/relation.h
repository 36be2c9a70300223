/* Relations between the fields of a message: which columns describe the same rows, which cut a blob
 * or other columns. What messages.def says about them in words, as a table. */
#ifndef GW_WIRE_RELATION_H
#define GW_WIRE_RELATION_H

#include "graph/wire/messages.h"

enum gw_relation_kind {
    GW_RELATION_ROWS = 1, /* a and b have equal counts */
    GW_RELATION_CUTS,     /* the numbers in a sum up to the count or size of b */
    GW_RELATION_HASH,     /* a is a SHA-256 */
    GW_RELATION_HASHES,   /* a is any number of them */
};

struct gw_relation {
    enum gw_relation_kind kind;
    uint16_t a, b; /* offsets of fields in struct gw_message */
};

/* gw_relation_of gives the relations of a type, ended by one of kind 0; static. */
const struct gw_relation *gw_relation_of(uint32_t type);

/* gw_relation_holds tells whether the fields of a message agree. */
bool gw_relation_holds(const struct gw_relation *relation, const struct gw_message *message);

#endif
