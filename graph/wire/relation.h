/* Relations between the fields of a message, as a table: which columns describe the same rows, and
 * which columns hold the sizes of parts of another field. messages.def describes them in words. */
#ifndef GW_WIRE_RELATION_H
#define GW_WIRE_RELATION_H

#include "graph/wire/messages.h"

enum gw_relation_kind {
    GW_RELATION_ROWS = 1, /* a and b have equal counts */
    GW_RELATION_CUTS,     /* the sum of the numbers in a is the count or size of b */
    GW_RELATION_HASH,     /* a is a SHA-256 */
    GW_RELATION_HASHES,   /* a is any number of SHA-256 hashes */
};

struct gw_relation {
    enum gw_relation_kind kind;
    uint16_t a, b; /* offsets of fields in struct gw_message */
};

/* gw_relation_of returns the relations of a type of message. The list ends with an entry of kind 0.
 * It is static. */
const struct gw_relation *gw_relation_of(uint32_t type);

/* gw_relation_holds returns true if a message satisfies the relation. */
bool gw_relation_holds(const struct gw_relation *relation, const struct gw_message *message);

#endif
