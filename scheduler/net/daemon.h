/* The scheduler process: `gangway scheduler`, which `up`, clients and service managers start. */
#ifndef GW_SCHEDULER_NET_DAEMON_H
#define GW_SCHEDULER_NET_DAEMON_H

/* gw_daemon_main runs a scheduler until it is told to end; returns the exit code. Options:
 *   --dir DIR          its folder: scheduler.sock, logs, programs (made, mode 0700)
 *   --default          DIR is the user's default: the socket lies in the user's folder for those,
 *                      and DIR has a link to it
 *   --workers K        start K workers on this machine, and again when one dies (default 0)
 *   --peers HOST       where its workers reach each other, by TLS (default: descriptors)
 *   --slots N          slots of all of them (default: the cores)
 *   --private          of one client: removes DIR at its end
 *   --lifeline FD      ends when FD reads end-of-file
 *   --ready-fd FD      writes "ready\n" there when all its workers have registered, then closes it
 *   --scatter-memory BYTES  values that clients scatter (default: half of what it may use)
 *   --orphan-timeout MS  how long what its workers run outlives it (default: theirs; 0: not at all)
 *   --log-max BYTES    of its log, and of each of its workers', before it begins anew (default:
 *                      GW_LOG_BYTES_MAX)
 *   --idle-stop SECONDS  ends after so long without clients and unfinished jobs (default: never) */
int gw_daemon_main(int argc, char **argv);

#endif
