/* Copies of results. Clients request copies and are told how many exist. Checks: a worker that
 * reports a copy has it, and a worker drops a copy that is released while it fetches it. */
#include "tests/sim/faults/crash.h"
#include "tests/sim/sim.h"

#include <stdio.h>

/* -- Clients -------------------------------------------------------------------------------------
 */

void sim_replica_ask(struct sim *sim, struct client *client, const struct work *work)
{
    static const char *const names[] = {"", "", "", "worker-0", "host-0", "worker-0,worker-1"};
    uint32_t copies = (uint32_t)sim_below(sim, 4);
    uint64_t request = sim_client_call(client, GW_MESSAGE_replicated);
    GW_MUST(gw_map_put(&client->replicating, request, work->id << 8 | copies));
    struct gw_message message = {.type = GW_MESSAGE_replicate};
    message.replicate =
        (struct gw_msg_replicate){.request = request,
                                  .job = work->job->id,
                                  .index = work->row,
                                  .copies = copies,
                                  .workers = names[sim_below(sim, sizeof names / sizeof *names)]};
    sim_client_send(sim, client, &message);
}

/* Checks the number of workers that have the whole result, according to the scheduler, when it
 * answers. */
void sim_replica_promise(struct sim *sim, const struct client *client,
                         const struct gw_msg_replicated *replicated)
{
    uint64_t asked = 0;
    bool known = gw_map_get(&client->replicating, replicated->request, &asked);
    SIM_CHECK(sim, known, "copies that nobody asked for");
    const struct work *work = sim_work_find(sim, asked >> 8);
    struct gw_value *arguments = gw_dict(), *list = NULL;
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)work->job->id)));
    GW_MUST(gw_dict_set(arguments, "index", gw_i64(work->row)));
    size_t holders = 0;
    const int rc = gw_sched_query(sim->sched, "who_has", arguments, &list, NULL);
    if (rc == 0)
        for (size_t i = 0; i < gw_value_count(list); i++) {
            int64_t worker = 0;
            (void)gw_value_get_i64(gw_value_find(gw_value_at(list, i), "worker"), &worker, NULL);
            holders += worker > 0;
        }
    gw_value_unref(arguments);
    gw_value_unref(list);
    if (rc == GW_ENOENT && sim_has_short_history(sim))
        return; /* the job was forgotten; the results of its aliases belong to another job */
    SIM_CHECK(sim, holders >= (size_t)replicated->copies * sim_work_least(work),
              "%u copies of task %llu, and %zu holders of its results", replicated->copies,
              (unsigned long long)work->id, holders);
}

void sim_replica_take(struct sim *sim, struct client *client,
                      const struct gw_msg_replicated *replicated)
{
    uint64_t asked = 0;
    (void)gw_map_get(&client->replicating, replicated->request, &asked);
    (void)gw_map_remove(&client->replicating, replicated->request);
    uint32_t wanted = asked & 0xff;
    SIM_CHECK(sim, replicated->code < 0 || replicated->copies >= (wanted ? wanted : 1),
              "%u copies were made, %u were wanted, and all is well", replicated->copies, wanted);
    SIM_CHECK(sim, replicated->code == 0 || *replicated->text, "fewer copies without a text");
    if (replicated->copies > 1)
        sim_fault(sim, FAULT_REPLICATE);
    if (replicated->code == GW_EINFEASIBLE)
        sim_fault(sim, FAULT_FEWER_COPIES);
}

/* -- Workers -------------------------------------------------------------------------------------
 */

void sim_replica_told(struct host *host, const struct gw_message *message)
{
    if (message->sequence <= host->replica_seen)
        return; /* a duplicate */
    host->replica_seen = message->sequence;
    if (message->type == GW_MESSAGE_replica_request)
        GW_MUST(gw_array_push(&host->replica_requests, message->replica_request));
}

static bool releases(const struct gw_msg_release *release,
                     const struct gw_msg_replica_request *request)
{
    for (uint32_t i = 0; i < release->job.count; i++)
        if (gw_col64_at(release->job, i) == request->job &&
            gw_col32_at(release->index, i) == request->index &&
            gw_col32_at(release->rank, i) == request->rank)
            return true;
    return false;
}

void sim_replica_check(struct sim *sim, const struct host *host, const struct gw_message *message)
{
    for (size_t i = 0; message->type == GW_MESSAGE_release && i < host->replica_requests.count; i++)
        SIM_CHECK(sim, !releases(&message->release, &host->replica_requests.items[i]),
                  "host %u goes on fetching a copy that was released", host->number);
}

void sim_replica_replied(struct sim *sim, struct host *host,
                         const struct gw_msg_replica_reply *reply)
{
    size_t i = 0;
    while (i < host->replica_requests.count &&
           host->replica_requests.items[i].request != reply->request)
        i++;
    SIM_CHECK(sim, i < host->replica_requests.count,
              "host %u keeps what nobody asked for, or says it twice", host->number);
    gw_array_remove_swap(&host->replica_requests, i);
    if (reply->code < 0)
        sim_fault(sim, reply->code == GW_ECANCELLED ? FAULT_COPY_RELEASED : FAULT_COPY_FAILED);
    else
        SIM_CHECK(sim, gw_node_core_holds(host->core, reply->job, reply->index, reply->rank),
                  "host %u says that it has a copy, and has not", host->number);
}
