/* Detects MPI programs that were not started by an MPI launcher. Gangway does not provide PMI, so
 * each rank of such a gang would run alone, as rank 0 of 1.
 *
 * A linked or loaded MPI library is no proof: libtorch, Horovod, HDF5 and VTK are linked to one and
 * never initialise it. A program counts if it calls MPI_Init itself (or a function that works only
 * after it), or if its process has loaded files that only MPI_Init loads. A process that an MPI
 * launcher started (PMI or PMIx in its environment) or that has GANGWAY_MPI=none does not count. */
#ifndef GW_NET_MPI_H
#define GW_NET_MPI_H

#include "graph/wire/codec.h"

#include <stdbool.h>
#include <sys/types.h>

enum { GW_MPI_TEXT = 96 };

/* gw_mpi_file returns true if an executable file calls MPI_Init, and writes the evidence ("it is
 * linked to libmpi.so.40"). Returns false if the file is not a program for this machine. May block.
 */
bool gw_mpi_file(int fd, char text[static GW_MPI_TEXT]);

/* gw_mpi_process does the same for a running process. */
bool gw_mpi_process(pid_t pid, char text[static GW_MPI_TEXT]);

/* gw_mpi_is_meant returns true if an environment ("NAME=VALUE" strings) says that ranks may run
 * alone or that an MPI launcher starts them. */
bool gw_mpi_is_meant(const struct gw_value *env);

/* gw_mpi_explain sets an error that explains why the gang is refused and what to do. Returns
 * GW_ESTART. */
int gw_mpi_explain(const char *program, const char *text, struct gw_error *error);

#endif
