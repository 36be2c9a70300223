/* The same measurement as in rank.c, with MPI. compare.py builds it with the machine's mpicc. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank, ranks;
    struct timespec now;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double value = rank + 1, sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (sum != ranks * (ranks + 1) / 2.)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf("reduced %.9f\n", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    MPI_Finalize();
    return 0;
}
