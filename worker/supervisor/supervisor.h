/* The supervisor: one small process a worker, which starts every process of users and buries each
 * with all of its descendants. See README.md for how it knows them. */
#ifndef GW_SUPERVISOR_SUPERVISOR_H
#define GW_SUPERVISOR_SUPERVISOR_H

/* gw_supervisor_main is `gangway supervisor [FOLDER]`: it speaks spawn, bury, spawned, exited and
 * buried (graph/wire/messages.def) with its worker on descriptor 3, and returns its exit code when
 * that closes, after the last descendant of all it ever started has ended and FOLDER, the worker's
 * own, was removed: a worker that was killed cannot do so. From the worker's first heartbeat on,
 * 10 s without a word from it end all that runs, as a bury without grace would. A process has
 * exactly one `spawned`; where that says that it runs, exactly one `exited`, then exactly one
 * `buried`. Called before other threads exist; it blocks all signals for good and closes all other
 * descriptors. */
int gw_supervisor_main(int argc, char **argv);

#endif
