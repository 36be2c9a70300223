/* The faults and special events of the simulator. Each is counted. */
#ifndef GW_TESTS_SIM_FAULT_H
#define GW_TESTS_SIM_FAULT_H

#define FAULTS(X)                                                                                  \
    X(CUT, "connection cut")                                                                       \
    X(PARTITION, "partition")                                                                      \
    X(LOST, "message lost in a cut")                                                               \
    X(DUPLICATE, "message duplicated")                                                             \
    X(STALE, "message of an earlier connection")                                                   \
    X(STALE_ATTEMPT, "end of an earlier attempt told again")                                       \
    X(WORKER_KILL, "worker killed")                                                                \
    X(CLIENT_KILL, "client killed")                                                                \
    X(CRASH, "runner crashed")                                                                     \
    X(OOM, "runner killed for memory")                                                             \
    X(FAIL, "function failed")                                                                     \
    X(SLOW, "task ran long for once")                                                              \
    X(TAKE_BACK, "prefetched tasks taken back")                                                    \
    X(ACROSS, "task handed over to slots of another shape")                                        \
    X(ACROSS_BACK, "the same asked back for who waits")                                            \
    X(SKIP, "runner skipped what a failed task was to feed")                                       \
    X(UNSAID, "runner died with results that it had not told")                                     \
    X(HANG, "task hung")                                                                           \
    X(DEATH, "process died by itself")                                                             \
    X(DEAF, "TERM ignored")                                                                        \
    X(ORPHAN, "descendant outlived its process")                                                   \
    X(NO_START, "program did not start")                                                           \
    X(NO_LEASE, "no port for a gang")                                                              \
    X(FOLDER, "folder made for the files of a task")                                               \
    X(NO_FOLDER, "no folder for the files of a task")                                              \
    X(WORKDIR_RETAINED, "folder kept for what a command left")                                     \
    X(WORKDIR_REMOVED, "kept folder goes for others, or with its job")                             \
    X(LATE_COMMIT, "commit late")                                                                  \
    X(RESTORE, "durable state rebuilt")                                                            \
    X(REPORT_LOST, "report of a metric lost with the scheduler")                                   \
    X(CANCEL, "task or job cancelled")                                                             \
    X(RETRY, "failed task retried")                                                                \
    X(SPILL, "result written to disk")                                                             \
    X(SPARED, "result used later stayed in memory")                                                \
    X(CROWD_PAIR, "task began where results pile up")                                              \
    X(CROWD_HEAVY, "task began beside others that use much memory")                                \
    X(ADMITTED, "task began beyond the line where nothing begins")                                 \
    X(REVOKED, "token of a worker revoked")                                                        \
    X(REVOKED_ENDS, "worker ended because its token was revoked")                                  \
    X(CLIENT_REVOKED, "token of a client revoked")                                                 \
    X(READ_BACK, "result read back")                                                               \
    X(FULL_DISK, "disk full")                                                                      \
    X(REFUSED_RUN, "task refused where memory and disk are full")                                  \
    X(TORN_FILE, "file on disk damaged")                                                           \
    X(PAUSE, "worker short of memory")                                                             \
    X(RESUME, "worker with memory again")                                                          \
    X(ONE, "short worker takes one task")                                                          \
    X(MEMORY_KILL, "runner killed at the worker's limit")                                          \
    X(RELEASE, "future given up")                                                                  \
    X(GPU, "process given a GPU")                                                                  \
    X(GPU_SHARED, "GPU shared by processes")                                                       \
    X(GPU_LATE, "GPU memory back late")                                                            \
    X(GPU_STUCK, "GPU memory back too late")                                                       \
    X(GPU_ERROR, "error on a GPU")                                                                 \
    X(GPU_BROKEN, "GPU broken")                                                                    \
    X(GPU_GIVEN_BACK, "drained GPU given back")                                                    \
    X(GPU_TAKEN_OUT, "GPU drained by an admin")                                                    \
    X(GPU_STILL_DRAINED, "GPU drained in another life of the scheduler")                           \
    X(WORKER_DRAINED, "worker drained by an admin")                                                \
    X(WORKER_STILL_DRAINED, "worker drained in another term or incarnation")                       \
    X(WORKER_DRAIN_ENDS, "attempt ended at the deadline of a drained worker")                      \
    X(GPU_RESTS, "scheduler died while a worker without it had GPUs")                              \
    X(GPU_INSTANCE, "process given a MIG instance")                                                \
    X(GPU_INSTANCE_RANK, "rank of a command given a MIG instance")                                 \
    X(SHARE, "task looked up")                                                                     \
    X(DROP, "looked-up future given up")                                                           \
    X(PUBLISH, "result published")                                                                 \
    X(UNPUBLISH, "result unpublished")                                                             \
    X(REPLICATE, "copies of a result made")                                                        \
    X(FEWER_COPIES, "fewer workers than copies wanted")                                            \
    X(COPY_FAILED, "copy failed")                                                                  \
    X(COPY_RELEASED, "copy released while it was made")                                            \
    X(PURE, "pure task shared")                                                                    \
    X(REFUSED, "submission refused")                                                               \
    X(SCATTER_REFUSED, "no room for a scattered value")                                            \
    X(RESOURCES, "task took a named resource")                                                     \
    X(DECLARED, "task ran that says what memory it needs")                                         \
    X(RESTRICTED, "task ran on a worker of its choice")                                            \
    X(BACKOFF, "failed task tried again after a pause")                                            \
    X(RANGE, "range submitted")                                                                    \
    X(RANGE_AGAIN, "range run again")                                                              \
    X(AHEAD, "range as far ahead as its client lets it")                                           \
    X(STREAM, "graph of a stream")                                                                 \
    X(STREAM_REFUSED, "stream refused in its middle")                                              \
    X(GATE, "job after another job")                                                               \
    X(INSIDE, "task submitted tasks")                                                              \
    X(NO_LINK, "no connection for a task")                                                         \
    X(BLOCKED, "task waited for its own")                                                          \
    X(TAKEN, "tasks taken from behind one that waits, or runs long")                               \
    X(LONG, "a task runs long")                                                                    \
    X(LONG_BEFORE_OTHERS, "a task runs long before others")                                        \
    X(CANCELLED_BACK, "cancelled task came back with its runner's queue")                          \
    X(RECANTED, "cancelled call ended behind one that runs long")                                  \
    X(OVERDRAWN, "task went on where no slot was free")                                            \
    X(BLOCKED_DEATH, "task died while it waited")                                                  \
    X(TOO_MANY_WAIT, "too many tasks waited on a worker")                                          \
    X(LEFT, "task left what it had submitted")                                                     \
    X(LEASE, "lease taken")                                                                        \
    X(HOLDER_DEATH, "holder of a lease died")                                                      \
    X(SCOPE_END, "event awaited that ended with its job")                                          \
    X(SYNC_TIMEOUT, "waited in vain")                                                              \
    X(GOT, "value taken from a queue")                                                             \
    X(SIGNALLED, "event awaited")                                                                  \
    X(SILENT, "silent task ended at its inactivity timeout")                                       \
    X(TALKING, "task longer than its inactivity timeout let live")                                 \
    X(TUNNEL, "tunnel opened")                                                                     \
    X(NO_TUNNEL, "tunnel refused")                                                                 \
    X(TUNNEL_TASK, "tunnel ended with its task")                                                   \
    X(ACTOR, "actor made")                                                                         \
    X(ACTOR_HOLD, "actor held by another client")                                                  \
    X(ACTOR_RELEASE, "actor given up")                                                             \
    X(ACTOR_DEATH, "runner of an actor died")                                                      \
    X(ACTOR_SPEECHLESS, "results of calls lost with their runner")                                 \
    X(ACTOR_END, "actor let go of its state")                                                      \
    X(CALL_AGAIN, "call run again by its retries")                                                 \
    X(PREEMPT, "gang started again by its user")                                                   \
    X(CRASH_BEHIND, "runner crashed in one behind those that had ended and were not told")         \
    X(TURN, "command began when another was reaped")                                               \
    X(NOT_BEGUN, "command that waited for its turn was not begun")                                 \
    X(HOLD, "job paused")                                                                          \
    X(PAUSED, "gang returned because it was told to pause")                                        \
    X(STOP, "gang told to stop")                                                                   \
    X(STOP_AGAIN, "gang told to stop that another life had told")                                  \
    X(STOPPED, "rank stopped")                                                                     \
    X(HANG_TOLD, "rank that hung named")                                                           \
    X(RESUMED, "gang went on from a checkpoint")                                                   \
    X(HOME, "rank 0 started where its checkpoint was saved")                                       \
    X(HOMELESS, "gang told that the host of its checkpoint is lost")                               \
    X(TRANSFERRED, "checkpoint transferred to the next rank 0")                                    \
    X(COPIED, "checkpoint copied to another host")                                                 \
    X(FROM_COPY, "gang went on from a copy of its checkpoint")                                     \
    X(TRANSFER_FAILED, "checkpoint that could not be transferred")                                 \
    X(EMPTIED, "worker lost its folder of checkpoints")                                            \
    X(ABSENT, "checkpoint asked for where it is no more")                                          \
    X(SLOW_READER, "scheduler slow to read what a worker sends")                                   \
    X(REMEMBERED, "checkpoint of another life of the scheduler found")                             \
    X(FOLDER_CHANGED, "change of a command's folder seen")                                         \
    X(LOSSES, "gang lost with its workers once too often")                                         \
    X(OVERTAKEN, "heartbeat passed other messages")                                                \
    X(RECONNECTED, "connection replaced by another")                                               \
    X(KEYED, "rank given its gang's key")                                                          \
    X(TRESPASS, "client reached for what is another user's")                                       \
    X(ADMIN, "admin cancelled what is another user's")                                             \
    X(PLACES, "gang placed as it said, host by host")                                              \
    X(GANG_WAITED, "gang waited for room")                                                         \
    X(LET_IN, "task placed while a gang waited for room")                                          \
    X(NO_PROGRAM, "program of a rank not on its host")                                             \
    X(STRANGER, "port of a gang taken by a stranger")                                              \
    X(GPU_RANKS, "rank of a command given a part of a GPU")                                        \
    X(SHRUNK, "gang started with fewer ranks")                                                     \
    X(GROWN, "gang started again with more ranks")                                                 \
    X(GROWS, "gang told to return because there is room for more ranks")                           \
    X(SCHED_KILL, "scheduler killed")                                                              \
    X(UNCOMMITTED, "facts lost with the scheduler")                                                \
    X(OUTLIVED, "detached job outlived the scheduler")                                             \
    X(ADOPTED, "task taken over by another life of the scheduler")                                 \
    X(ENDED_ORPHANED, "end of a task kept for another life of the scheduler")                      \
    X(LATE, "worker silent while the scheduler begins again")                                      \
    X(LEFT_THERE, "result at a worker when the scheduler was killed")                              \
    X(REGAINED, "result taken back from a worker by another life")                                 \
    X(LET_GO, "result of another life let go by its worker")                                       \
    X(ORPHANED_FILES, "worker told of jobs in its folder")                                         \
    X(ORPHANED_FILES_GO, "what a folder has of a job that is not known goes")                      \
    X(PREFERRED, "task placed where it prefers to be")                                             \
    X(ORPHANED, "worker without a scheduler for too long")                                         \
    X(MEMFILE, "result written over an earlier one")                                               \
    X(MEMFILE_REFERENCED, "input read on after its task")                                          \
    X(MEMFILE_EMPTY, "memory of earlier results given back")                                       \
    X(LEAVES, "worker told to end")                                                                \
    X(LET_LEAVE, "worker that was told to end let go")                                             \
    X(CHECKPOINT_TAKEN, "checkpoint taken from a worker that leaves")                              \
    X(RESTS, "worker rests because a gang failed there")                                           \
    X(RESTS_LONGER, "worker rests longer because another did")                                     \
    X(FILES_REST, "worker rests because it could not lay files")                                   \
    X(WARMED, "rests of a worker forgotten: it did well")                                          \
    X(REST_LOST, "rest lost with the scheduler")                                                   \
    X(WENT_ELSEWHERE, "rank placed while another worker rests")                                    \
    X(UNREACHED, "rank that cannot reach another host's")                                          \
    X(REVOKED_BROKEN, "token revoked of a worker whose connection is broken")                      \
    X(PAUSED_EARLY, "job paused as a gang of it prepares")                                         \
    X(PAUSED_ANEW, "job paused before its gangs are back")                                         \
    X(PAUSED_STILL, "gang told to pause by another life")                                          \
    X(SAVED_LAST, "checkpoint saved in the time to end")                                           \
    X(SLOTLESS, "task without a slot started although no slot is free")                            \
    X(RETAINED, "ended jobs kept beyond the limit of the history")                                 \
    X(FENCED, "process of a worker that is given up for its silence")

enum fault {
#define FAULT_ENUM(name, text) FAULT_##name,
    FAULTS(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_COUNT
};

#endif
