/* MPI programs that nobody starts as MPI programs: Gangway serves no PMI, so that each rank of such
 * a gang would run alone, as rank 0 of 1.
 *
 * A library that is linked or loaded says little: libtorch, Horovod, HDF5 and VTK are linked to one
 * and never initialise it. A program counts that calls MPI_Init itself (or what only works behind
 * it), or that has loaded what is loaded by MPI_Init alone. A process that an MPI launcher started
 * (PMI or PMIx in its environment) and one with GANGWAY_MPI=none do not count. */
#ifndef GW_NET_MPI_H
#define GW_NET_MPI_H

#include "graph/wire/codec.h"

#include <stdbool.h>
#include <sys/types.h>

enum { GW_MPI_TEXT = 96 };

/* gw_mpi_file tells whether the program of an open file calls MPI_Init, and writes how that shows
 * ("it is linked to libmpi.so.40"). False for what is not a program of this machine. It may block.
 */
bool gw_mpi_file(int fd, char text[static GW_MPI_TEXT]);

/* gw_mpi_process tells the same of a running process. */
bool gw_mpi_process(pid_t pid, char text[static GW_MPI_TEXT]);

/* gw_mpi_is_meant tells whether an environment ("NAME=VALUE" strings) says that ranks may run
 * alone, or that an MPI launcher starts them. */
bool gw_mpi_is_meant(const struct gw_value *env);

/* gw_mpi_explain writes why a gang is refused for that, and what to do: GW_ESTART. */
int gw_mpi_explain(const char *program, const char *text, struct gw_error *error);

#endif
