/* Planted bugs. In gangway-sim-planted, GW_PLANTED(n) is true if the run looks for bug n. In all
 * other programs it is 0. See mutants.def. */
#ifndef GW_SIM_PLANTED_H
#define GW_SIM_PLANTED_H

#ifdef GANGWAY_PLANTED
extern int gw_planted;
#define GW_PLANTED(n) (gw_planted == (n))
#else
#define GW_PLANTED(n) 0
#endif

#endif
