/* The measurements of comm_bench with MPI: medians of rank 0's times for sums of floats, in place,
 * each after a barrier. Prints one line of JSON per size. compare.py builds it with the machine's
 * mpicc. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const struct {
        int bytes, times;
    } lines[] = {{4096, 4000}, {1 << 20, 400}, {26000000, 30}, {105000000, 15}};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        double *times = malloc((size_t)lines[i].times * sizeof *times);
        float *data = malloc((size_t)lines[i].bytes);
        if (!times || !data)
            MPI_Abort(MPI_COMM_WORLD, 1);
        memset(data, 0, (size_t)lines[i].bytes);
        for (int k = -3; k < lines[i].times; k++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, data, lines[i].bytes / 4, MPI_FLOAT, MPI_SUM,
                          MPI_COMM_WORLD);
            if (k >= 0)
                times[k] = MPI_Wtime() - start;
        }
        qsort(times, (size_t)lines[i].times, sizeof *times, by_value);
        if (rank == 0)
            printf("{\"bytes\":%d,\"us\":%.3f}\n", lines[i].bytes, times[lines[i].times / 2] * 1e6);
        free(times);
        free(data);
    }
    MPI_Finalize();
    return 0;
}
