/* Follows the output of a task from attempt to attempt. */
#include "examples/rank_log.h"

#include <stdio.h>

/* Prints one attempt, and returns its number; 0 if there is none, or it cannot be read. */
static uint64_t print_attempt(struct gw_client *client, struct gw_log_request request)
{
    struct gw_log_chunk chunk = {0};
    struct gw_error error;
    while (!chunk.end) {
        const void *data;
        size_t bytes;
        if (gw_job_log(client, &request, &chunk, &error) < 0)
            return 0;
        if (gw_value_get_bytes(chunk.data, &data, &bytes, &error) >= 0)
            (void)fwrite(data, 1, bytes, stdout);
        (void)fflush(stdout);
        gw_value_unref(chunk.data);
        request.attempt = chunk.attempt;
        request.offset = chunk.next_offset;
    }
    return chunk.attempt;
}

void rank_log_print(struct gw_client *client, const struct gw_future *future, bool from_latest)
{
    struct gw_log_request request =
        GW_INIT(gw_log_request, .job = gw_future_job(future), .index = gw_future_index(future),
                .stream = 1, .follow = true, .after = from_latest ? 0 : 1);
    while ((request.after = print_attempt(client, request)) > 0)
        request.attempt = 0;
}
