/* Writes output into files: one stream after the other, each copied piece by piece from its worker.
 */
#include "client/cli/launch/log_files.h"

#include "client/cli/lib/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct writer {
    const struct gw_tail_options *options;
    char note[GW_LOG_NOTE_MAX]; /* why the output may be incomplete */
};

static int make_folder(const char *path, struct gw_error *error)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return 0;
    return gw_error_set(error, GW_EIO, "%s cannot be made: %s", path, strerror(errno));
}

static int copy(struct writer *writer, struct gw_log_request *request, FILE *file,
                struct gw_error *error)
{
    for (bool end = false; !end;) {
        struct gw_log_chunk chunk;
        const void *data = NULL;
        size_t bytes = 0;
        int rc = gw_job_log(writer->options->client, request, &chunk, error);
        if (rc < 0)
            return rc;
        gw_value_get_bytes(chunk.data, &data, &bytes, NULL);
        if (chunk.left_out > 0)
            gw_cli_message_left_out(chunk.left_out,
                                    writer->options->ranks ? (int)request->rank : -1,
                                    request->stream == 2);
        bool written = fwrite(data, 1, bytes, file) == bytes;
        gw_value_unref(chunk.data);
        if (!written)
            return GW_EIO;
        if (*chunk.note)
            memcpy(writer->note, chunk.note, sizeof writer->note);
        request->attempt = chunk.attempt;
        request->offset = chunk.next_offset;
        end = chunk.end || (bytes == 0 && chunk.left_out == 0);
    }
    return 0;
}

static int write_stream(struct writer *writer, struct gw_log_request request, const char *folder,
                        struct gw_error *error)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, request.stream == 1 ? "stdout" : "stderr");
    if (n < 0 || (size_t)n >= sizeof path)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the path, or a path below it, is longer than %d bytes", folder,
                            PATH_MAX - 1);
    FILE *file = fopen(path, "w");
    if (!file)
        return gw_error_set(error, GW_EIO, "%s cannot be written: %s", path, strerror(errno));
    error->code = 0;
    int rc = copy(writer, &request, file, error);
    if (fclose(file) != 0 && rc == 0)
        rc = GW_EIO;
    if (rc == GW_EIO && error->code == 0)
        gw_error_set(error, GW_EIO, "%s cannot be written: %s", path, strerror(errno));
    return rc;
}

static int write_rank(struct writer *writer, uint32_t rank, const char *folder,
                      struct gw_error *error)
{
    const struct gw_tail_options *options = writer->options;
    struct gw_log_request request =
        GW_INIT(gw_log_request, .job = options->job, .index = options->index,
                .attempt = options->attempt, .rank = rank, .since_ns = options->since_ns);
    int rc = make_folder(folder, error);
    for (request.stream = 1; rc == 0 && request.stream <= 2; request.stream++)
        if (request.stream == 1 ? options->out : options->err)
            rc = write_stream(writer, request, folder, error);
    return rc;
}

static int write_all(struct writer *writer, const char *folder, struct gw_error *error)
{
    const struct gw_tail_options *options = writer->options;
    char path[PATH_MAX];
    if (options->ranks == 0)
        return write_rank(writer, 0, folder, error);
    int rc = make_folder(folder, error);
    for (uint32_t rank = 0; rc == 0 && rank < options->ranks; rank++) {
        if (options->rank >= 0 && rank != (uint32_t)options->rank)
            continue;
        int n = snprintf(path, sizeof path, "%s/rank.%03u", folder, rank);
        if (n < 0 || (size_t)n >= sizeof path)
            return gw_error_set(error, GW_EINVAL,
                                "%s: the path, or a path below it, is longer than %d bytes", folder,
                                PATH_MAX - 1);
        rc = write_rank(writer, rank, path, error);
    }
    return rc;
}

int gw_log_files_write(const struct gw_tail_options *options, const char *folder,
                       struct gw_error *error)
{
    struct writer writer = {.options = options};
    int rc = write_all(&writer, folder, error);
    if (*writer.note)
        gw_cli_message("gangway: %s", writer.note);
    return rc;
}
