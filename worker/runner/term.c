/* Notes SIGTERM. Once the signal was noted, it is never forgotten: this process ends. */
#include "worker/runner/term.h"

#include <signal.h>

static volatile sig_atomic_t told;

static void term_on_signal(int number)
{
    (void)number;
    told = 1;
}

void gw_term_heed(void)
{
    const struct sigaction action = {.sa_handler = term_on_signal, .sa_flags = SA_RESTART};
    (void)sigaction(SIGTERM, &action, NULL);
}

bool gw_term_told(void)
{
    return told;
}

bool gw_term_let_be(void)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGTERM, &action, NULL);
    return told;
}
