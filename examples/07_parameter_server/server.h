/* The parameter server and its trainers.
 *
 * The server is an actor that has the weights and a version, which grows with each update. A
 * trainer is a task: it takes weights of some version and gives a gradient. Its staleness is the
 * number of updates that the server has made since that version. */
#ifndef GW_EXAMPLES_PARAMETER_SERVER_H
#define GW_EXAMPLES_PARAMETER_SERVER_H

#include <gangway/gangway.h>

enum { SERVER_DROPPED = -1 };

/* server (lr, bound): the task that makes the actor. Gradients whose staleness is above the bound
 * are dropped. */
GW_TASK_DECLARE(server);
/* server_pull (): the weights, for gradient and evaluate. */
GW_TASK_DECLARE(server_pull);
/* server_push (gradient): applies a gradient; returns its staleness, or SERVER_DROPPED. */
GW_TASK_DECLARE(server_push);

/* gradient (weights, batch, seed): what server_push takes, computed on `batch` images that the seed
 * chooses. evaluate (weights): the part of the held-out images that is read right. */
GW_TASK_DECLARE(gradient);
GW_TASK_DECLARE(evaluate);

#endif
