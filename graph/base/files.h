/* Operations on files by path. Below the folder of a separate user, the user's own agent carries
 * them out, with that user's rights, and hands over descriptors. Everywhere else they are the
 * system calls of the same names: they return -1 and set errno.
 *
 * An agent is a process of the user, so it may be stopped or replaced by the user. Each operation
 * therefore has a time limit, after which the agent is not used any more (EIO). The limit is short
 * if the agent is stopped. A descriptor is accepted only if it is a regular file or a folder on the
 * kind of file system that the user's folder is on, which is not FUSE. */
#ifndef GW_BASE_FILES_H
#define GW_BASE_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* gw_files_attach has all operations below `folder` (an absolute path) carried out by the agent, a
 * process at the other end of a connected stream socket. It takes over the socket, and replaces an
 * earlier one of this folder. gw_files_detach forgets it: operations then fail. gw_files_lives
 * returns false if the folder has no agent, or one that does not answer. Thread-safe, as all
 * functions here. */
void gw_files_attach(const char *folder, int socket, pid_t agent);
void gw_files_detach(const char *folder);
bool gw_files_lives(const char *folder);

/* gw_files_are_remote returns true if the path is below the folder of an agent. */
bool gw_files_are_remote(const char *path);

int gw_files_open(const char *path, int flags, mode_t mode);
int gw_files_mkdir(const char *path, mode_t mode);
int gw_files_unlink(const char *path);
int gw_files_rename(const char *from, const char *to);
int gw_files_symlink(const char *target, const char *path);
ssize_t gw_files_readlink(const char *path, char *target, size_t bytes);
int gw_files_stat(const char *path, struct stat *status);
int gw_files_access(const char *path, int mode);
int gw_files_chmod(const char *path, mode_t mode);

/* gw_files_opendir returns a listing that only readdir and closedir may be used with, or NULL. */
DIR *gw_files_opendir(const char *path);

/* gw_files_remove removes a folder with all its content, as gw_dir_remove. When it returns, the
 * folder has another name, and its content is being removed. gw_files_make makes a
 * folder and its parents. Only for remote paths. */
int gw_files_remove(const char *path);
int gw_files_make(const char *path);

/* gw_files_count writes the size of a folder and the free space of its disk. A folder of very many
 * files has the size INT64_MAX. Only for remote paths. */
int gw_files_count(const char *path, uint64_t *bytes, uint64_t *free_bytes);

/* gw_files_kill has the agent of a folder kill a process of its user. */
int gw_files_kill(const char *folder, pid_t pid);

/* gw_files_stamp returns the state of a folder, as gw_pack_stamp (worker/store/pack.h). A folder of
 * very many files is like an empty one. Only for remote paths. */
uint64_t gw_files_stamp(const char *path);

/* gw_files_transfer has a child process of the agent serve a checkpoint transfer
 * (worker/store/transfer_agent.h) on a connected stream socket (borrowed), for the folder `path` of
 * checkpoints. `where` says more about the worker (transfer_agent.h). Only for remote paths. */
int gw_files_transfer(const char *path, const char *where, int socket);

/* The messages of an agent: a request with its two texts, each with its NUL, and an answer with
 * `bytes` bytes of data and at most one descriptor. The request GW_FILES_TRANSFER has a descriptor.
 */
enum gw_files_operation {
    GW_FILES_OPEN,
    GW_FILES_MKDIR,
    GW_FILES_UNLINK,
    GW_FILES_RENAME,
    GW_FILES_SYMLINK,
    GW_FILES_READLINK,
    GW_FILES_STAT,
    GW_FILES_ACCESS,
    GW_FILES_CHMOD,
    GW_FILES_REMOVE,
    GW_FILES_MAKE,
    GW_FILES_COUNT, /* the answer's status: st_size is the size, st_blocks the free space, in bytes
                     */
    GW_FILES_KILL,  /* flags: the pid */
    GW_FILES_STAMP, /* the answer's status: st_size is the stamp */
    GW_FILES_TRANSFER,
    GW_FILES_OPERATIONS,
};

struct gw_files_request {
    uint32_t operation, mode;
    int32_t flags;
    uint32_t bytes[2]; /* lengths of the texts with their NULs; 0: none */
};

struct gw_files_answer {
    int32_t errnum; /* 0: done */
    uint32_t bytes;
    struct stat status;
};

#endif
