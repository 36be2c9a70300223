/* The supervisor: one small process per worker. It starts all processes of users, and makes sure
 * that each ends with all its descendants. README.md says how it finds them. */
#ifndef GW_SUPERVISOR_SUPERVISOR_H
#define GW_SUPERVISOR_SUPERVISOR_H

/* gw_supervisor_main is the main function of `gangway supervisor [FOLDER]`. It exchanges spawn,
 * reap, spawned, exited and reaped (graph/wire/messages.def) with its worker on descriptor 3. When
 * this is closed, it ends all processes, removes FOLDER (the worker's own, which a killed worker
 * cannot remove) and returns its exit code. After the worker's first heartbeat, a silence of 10 s
 * makes it kill everything, as a reap without grace does. Each process gets exactly one `spawned`.
 * If that reports a start, exactly one `exited` and then exactly one `reaped` follow. The function
 * must be called before other threads exist. It blocks all signals for good and closes all other
 * descriptors. */
int gw_supervisor_main(int argc, char **argv);

#endif
