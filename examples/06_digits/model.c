/* The two networks of the example. */
#include "examples/06_digits/model.h"

#include "examples/06_digits/images.h"

#include <string.h>

static void convnet(struct nn_net *net)
{
    int x = nn_relu(net, nn_batch_norm(net, nn_convolution(net, 0, 16, 5, 1)));
    x = nn_max_pool(net, x, 2);
    x = nn_relu(net, nn_batch_norm(net, nn_convolution(net, x, 32, 5, 1)));
    x = nn_max_pool(net, x, 2);
    (void)nn_dense(net, x, DIGITS_CLASSES);
}

/* Two convolutions and a shortcut around them; with a stride the shortcut is a convolution too. */
static int block(struct nn_net *net, int x, int channels, int stride)
{
    int a = nn_relu(net, nn_batch_norm(net, nn_convolution(net, x, channels, 3, stride)));
    a = nn_batch_norm(net, nn_convolution(net, a, channels, 3, 1));
    if (stride > 1)
        x = nn_batch_norm(net, nn_convolution(net, x, channels, 1, stride));
    return nn_relu(net, nn_add(net, x, a));
}

static void residual(struct nn_net *net)
{
    int x = nn_relu(net, nn_batch_norm(net, nn_convolution(net, 0, 8, 3, 1)));
    x = block(net, x, 16, 2);
    x = block(net, x, 16, 1);
    x = block(net, x, 32, 2);
    (void)nn_dense(net, nn_average(net, x), DIGITS_CLASSES);
}

struct nn_net *digits_model_new(const char *name)
{
    const bool is_residual = strcmp(name, "residual") == 0;
    if (!is_residual && strcmp(name, "convnet") != 0)
        return NULL;
    struct nn_net *net = nn_net_new((struct nn_shape){1, DIGITS_SIDE, DIGITS_SIDE});
    if (net && is_residual)
        residual(net);
    else if (net)
        convnet(net);
    return net;
}
