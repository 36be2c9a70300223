/* Planted bugs: GW_PLANTED(n) is 0 everywhere but in the test build that wants to know whether the
 * simulator would find bug n. There the simulator switches one on. See tests/sim. */
#ifndef GW_BASE_PLANTED_H
#define GW_BASE_PLANTED_H

#ifdef GANGWAY_PLANTED
extern int gw_planted;
#define GW_PLANTED(n) (gw_planted == (n))
#else
#define GW_PLANTED(n) 0
#endif

#endif
