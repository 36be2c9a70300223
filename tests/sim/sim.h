/* The simulator: one scheduler core, several worker cores, and a simulated environment for them.
 *
 * A seed determines everything that happens in a world, so a failure can be replayed by its seed.
 * Seeds share nothing except the counters. */
#ifndef GW_TESTS_SIM_H
#define GW_TESTS_SIM_H

#include "tests/sim/state.h"

extern uint64_t sim_faults[FAULT_COUNT];

/* -- sim.c */
uint64_t sim_random(struct sim *sim);
uint64_t sim_below(struct sim *sim, uint64_t n); /* a number from 0 to n - 1 */
bool sim_chance(struct sim *sim, uint32_t percent);
uint64_t sim_hash(uint64_t a, uint64_t b);
void sim_plan(struct sim *sim, uint64_t in_ns, void (*run)(struct sim *, void *), void *arg);
void sim_plan_own(struct sim *sim, uint64_t in_ns, void (*run)(struct sim *, void *), void *arg,
                  void (*drop)(struct sim *, void *));
void sim_drop(struct sim *sim, void *arg); /* frees arg */
void sim_fault(struct sim *sim, enum fault fault);
void sim_log(struct sim *sim, const char *format, ...) GW_PRINTF(2, 3);
void sim_fail(struct sim *sim, const char *format, ...) GW_PRINTF(2, 3) __attribute__((noreturn));
#define SIM_CHECK(sim, condition, ...)                                                             \
    do {                                                                                           \
        if (!(condition))                                                                          \
            sim_fail((sim), __VA_ARGS__);                                                          \
    } while (0)

/* -- world.c: one seed */
void sim_run(uint64_t seed, bool log);
/* Functions that other worlds use, too: start the scheduler; add a host, which has only slots
 * unless it was given more before; run the next planned event (false: there is none); free
 * everything. */
void sim_world_begin(struct sim *sim);
void sim_world_host(struct sim *sim, uint32_t number, uint32_t slots);
bool sim_next(struct sim *sim);
void sim_world_free(struct sim *sim);
/* sim_sched_step passes an event to the scheduler and executes its effects. */
int sim_sched_step(struct sim *sim, struct gw_event *event);

/* -- net.c */
struct conn *sim_connect(struct sim *sim, struct end a, struct end b);
void sim_send(struct sim *sim, struct conn *conn, int from, const struct gw_effect *effect);
void sim_close(struct sim *sim, struct conn *conn, int from); /* closes a connection by one side */
void sim_cut(struct sim *sim, struct conn *conn);
/* sim_hold makes a connection deliver nothing until until_ns. */
void sim_hold(const struct sim *sim, struct conn *conn, uint64_t until_ns);
/* sim_reconnect_given_up checks that a worker has a reason to give up its connection to the
 * scheduler.
 */
void sim_reconnect_given_up(struct sim *sim, const struct conn *conn);
struct conn *sim_conn_of(struct sim *sim, enum side side, const void *owner, uint64_t peer,
                         int *end);
uint64_t sim_token(struct sim *sim, uint64_t content, uint64_t bytes);
uint64_t sim_token_dup(struct sim *sim, uint64_t token);
void sim_token_drop(struct sim *sim, uint64_t token);
uint64_t sim_token_content(struct sim *sim, uint64_t token);
struct packet sim_pack(struct sim *sim, const struct gw_message *message, const uint64_t *tokens,
                       uint32_t token_count);
void sim_packet_free(struct sim *sim, struct packet *packet, bool drop_tokens);
void sim_conns_free(struct sim *sim);
void sim_net_faults(struct sim *sim);
/* sim_reconnect cuts a worker's connection and replaces it by a new one. */
void sim_reconnect(struct sim *sim);

/* -- host.c */
void sim_host_start(struct sim *sim, struct host *host);
void sim_host_kill(struct sim *sim, struct host *host);
/* sim_host_is_heard returns true if a message came on the worker's current connection, and not on
 * an earlier one or in another term of the scheduler. */
bool sim_host_is_heard(const struct sim *sim, const struct host *host,
                       const struct gw_message *message);
