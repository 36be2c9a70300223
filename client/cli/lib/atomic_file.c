/* Writes files atomically: a temporary file is renamed when it is complete.
 *
 * Invariant: while a file is open, `being_written` is the name of the temporary file. A signal
 * handler removes that file before the signal ends the process. */
#include "client/cli/lib/atomic_file.h"

#include "client/cli/lib/cli.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
enum { ENDING = sizeof ending / sizeof *ending };

static struct sigaction before[ENDING];
static char *volatile being_written;

static void on_ending(int number)
{
    if (being_written)
        (void)unlink(being_written);
    (void)raise(number); /* SA_RESETHAND has restored the default action */
}

static void watch_signals(void)
{
    const struct sigaction ours = {.sa_handler = on_ending,
                                   .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    for (int i = 0; i < ENDING; i++)
        if (sigaction(ending[i], NULL, &before[i]) == 0 && before[i].sa_handler == SIG_DFL)
            (void)sigaction(ending[i], &ours, NULL);
}

static void forget(void)
{
    char *name = being_written;
    for (int i = 0; i < ENDING; i++)
        (void)sigaction(ending[i], &before[i], NULL);
    being_written = NULL;
    free(name);
}

/* Returns the mode that the file will have: that of the file that it replaces, or the mode that
 * fopen would give. */
static mode_t mode_of(const char *path)
{
    struct stat there;
    mode_t mask = umask(0);
    (void)umask(mask);
    return stat(path, &there) == 0 ? there.st_mode & 0777 : 0666 & ~mask;
}

int gw_atomic_file_open(struct gw_atomic_file *draft, const char *path, struct gw_error *error)
{
    static const char suffix[] = ".XXXXXX";
    const size_t bytes = strlen(path) + sizeof suffix;
    assert(!being_written);
    char *name = malloc(bytes);
    if (!name)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    (void)snprintf(name, bytes, "%s%s", path, suffix);
    being_written = name;
    watch_signals();
    int fd = mkostemp(name, O_CLOEXEC);
    FILE *file = fd >= 0 && fchmod(fd, mode_of(path)) == 0 ? fdopen(fd, "wb") : NULL;
    if (!file) {
        int rc = gw_cli_path_error(path, errno, error);
        if (fd >= 0) {
            (void)close(fd);
            (void)unlink(name);
        }
        forget();
        return rc;
    }
    *draft = (struct gw_atomic_file){file, path};
    return 0;
}

int gw_atomic_file_close(struct gw_atomic_file *draft, int rc, struct gw_error *error)
{
    int why = errno;
    if (fclose(draft->file) != 0 && rc == 0) {
        rc = GW_EIO;
        why = errno;
    }
    if (rc == 0 && rename(being_written, draft->path) != 0) {
        rc = GW_EIO;
        why = errno;
    }
    if (rc < 0)
        (void)unlink(being_written);
    forget();
    return rc < 0 ? gw_error_set(error, rc, "%s: %s", draft->path, strerror(why)) : 0;
}
