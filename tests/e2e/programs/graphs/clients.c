/* `clients COUNT`: opens clients, all at once, until one is refused or there are COUNT; prints how
 * many, and why no more. */
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const int most = argc > 1 ? atoi(argv[1]) : 0;
    struct gw_client **clients = calloc((size_t)most + 1, sizeof *clients);
    int count = 0;
    CHECK(clients);
    while (count < most && gw_client_open(NULL, &clients[count], &error) == 0)
        count++;
    printf("%d clients: %s\n", count, count < most ? error.text : "");
    for (int i = 0; i < count; i++)
        gw_client_close(clients[i]);
    free(clients);
    return 0;
}
