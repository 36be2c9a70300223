/* Shuts a worker down, by an event to its core. */
#include "worker/net/link/shut_down.h"

#include "graph/base/log.h"
#include "worker/net/link/step.h"

#include <signal.h>

void gw_shut_down(struct gw_host *host)
{
    if (host->shutting_down || host->exiting)
        return;
    host->shutting_down = true;
    gw_step_later(host, &(struct gw_event){.type = GW_EVENT_SHUTDOWN});
}

void gw_shut_down_by_signal(struct gw_host *host, int signal)
{
    const bool again = host->last_words && host->options.times &&
                       atomic_load(host->options.times) > host->times_heeded;
    if (host->exiting || (host->shutting_down && !again))
        return;
    host->times_heeded = host->options.times ? atomic_load(host->options.times) : 0;
    gw_log_info("ending%s: %s", again ? " at once" : "",
                signal == SIGINT ? "interrupted" : "terminated");
    host->last_words = signal == SIGINT ? "it was interrupted (SIGINT)" : "it was ended (SIGTERM)";
    host->shutting_down = true;
    gw_step_later(host, &(struct gw_event){.type = GW_EVENT_LEAVE, .text = host->last_words});
}

void gw_shut_down_heed(struct gw_host *host)
{
    const int number = host->options.told ? atomic_load(host->options.told) : 0;
    if (number)
        gw_shut_down_by_signal(host, number);
}
