/* Tables of the options and commands of other tools, with their names in Gangway. */
#include "client/cli/lib/synonym.h"

#include <stddef.h>
#include <string.h>

#define DISPATCH "`gangway dispatch -n N -- COMMAND` runs N ranks"
#define RENDEZVOUS                                                                                 \
    "leave it out: ranks find MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE in their environment"
#define OUTPUT                                                                                     \
    "its output comes here (> FILE keeps it); of a detached job `gangway logs JOB -o DIR` "        \
    "writes it into files"
#define GPUS "type --gpus N, of each rank in `dispatch`, else of the task"
#define MEMORY_PER_NODE                                                                            \
    "did you mean --memory SIZE? It is of each rank in `dispatch`, else of the task"

#define NO_INTERACTIVE "the command reads your standard input anyway; --pty gives it a terminal"

const struct gw_synonym gw_synonym_launch[] = {
    {"job-name", 'J', {"name"}, NULL, false},
    {"cpus-per-task", 'c', {"slots-per-rank", "slots"}, NULL, false},
    {"cpus", 0, {"slots-per-rank", "slots"}, NULL, false},
    {"num-cpus", 0, {"slots-per-rank", "slots"}, NULL, false},
    {"num-gpus", 0, {"gpus-per-rank", "gpus"}, NULL, false},
    {"time", 0, {"time-limit"}, NULL, true},
    {"wall", 0, {NULL}, "it is now called --time-limit", false},
    {"max-lost", 0, {NULL}, "it is now called --max-worker-losses", false},
    {"progress-limit", 0, {NULL}, "it is now called --inactivity-timeout", false},
    {"chdir", 'D', {"cwd"}, NULL, false},
    {"workdir", 0, {"cwd"}, NULL, false},
    {"nodelist", 0, {"on"}, NULL, false},
    {"w", 'w', {NULL}, "type --on HOST,...", false},
    {"a", 'a', {NULL}, "type --array FIRST-LAST", false},
    {"ntasks", 'n', {"ranks"}, DISPATCH, false},
    {"np", 0, {"ranks"}, DISPATCH, false},
    {"nnodes", 'N', {"nodes"}, DISPATCH, false},
    {"nodes", 0, {"nodes"}, DISPATCH, false},
    {"ranks", 0, {"ranks"}, DISPATCH, false},
    {"nproc-per-node", 0, {"per-node"}, DISPATCH, false},
    {"nproc_per_node", 0, {"per-node"}, DISPATCH, false},
    {"ntasks-per-node", 0, {"per-node"}, DISPATCH, false},
    {"npernode", 0, {"per-node"}, DISPATCH, false},
    {"max_restarts", 0, {"max-restarts", "retries"}, NULL, false},
    {"gpus-per-task", 0, {"gpus-per-rank", "gpus"}, NULL, false},
    {"gpus-per-node", 0, {NULL}, GPUS, false},
    {"gres", 'G', {NULL}, GPUS, false},
    {"mem", 0, {NULL}, MEMORY_PER_NODE, false},
    {"mem-per-cpu", 0, {NULL}, MEMORY_PER_NODE, false},
    {"dependency",
     0,
     {NULL},
     "type --after JOB,... (afterok), or --after-any JOB,... (afterany)",
     false},
    {"interactive", 'i', {NULL}, NO_INTERACTIVE, false},
    {"tty", 0, {NULL}, NO_INTERACTIVE, false},
    {"exclusive", 0, {NULL}, "type --slots N, all slots of a host (`gangway worker list`)", false},
    {"A", 'A', {"account"}, NULL, false},
    {"nice", 0, {NULL}, "did you mean --priority P? A higher one is first", false},
    {"constraint", 0, {NULL}, "type --on HOST,..., --resources NAME=N or --gpu-memory SIZE", false},
    {"begin",
     0,
     {NULL},
     "there is no start time: --after JOB,... starts it after other jobs",
     false},
    {"mail-user", 0, {NULL}, "there is no mail: type `gangway wait JOB; mail ...`", false},
    {"mail-type", 0, {NULL}, "there is no mail: type `gangway wait JOB; mail ...`", false},
    {"reservation", 0, {NULL}, "there are no reservations: leave it out", false},
    {"cpus-per-gpu", 0, {NULL}, "type --slots N, of each rank --slots-per-rank N", false},
    {"rm", 0, {NULL}, "leave it out: `gangway rm JOB` removes an ended job", false},
    {"qos", 0, {NULL}, "did you mean --priority P?", false},
    {"working-dir", 0, {"cwd"}, NULL, false},
    {"verbose",
     0,
     {NULL},
     "leave it out: errors say what failed; `gangway explain JOB` more",
     false},
    {"module", 'm', {NULL}, "type -- python3 -m MODULE", false},
    {"volume",
     'v',
     {NULL},
     "--ship FILE copies files, a shared folder is there already; there is no verbose mode",
     false},
    {"partition", 0, {"queue"}, NULL, false},
    {"output", 'o', {NULL}, OUTPUT, false},
    {"error", 0, {NULL}, OUTPUT, false},
    {"export", 0, {NULL}, "your environment goes along; --env NAME=VALUE sets more", false},
    {"wrap", 0, {NULL}, "type -- sh -c 'COMMAND'", false},
    {"requeue", 0, {NULL}, "type --retries N: how often it runs again when it fails", false},
    {"standalone", 0, {NULL}, RENDEZVOUS, false},
    {"rdzv-backend", 0, {NULL}, RENDEZVOUS, false},
    {"rdzv-endpoint", 0, {NULL}, RENDEZVOUS, false},
    {"rdzv-id", 0, {NULL}, RENDEZVOUS, false},
    {"node-rank", 0, {NULL}, RENDEZVOUS, false},
    {"master-addr", 0, {NULL}, RENDEZVOUS, false},
    {"master-port", 0, {NULL}, RENDEZVOUS, false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_sweep[] = {
    {"n-trials", 0, {NULL}, "did you mean --trials N?", false},
    {"num-samples", 0, {NULL}, "did you mean --trials N?", false},
    {"count", 0, {NULL}, "did you mean --trials N?", false},
    {"max-trials", 0, {NULL}, "did you mean --trials N?", false},
    {"n-jobs", 0, {NULL}, "did you mean --parallel N?", false},
    {"max-concurrent-trials", 0, {NULL}, "did you mean --parallel N?", false},
    {"max-concurrent", 0, {NULL}, "did you mean --parallel N?", false},
    {"jobs", 0, {NULL}, "did you mean --parallel N?", false},
    {"sampler", 0, {NULL}, "did you mean --search METHOD?", false},
    {"method", 0, {NULL}, "did you mean --search METHOD?", false},
    {"algorithm", 0, {NULL}, "did you mean --search METHOD?", false},
    {"search-alg", 0, {NULL}, "did you mean --search METHOD?", false},
    {"pruner", 0, {NULL}, "type --asha eta=4, --median grace=5 or --population every=10", false},
    {"scheduler", 0, {NULL}, "type --asha eta=4, --median grace=5 or --population every=10", false},
    {"early-terminate", 0, {NULL}, "did you mean --asha eta=4?", false},
    {"study-name", 0, {NULL}, "did you mean --name NAME?", false},
    {"study", 0, {NULL}, "did you mean --name NAME?", false},
    {"direction", 0, {NULL}, "type --minimize METRIC or --maximize METRIC", false},
    {"mode", 0, {NULL}, "type --minimize METRIC or --maximize METRIC", false},
    {"objective", 0, {NULL}, "type --minimize METRIC or --maximize METRIC", false},
    {"storage", 0, {NULL}, "leave it out: the cluster (`gangway up`) remembers the sweep", false},
    {"project", 0, {NULL}, "leave it out: the cluster (`gangway up`) remembers the sweep", false},
    {"timeout", 0, {NULL}, "did you mean --time-budget TIME?", false},
    {"time-budget-s", 0, {NULL}, "did you mean --time-budget TIME?", false},
    {"config", 0, {NULL}, "did you mean --space FILE?", false},
    {"search-space", 0, {NULL}, "did you mean --space FILE?", false},
    {"parameters", 0, {NULL}, "did you mean --param NAME=VALUES?", false},
    {"resume", 0, {NULL}, "`gangway sweep resume NAME` continues a sweep", false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_sweep_show[] = {
    {"csv", 0, {NULL}, "`gangway sweep export NAME` prints CSV", false},
    {"n", 'n', {NULL}, "type --limit N", false},
    {"watch", 'w', {NULL}, "`gangway top` shows what runs; `sweep resume NAME` follows it", false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_up[] = {
    {"num-cpus", 0, {"slots"}, NULL, false},
    {"cpus", 0, {"slots"}, NULL, false},
    {"n", 'n', {NULL}, "type --slots N, or --workers N", false},
    {"n-workers", 0, {"workers"}, NULL, false},
    {"nworkers", 0, {"workers"}, NULL, false},
    {"head", 0, {NULL}, "leave it out; --hosts HOST:N,... starts workers on other hosts", false},
    {"port", 0, {NULL}, "type --listen HOST:PORT", false},
    {"host", 0, {NULL}, "type --listen HOST:PORT, or --hosts HOST:N,...", false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_wait[] = {
    {"for", 0, {NULL}, "type only the jobs: it waits until they end", false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_top[] = {
    {"iterations", 'n', {NULL}, "`gangway status` and `gangway jobs` print it once", false},
    {"batch", 'b', {NULL}, "`gangway status` and `gangway jobs` print it once", false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_explain[] = {
    {"watch", 'w', {NULL}, "`gangway tasks JOB --watch` shows its tasks again and again", false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_exec[] = {
    {"interactive", 'i', {NULL}, NO_INTERACTIVE, false},
    {"tty", 0, {NULL}, NO_INTERACTIVE, false},
    {"container", 'c', {NULL}, "type JOB/TASK for a task, --rank R for a rank", false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_jobs[] = {
    {"max", 'L', {NULL}, "type --limit N", false},
    {"states", 't', {NULL}, "type --state STATE", false},
    {"me", 0, {NULL}, "type --user NAME", false},
    {"number", 'n', {NULL}, "type --limit N, or the name of a job as an argument", false},
    {"job", 'j', {NULL}, "type the jobs as arguments: 7 or 1,3,5-8", false},
    {"jobs", 0, {NULL}, "type the jobs as arguments: 7 or 1,3,5-8", false},
    {"format", 'o', {NULL}, "--json prints all fields", false},
    {"output", 0, {NULL}, "--json prints all fields", false},
    {"partition", 'p', {NULL}, "`gangway queue list` lists the queues", false},
    {NULL, 0, {NULL}, NULL, false},
};

const struct gw_synonym gw_synonym_logs[] = {
    {"lines", 'n', {NULL}, "type --tail N", false},
    {"time", 't', {NULL}, "type --timestamps", false},
    {"previous", 'p', {NULL}, "type --attempt N", false},
    {"container", 'c', {NULL}, "type JOB/TASK for a task, --rank R for a rank", false},
    {NULL, 0, {NULL}, NULL, false},
};

/* -- Commands ------------------------------------------------------------------------------------
 */

#define SUBMIT_OR_DISPATCH                                                                         \
    "`gangway submit -- COMMAND` runs a command, `gangway dispatch -n N -- COMMAND` a gang of N "  \
    "ranks"
#define JOBS "`gangway jobs` lists jobs"
#define STATUS "`gangway status` shows what the cluster does, `gangway jobs` lists jobs"
#define TRAIN "`gangway dispatch -n N -- python3 train.py` runs N ranks"
#define MPI                                                                                        \
    DISPATCH ", `gangway submit --slots N -- mpirun -n N PROGRAM` a program of MPI on one host"
#define CANCEL "`gangway cancel JOB` ends jobs"
#define TOP "`gangway top` shows the cluster and its jobs live"
#define REMOVALS                                                                                   \
    "`gangway rm JOB` removes an ended job, `gangway data rm`, `actor rm` and `sync rm` remove "   \
    "what has a name, `gangway cancel JOB` ends a job"
#define SWEEP                                                                                      \
    "`gangway sweep --param lr=0..1 --trials 100 --minimize loss -- COMMAND {lr}` searches "       \
    "parameters"
#define WORKERS "`gangway worker list` lists workers and their hosts"

static const struct {
    const char *name, *answer;
} commands[] = {
    {"run", "did you mean submit (one task) or dispatch (a gang)?"},
    {"srun", SUBMIT_OR_DISPATCH},
    {"salloc", "`gangway submit --pty -- bash` gives a shell"},
    {"sbatch", "`gangway submit -d -- ./SCRIPT` runs a script that outlives this terminal"},
    {"qsub", "`gangway submit -d -- ./SCRIPT` runs a script that outlives this terminal"},
    {"batch", "`gangway submit -d -- ./SCRIPT` runs a script that outlives this terminal"},
    {"torchrun", TRAIN},
    {"accelerate", TRAIN},
    {"deepspeed", TRAIN},
    {"horovodrun", TRAIN},
    {"mpirun", MPI},
    {"mpiexec", MPI},
    {"squeue", JOBS},
    {"qstat", JOBS},
    {"sshare", "`gangway account list` shows the accounts, their shares and usage"},
    {"ps", JOBS},
    {"ls", JOBS},
    {"server", "`gangway up` starts a cluster, `gangway down` ends it"},
    {"cluster", "`gangway up` starts a cluster, `gangway down` ends it, `gangway status` shows it"},
    {"cluster-info", STATUS},
    {"memory", STATUS},
    {"summary", STATUS},
    {"stats", TOP},
    {"dashboard", TOP},
    {"inspect", "`gangway explain JOB` tells of a job, `gangway events JOB` what became of it"},
    {"timeline", "`gangway events JOB` tells what became of a job"},
    {"task", "`gangway tasks JOB` lists a job's tasks"},
    {"pods", JOBS},
    {"pod", JOBS},
    {"apply", "`gangway submit --from-json FILE` runs the commands in a file"},
    {"create", "`gangway submit -- COMMAND` runs a command"},
    {"sattach", "`gangway logs -f JOB` prints what a job writes"},
    {"sbcast", "`gangway submit --ship FILE` copies files to the task"},
    {"port-forward", "`gangway forward JOB PORT` forwards a local port to a port of a task"},
    {"pull", "`gangway submit --container IMAGE -- COMMAND` runs a command in a container"},
    {"image", "`gangway submit --container IMAGE -- COMMAND` runs a command in a container"},
    {"images", "`gangway submit --container IMAGE -- COMMAND` runs a command in a container"},
    {"cordon", "`gangway gpu drain UUID` places no more work on a GPU"},
    {"drain", "`gangway gpu drain UUID` places no more work on a GPU"},
    {"login", "`gangway token store` stores the token of a cluster on another machine"},
    {"auth", "`gangway token store` stores the token of a cluster on another machine"},
    {"alloc", "`gangway up --hosts HOST:N,...` starts workers on other hosts"},
    {"sstat", "`gangway tasks JOB` lists its tasks, `gangway metrics JOB` what they report"},
    {"sprio", "`gangway explain JOB` tells why a job waits"},
    {"sreport", JOBS},
    {"sshare", STATUS},
    {"monitor", TOP},
    {"system", STATUS},
    {"config", STATUS},
    {"optuna", SWEEP},
    {"study", SWEEP},
    {"tune", SWEEP},
    {"search", SWEEP},
    {"wandb", SWEEP},
    {"agent", SWEEP},
    {"optimize", SWEEP},
    {"tensorboard", "`gangway sweep export NAME --format tensorboard -o DIR` writes its files"},
    {"unpause", "`gangway resume JOB` continues a paused job"},
    {"rollout", "`gangway restart JOB` starts a gang again from its checkpoint"},
    {"scale", "`gangway dispatch -n N --min-ranks M` runs a gang that grows and shrinks"},
    {"build", "`gangway submit --container IMAGE -- COMMAND` runs a command in a container"},
    {"compose", "`gangway submit --from-json FILE` runs the commands in a file"},
    {"hold", "`gangway pause JOB` lets no task of a job start"},
    {"release", "`gangway resume JOB` continues a paused job"},
    {"rerun", "`gangway retry JOB` runs the failed tasks of a job again"},
    {"requeue", "`gangway retry JOB` runs the failed tasks of a job again"},
    {"list", JOBS},
    {"job", "`gangway submit -- COMMAND` runs a command as a job, `gangway jobs` lists jobs"},
    {"history", JOBS},
    {"sacct", "`gangway jobs` lists jobs, `gangway events JOB` tells what became of one"},
    {"story", "`gangway events JOB` tells what became of a job"},
    {"htop", TOP},
    {"info", STATUS},
    {"stat", STATUS},
    {"scontrol", "`gangway explain JOB` tells of a job, `gangway worker list` of workers"},
    {"show", "`gangway explain JOB` tells of a job"},
    {"describe", "`gangway explain JOB` tells of a job"},
    {"why", "`gangway explain JOB` tells of a job"},
    {"sinfo", WORKERS},
    {"nodes", WORKERS},
    {"hosts", WORKERS},
    {"workers", WORKERS},
    {"gpus", "`gangway gpu list` lists GPUs"},
    {"nvidia-smi", "`gangway gpu list` lists GPUs"},
    {"scancel", CANCEL},
    {"qdel", CANCEL},
    {"kill", CANCEL},
    {"remove", REMOVALS},
    {"delete", CANCEL},
    {"log", "`gangway logs JOB` prints what a job wrote"},
    {"output", "`gangway logs JOB` prints what a job wrote"},
    {"tail", "`gangway logs -f --tail 10 JOB` prints what a job wrote"},
    {"attach", "`gangway logs -f JOB` prints what a job writes"},
    {"cp", "`gangway get JOB PATH` fetches files, `submit --ship FILE` sends them"},
    {"scp", "`gangway get JOB PATH` fetches files, `submit --ship FILE` sends them"},
    {"copy", "`gangway get JOB PATH` fetches files, `submit --ship FILE` sends them"},
    {"ssh", "`gangway exec JOB --pty -- bash` gives a shell beside a task"},
    {"shell", "`gangway submit --pty -- bash` gives a shell"},
    {"bash", "`gangway submit --pty -- bash` gives a shell"},
    {"init", "`gangway up` starts a cluster, `gangway new DIR` writes a small project"},
    {"start", "`gangway up` starts a cluster"},
    {"serve", "`gangway up` starts a cluster"},
    {"shutdown", "`gangway down` ends the cluster"},
};

const char *gw_synonym_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].answer;
    return NULL;
}

const char *gw_synonym_verb_answer(const char *command, const char *name)
{
    static const char begin[] =
        "`gangway sweep --name NAME --param lr=0..1 --trials 100 --minimize loss -- COMMAND {lr}` "
        "begins a sweep";
    static const char *const answers[][3] = {
        {"sweep", "create", begin},
        {"sweep", "create-study", begin},
        {"sweep", "new", begin},
        {"sweep", "run", begin},
        {"sweep", "start", begin},
        {"sweep", "agent", begin},
        {"sweep", "optimize", begin},
        {"sweep", "pause",
         "`gangway sweep stop NAME` ends its running trials, `gangway sweep "
         "resume NAME` runs them again"},
        {"sweep", "cancel", "`gangway sweep stop NAME` cancels its running trials"},
        {"sweep", "kill", "`gangway sweep stop NAME` cancels its running trials"},
        {"sweep", "logs",
         "`gangway logs JOB` prints what a trial wrote; `gangway sweep show NAME` "
         "lists the jobs"},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(answers[i][0], command) == 0 && strcmp(answers[i][1], name) == 0)
            return answers[i][2];
    return NULL;
}

const char *gw_synonym_verb(const char *name, size_t *at)
{
    static const char *const verbs[][2] = {
        {"ls", "list"},          {"ps", "list"},         {"status", "show"},
        {"get", "show"},         {"describe", "show"},   {"trials", "show"},
        {"studies", "list"},     {"best-trial", "best"}, {"best-trials", "best"},
        {"continue", "resume"},  {"restart", "resume"},  {"visualize", "plot"},
        {"importance", "plot"},  {"dashboard", "plot"},  {"results", "show"},
        {"info", "show"},        {"top", "show"},        {"best-params", "best"},
        {"best-value", "best"},  {"show", "list"},       {"delete", "rm"},
        {"del", "rm"},           {"remove", "rm"},       {"unpublish", "rm"},
        {"kill", "rm"},          {"rm", "revoke"},       {"delete", "revoke"},
        {"cat", "get"},          {"add", "put"},         {"save", "put"},
        {"login", "store"},      {"add", "create"},      {"new", "create"},
        {"enable", "undrain"},   {"disable", "drain"},   {"cordon", "drain"},
        {"uncordon", "undrain"},
    };
    for (; *at < sizeof verbs / sizeof *verbs; ++*at)
        if (strcmp(verbs[*at][0], name) == 0)
            return verbs[(*at)++][1];
    return NULL;
}