/* sim_host_end: the host exits by itself and starts again in a new incarnation. */
void sim_host_end(struct sim *sim, struct host *host);
int sim_host_step(struct sim *sim, struct host *host, struct gw_event *event);
void sim_host_queue(struct sim *sim, struct host *host);
void sim_host_connect(struct sim *sim, struct host *host);
/* sim_host_log answers a log_read, as worker/net does. */
void sim_host_log(struct sim *sim, struct host *host, const struct gw_message *read);
void sim_host_free(struct sim *sim, struct host *host);

/* -- lease.c */
void sim_lease_open(struct host *host, uint64_t attempt);
void sim_lease_unbind(struct sim *sim, struct host *host, uint64_t attempt);
void sim_lease_close(struct host *host, uint64_t attempt);

/* -- disk.c: a host's disk and memory */
void sim_disk_execute(struct sim *sim, struct host *host, const struct gw_effect *effect);
void sim_disk_told(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_disk_check(struct sim *sim, const struct host *host);
void sim_disk_stepped(struct sim *sim, struct host *host);
void sim_disk_start(struct sim *sim, struct host *host);
uint64_t sim_disk_declared(const struct sim *sim, const struct work *work);
void sim_disk_check_declared(struct sim *sim, const struct host *host);
void sim_disk_options(struct sim *sim, struct host *host, struct gw_node_options *options);
bool sim_disk_crowded(const struct host *host);

/* -- process.c */
void sim_process_spawn(struct sim *sim, struct host *host, const struct gw_msg_spawn *spawn);
void sim_process_reap(struct sim *sim, struct host *host, const struct gw_msg_reap *reap);
/* sim_process_take (runner_inbox.c) delivers a message to a runner. sim_process_went: its rank has
 * received gang_start. */
void sim_process_take(struct sim *sim, struct process *process, const struct gw_effect *effect);
void sim_process_went(struct sim *sim, struct process *process);
void sim_process_free(struct sim *sim, struct process *process);
/* sim_process_output returns how much output the running task has written. */
uint64_t sim_process_output(struct sim *sim, const struct host *host, uint64_t id);
/* sim_process_tell sends a message to the worker. sim_process_pop removes the first row.
 * sim_process_execute starts the next one. */
void sim_process_tell(struct sim *sim, struct process *process, struct gw_message *message,
                      const uint64_t *tokens, uint32_t token_count);
void sim_process_pop(struct process *process);
void sim_process_execute(struct sim *sim, struct process *process);
struct process *sim_process_find(struct host *host, uint64_t pid);
/* sim_process_die makes a process die without a reason. */
void sim_process_die(struct sim *sim, struct process *process);
/* sim_process_say sends a message as a runner. It returns false if the process has ended after that
 * or does something else. sim_process_later runs a function on the process unless its epoch has
 * changed by then. sim_process_anyhow runs it if the process still exists. */
bool sim_process_say(struct sim *sim, struct process *process, struct gw_message *message);
void sim_process_later(struct sim *sim, struct process *process, uint64_t in_ns,
                       void (*run)(struct sim *sim, struct process *process));
void sim_process_anyhow(struct sim *sim, struct process *process, uint64_t in_ns,
                        void (*run)(struct sim *sim, struct process *process));
void sim_process_go_on(struct sim *sim, struct process *process, int32_t execution);

/* -- gpu.c */
/* sim_gpu_spawned records the GPUs of a new process and checks that no other process uses them.
 * sim_gpu_gone releases their memory some time later. */
void sim_gpu_spawned(struct sim *sim, struct process *process, const struct gw_msg_spawn *spawn);
void sim_gpu_gone(struct sim *sim, const struct process *process);
/* Lists the GPUs of a host. names: room for their names. */
void sim_gpu_list(const struct host *host, struct gw_node_gpu *gpus, char (*names)[SIM_GPU_NAME]);
/* GPUs of one machine that several hosts offer have the same name. */
void sim_gpu_name(const struct host *host, uint32_t number, char name[static SIM_GPU_NAME]);
void sim_gpu_start(struct sim *sim, struct host *host); /* a new incarnation: all GPUs work */
bool sim_gpu_may_break(const struct host *host, uint32_t number);
void sim_gpu_faults(struct sim *sim);

/* -- elastic.c */
/* sim_elastic_shape may allow attempts of a gang to have fewer ranks. sim_work_least returns the
 * minimum number of results of a task. sim_elastic_lacks returns true if an attempt of this size
 * has no such rank. sim_elastic_told: a worker has received a gang message. sim_elastic_world
 * returns the number of ranks of an attempt. */
void sim_elastic_shape(struct sim *sim, struct work *work);
uint32_t sim_work_least(const struct work *work);
bool sim_elastic_lacks(const struct work *work, uint32_t rank, uint32_t size);
void sim_elastic_told(struct sim *sim, const struct gw_msg_gang *gang);
uint32_t sim_elastic_world(struct sim *sim, const struct row *row);

/* -- transfer.c */
/* sim_transfer_saved: rank 0 of an attempt has saved. sim_transfer_execute executes
 * CHECKPOINT_TRANSFER, WATCH and UNWATCH. sim_transfer_check: a rank starts; check that it has its
 * checkpoint. */
void sim_transfer_saved(struct process *process, uint64_t attempt);
void sim_transfer_execute(struct sim *sim, struct host *host, const struct gw_effect *effect);
void sim_transfer_check(struct sim *sim, const struct process *process);

/* -- gang.c */
struct gang *sim_gang_of(struct sim *sim, const struct row *row);
/* sim_gang_resume checks the checkpoint from which an attempt will continue. */
void sim_gang_resume(struct sim *sim, const struct row *row, const struct process *process);
/* sim_gang_save: rank 0 of a function saves at times, between collectives. sim_gang_asked records
 * what rank 0 must answer. sim_gang_pause reports that a rank returns for a pause. The functions
 * return false if the process has ended after its report. */
bool sim_gang_save(struct sim *sim, struct process *process);
void sim_gang_asked(struct sim *sim, const struct process *process,
                    const struct gw_msg_control *control);
bool sim_gang_pause(struct sim *sim, struct process *process);
void sim_gang_told(struct process *process, const struct gw_msg_gang *told);
void sim_gang_went(struct sim *sim, const struct row *row);
void sim_gang_leave(struct sim *sim, const struct process *process);
uint32_t sim_gang_abort(struct sim *sim, uint64_t attempt);
void sim_gangs_free(struct sim *sim);

/* -- hang.c */
void sim_hang_survey(struct sim *sim, struct host *host, const struct gw_effect *effect);
bool sim_hang_stops(struct sim *sim, struct process *process);
void sim_hang_told(struct sim *sim, const struct work *work, const char *text);

/* -- actor.c: processes, clients and jobs of actors */
void sim_actor_make(struct sim *sim, struct client *client);
void sim_actor_act(struct sim *sim, struct client *client);
void sim_actor_finish(struct sim *sim, struct client *client);
/* sim_actor_blocked returns true if, long after the world has healed, a call of the job waits for a
 * task that has not ended. */
bool sim_actor_blocked(const struct sim *sim, const struct sim_job *job);
void sim_actor_accepted(struct sim *sim, struct sim_job *job);
bool sim_actor_hold_answered(struct sim *sim, struct client *client, uint64_t request, bool well);
bool sim_actor_may_fail(struct sim *sim, const struct work *call, int32_t code);
void sim_actor_begin(struct sim *sim, struct process *process);
void sim_actor_say(struct sim *sim, struct process *process);
void sim_actor_called(struct sim *sim, struct process *process);
void sim_actor_ready(struct sim *sim, struct process *process);
void sim_actor_let_go(struct sim *sim, struct process *process);

/* -- client.c */
struct sim_job *sim_client_job(struct sim *sim, const struct client *client, uint64_t request);
void sim_client_start(struct sim *sim, struct client *client);
void sim_client_take(struct sim *sim, struct client *client, const struct gw_message *message,
                     const struct packet *packet);
void sim_client_closed(struct sim *sim, struct client *client);
void sim_client_kill(struct sim *sim, struct client *client);
bool sim_client_settled(struct sim *sim, struct client *client);
void sim_client_free(struct sim *sim, struct client *client);
void sim_client_send(struct sim *sim, struct client *client, const struct gw_message *message);
uint64_t sim_client_call(struct client *client, uint32_t answer);

/* -- share.c */
void sim_share_act(struct sim *sim, struct client *client);
struct share *sim_share_find(const struct client *client, uint64_t request);
bool sim_share_holds(const struct client *client, const struct work *work);
void sim_share_promise(struct sim *sim, const struct client *client,
                       const struct gw_msg_held *held);
void sim_share_take(struct sim *sim, struct client *client, const struct gw_msg_held *held);
void sim_share_told(struct sim *sim, struct share *share, enum told told, uint32_t rank);
bool sim_shares_settled(const struct client *client);
/* sim_published_tokens returns the number of published values that use descriptors of the
 * scheduler. */
size_t sim_published_tokens(struct sim *sim);
void sim_shares_free(struct client *client);

/* -- replica.c */
void sim_replica_ask(struct sim *sim, struct client *client, const struct work *work);
void sim_replica_promise(struct sim *sim, const struct client *client,
                         const struct gw_msg_replicated *replicated);
void sim_replica_take(struct sim *sim, struct client *client,
                      const struct gw_msg_replicated *replicated);
/* Messages to a host about copies, before it receives them and after, and its answers. */
void sim_replica_told(struct host *host, const struct gw_message *message);
void sim_replica_check(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_replica_replied(struct sim *sim, struct host *host,
                         const struct gw_msg_replica_reply *reply);

/* -- tunnel.c */
void sim_tunnel_act(struct sim *sim, struct client *client, const struct sim_job *job);
void sim_tunnel_client_take(struct sim *sim, struct client *client,
                            const struct gw_message *message);
void sim_tunnel_host_take(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_tunnel_host_look(struct sim *sim, struct host *host);
/* sim_tunnel_watch follows the scheduler's messages about tunnels. sim_tunnel_closed: the scheduler
 * was told that a connection is closed. */
void sim_tunnel_watch(struct sim *sim, const struct gw_effect *effect);
void sim_tunnel_closed(struct sim *sim, uint64_t peer);

/* -- sync.c: semaphores, queues, variables, events */
void sim_sync_act(struct sim *sim, struct client *client);
void sim_sync_acquire(struct sim *sim, struct client *client);
void sim_sync_signal(struct sim *sim, struct client *client);
void sim_sync_release(struct sim *sim, struct client *client);
void sim_sync_take(struct sim *sim, struct client *client, const struct gw_msg_synced *synced);
void sim_sync_end(struct sim *sim, struct client *client);

/* -- trespass.c: requests for another user's jobs */
void sim_trespass_act(struct sim *sim, struct client *client);
/* sim_trespass_answered checks that such a request is refused. It ignores other replies. */
void sim_trespass_answered(struct sim *sim, struct client *client,
                           const struct gw_msg_reply *reply);

/* -- trust.c: keys of gangs. sim_trust_add adds to an effect what the scheduler's I/O thread would
 * add. sim_trust_told checks the messages of a worker. sim_trust_go: a rank of this process starts.
 */
struct keyed {
    struct gw_effect effect;
    uint8_t key[32];
};
const struct gw_effect *sim_trust_add(const struct gw_effect *effect, struct keyed *keyed);
void sim_trust_told(struct sim *sim, const struct gw_message *message);
void sim_trust_go(struct sim *sim, const struct process *process,
                  const struct gw_msg_gang_start *go);

/* -- patience.c: one seed of a world in which gangs wait during an endless stream of tasks */
void sim_patience_run(uint64_t seed);

/* -- work.c */
struct sim_job *sim_job_make_inside(struct sim *sim, struct client *client,
                                    const struct work *parent);
struct sim_job *sim_job_make(struct sim *sim, struct client *client);
struct sim_job *sim_job_make_range(struct sim *sim, struct client *client);
struct sim_job *sim_job_new(struct sim *sim, struct client *client);
struct work *sim_work_new(struct sim *sim, struct sim_job *job);
void sim_work_depend(struct sim *sim, struct work *work);
bool sim_work_usable(const struct work *on, const struct sim_job *job);
uint64_t sim_work_value(const struct work *work, uint32_t rank);
uint64_t sim_work_inputs(const struct work *work);
bool sim_work_may_fail(struct sim *sim, const struct work *work, int32_t code);
struct work *sim_work_find(struct sim *sim, uint64_t id);
/* sim_work_count_shared counts the tasks of a job that share the result of another task. */
void sim_work_count_shared(struct sim *sim, const struct sim_job *job);
/* sim_work_unwanted marks tasks that may be cancelled because no client holds them any more. */
void sim_work_unwanted(struct work *work);
void sim_work_free(struct sim *sim);
/* sim_job_check_turn checks that a job may start: the jobs before it have ended as required. */
void sim_job_check_turn(struct sim *sim, const struct sim_job *job);

#endif
