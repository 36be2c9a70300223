/* Transfers programs and task files from clients to workers.
 *
 * A program is ready when every file of its manifest is in the blob store with the right hash.
 * Copies run on libuv's threads, everything else on the loop's thread. Programs and files that a
 * detached job names are kept on disk: their manifest is in programs/, after a letter that tells
 * files from programs. If two clients send the same program, the second waits for the copies of the
 * first. Programs are never removed. If there are too many task files, those that no job names are
 * removed, least recently used first. */
#include "scheduler/net/programs.h"

#include "graph/base/array.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/wire/manifest.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRAMS_MAX = 4096, FILES_MAX = 4096, ASKED_MAX = 64 };

struct program {
    uint8_t hash[GW_HASH_BYTES];
    struct gw_arena arena;
    struct gw_bin bytes; /* the manifest as received; in the arena */
    struct gw_manifest manifest;
    bool ready;
    bool files;           /* files of tasks instead of a program */
    bool stored;          /* its manifest is in programs/ */
    uint64_t bytes_total; /* of all its files */
    uint64_t used;        /* counter value of its last use */
    uint32_t asked;       /* files that were requested and are not copied yet */
    uint64_t asked_peer;
    GW_ARRAY(uint64_t) waiting;   /* clients to tell when it is ready */
    GW_ARRAY(uint64_t) announced; /* workers that have its manifest */
};

struct gw_programs {
    uv_loop_t *loop;
    struct gw_programs_callbacks callbacks;
    struct gw_blobs blobs;
    char stored_dir[PATH_MAX - 128]; /* empty: nothing is kept on disk */
    GW_ARRAY(struct program *) list;
    uint64_t files_bytes_max, uses;
    uint32_t copies; /* running copies */
    bool closed;
};

/* A blob that is being copied into the store. */
struct copy {
    uv_work_t work;
    struct gw_programs *programs;
    uint8_t hash[GW_HASH_BYTES];
    int fd;
    int rc;
    struct gw_error error;
};

int gw_programs_open(uv_loop_t *loop, const struct gw_programs_options *options,
                     struct gw_programs **programs, struct gw_error *error)
{
    struct gw_programs *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->loop = loop;
    opened->callbacks = options->callbacks;
    opened->files_bytes_max =
        options->files_bytes_max ? options->files_bytes_max : UINT64_C(4) << 30;
    char blobs[PATH_MAX];
    (void)snprintf(blobs, sizeof blobs, "%s/blobs", options->dir);
    int rc = gw_blobs_init(&opened->blobs, blobs, error);
    if (rc == 0 && options->keeps) {
        (void)snprintf(opened->stored_dir, sizeof opened->stored_dir, "%s/programs", options->dir);
        rc = gw_dir_make(opened->stored_dir, error);
    }
    if (rc < 0) {
        free(opened);
        return rc;
    }
    *programs = opened;
    return 0;
}

static void program_free(struct program *program)
{
    gw_array_deinit(&program->waiting);
    gw_array_deinit(&program->announced);
    gw_arena_deinit(&program->arena);
    free(program);
}

static void programs_free(struct gw_programs *programs)
{
    for (size_t i = 0; i < programs->list.count; i++)
        program_free(programs->list.items[i]);
    gw_array_deinit(&programs->list);
    free(programs);
}

void gw_programs_close(struct gw_programs *programs)
{
    programs->closed = true;
    if (programs->copies == 0)
        programs_free(programs);
}

static void stored_path(const struct gw_programs *programs, const uint8_t hash[GW_HASH_BYTES],
                        char path[PATH_MAX]);

static struct program *find(const struct gw_programs *programs, struct gw_bin hash)
{
    for (size_t i = 0; i < programs->list.count; i++)
        if (hash.size == GW_HASH_BYTES &&
            memcmp(programs->list.items[i]->hash, hash.data, GW_HASH_BYTES) == 0)
            return programs->list.items[i];
    return NULL;
}

static bool program_holds(const struct program *program, const uint8_t hash[GW_HASH_BYTES])
{
    for (uint32_t i = 0; i < program->manifest.count; i++)
        if (memcmp(program->manifest.files[i].hash, hash, GW_HASH_BYTES) == 0)
            return true;
    return false;
}

bool gw_programs_has(const struct gw_programs *programs, struct gw_bin hash)
{
    const struct program *program = find(programs, hash);
    return program && program->ready;
}

static void answer_ready(struct gw_programs *programs, const struct program *program, uint64_t peer,
                         const struct gw_error *error)
{
    struct gw_message message = {
        .type = GW_MESSAGE_program_ready,
        .program_ready = {.hash = {program->hash, GW_HASH_BYTES},
                          .code = error ? error->code : 0,
                          .text = error ? error->text : ""},
    };
    programs->callbacks.send(peer, &message, -1, programs->callbacks.arg);
}

/* Returns true if all its files are in the store with the right size. Files may disappear: users
 * and cleaners of temporary folders remove them. */
static bool is_whole(const struct gw_programs *programs, const struct program *program)
{
    uint8_t hash[GW_HASH_BYTES];
    return gw_manifest_lacks(&program->manifest, &programs->blobs, hash, 1) == 0;
}

/* Answers all waiting clients if the last file has arrived or one can never arrive. */
static void settle(struct gw_programs *programs, struct program *program,
                   const struct gw_error *error)
{
    if (!error) {
        program->ready = is_whole(programs, program);
        if (!program->ready)
            return;
    }
    for (size_t i = 0; i < program->waiting.count; i++)
        answer_ready(programs, program, program->waiting.items[i], error);
    gw_array_clear(&program->waiting);
}

/* Asks a client for the next missing files. Each file needs a file descriptor at both ends, so at
 * most ASKED_MAX files are requested at once. */
static void want(struct gw_programs *programs, struct program *program, uint64_t peer)
{
    uint8_t hashes[ASKED_MAX * GW_HASH_BYTES];
    program->asked = gw_manifest_lacks(&program->manifest, &programs->blobs, hashes, ASKED_MAX);
    program->asked_peer = peer;
    struct gw_message message = {
        .type = GW_MESSAGE_blob_want,
        .blob_want = {.hashes = {hashes, program->asked * GW_HASH_BYTES}},
    };
    programs->callbacks.send(peer, &message, -1, programs->callbacks.arg);
}

static int program_new(const struct gw_msg_program *message, struct program **program,
                       struct gw_error *error)
{
    struct program *made = calloc(1, sizeof *made);
    GW_MUST_PTR(made);
    memcpy(made->hash, message->hash.data, GW_HASH_BYTES);
    void *copy = gw_arena_copy(&made->arena, message->manifest.data, message->manifest.size);
    GW_MUST_PTR(copy);
    made->bytes = (struct gw_bin){copy, message->manifest.size};
    int rc = gw_manifest_decode(made->bytes, &made->arena, &made->manifest, error);
    if (rc < 0) {
        program_free(made);
        return rc;
    }
    made->files = message->files != 0;
    for (uint32_t i = 0; i < made->manifest.count; i++)
        made->bytes_total += made->manifest.files[i].bytes;
    *program = made;
    return 0;
}

/* -- Removing task files that are not needed -------------------------------------------------- */

static bool in_others(const struct gw_programs *programs, const struct program *program,
                      const uint8_t hash[GW_HASH_BYTES])
{
    for (size_t i = 0; i < programs->list.count; i++)
        if (programs->list.items[i] != program && program_holds(programs->list.items[i], hash))
            return true;
    return false;
}

/* Removes a program or bundle from the list, with the blobs that only it uses. */
static void drop(struct gw_programs *programs, size_t at)
{
    struct program *program = programs->list.items[at];
    for (uint32_t i = 0; i < program->manifest.count; i++) {
        char path[PATH_MAX];
        if (in_others(programs, program, program->manifest.files[i].hash))
            continue;
        gw_blobs_path(&programs->blobs, program->manifest.files[i].hash, path);
        (void)unlink(path);
    }
    if (program->stored) {
        char path[PATH_MAX];
        stored_path(programs, program->hash, path);
        (void)unlink(path);
    }
    gw_array_remove_swap(&programs->list, at);
    program_free(program);
}

/* Makes room for one more bundle of task files. Returns false if all other bundles are in use. */
static bool make_room(struct gw_programs *programs, uint64_t bytes)
{
    for (;;) {
        size_t count = 0, oldest = SIZE_MAX;
        uint64_t total = bytes;
        for (size_t i = 0; i < programs->list.count; i++) {
            const struct program *program = programs->list.items[i];
            if (!program->files)
                continue;
            count++;
            total += program->bytes_total;
            if (program->waiting.count || programs->copies ||
                (oldest != SIZE_MAX && program->used >= programs->list.items[oldest]->used) ||
                programs->callbacks.used((struct gw_bin){program->hash, GW_HASH_BYTES},
                                         programs->callbacks.arg))
                continue;
            oldest = i;
        }
        if (count < FILES_MAX && total <= programs->files_bytes_max)
            return true;
        if (oldest == SIZE_MAX)
            return false;
        drop(programs, oldest);
    }
}

/* Checks that the cluster can keep this bundle of task files. An error is told to the client, and
 * the connection stays open. */
static int check_room(struct gw_programs *programs, const struct program *program,
                      struct gw_error *error)
{
    enum { MIB = 1 << 20 };
    unsigned long long most = (unsigned long long)(programs->files_bytes_max / MIB);
    if (program->bytes_total > programs->files_bytes_max)
        return gw_error_set(
            error, GW_ELIMIT,
            "the job ships %llu MiB of files, and the file cache of this cluster holds %llu MiB: "
            "ship fewer, or start the cluster with a larger cache (gangway up --file-cache)",
            (unsigned long long)(program->bytes_total / MIB), most);
    if (!make_room(programs, program->bytes_total))
        return gw_error_set(error, GW_ELIMIT,
                            "the files of other jobs fill the file cache of this cluster (%llu "
                            "MiB, %d bundles; gangway up --file-cache): wait until jobs have ended",
                            most, FILES_MAX);
    return 0;
}

static int on_program(struct gw_programs *programs, uint64_t peer,
                      const struct gw_msg_program *message, struct gw_error *error)
{
    uint8_t hash[GW_HASH_BYTES];
    gw_hash_bytes(message->manifest.data, message->manifest.size, hash);
    if (message->hash.size != GW_HASH_BYTES || memcmp(hash, message->hash.data, GW_HASH_BYTES))
        return gw_error_set(
            error, GW_EPROTO,
            "message program: the list of files does not have the hash that the message names");

    struct program *program = find(programs, message->hash);
    if (!program) {
        struct gw_error full;
        if (!message->files && programs->list.count >= PROGRAMS_MAX + FILES_MAX)
            return gw_error_set(error, GW_ELIMIT, "more than %d programs", PROGRAMS_MAX);
        int rc = program_new(message, &program, error);
        if (rc < 0)
            return rc;
        if (program->files && check_room(programs, program, &full) < 0) {
            answer_ready(programs, program, peer, &full);
            program_free(program);
            return 0;
        }
        GW_MUST(gw_array_push(&programs->list, program));
    }
    program->used = ++programs->uses;
    GW_MUST(gw_array_push(&program->waiting, peer));
    settle(programs, program, NULL);
    if (!program->ready)
        want(programs, program, peer);
    return 0;
}

/* -- What is kept on disk --------------------------------------------------------------------- */

enum { STORED_FILES = 'f', STORED_PROGRAM = 'p' };

static void stored_path(const struct gw_programs *programs, const uint8_t hash[GW_HASH_BYTES],
                        char path[PATH_MAX])
{
    char text[GW_HASH_TEXT_BYTES];
    gw_hash_format(hash, text);
    (void)snprintf(path, PATH_MAX, "%s/%s", programs->stored_dir, text);
}

static bool write_stored(const struct program *program, const char *path)
{
    FILE *file = fopen(path, "we");
    bool wrote = file && fputc(program->files ? STORED_FILES : STORED_PROGRAM, file) != EOF &&
                 fwrite(program->bytes.data, 1, program->bytes.size, file) == program->bytes.size;
    if (file && fclose(file) != 0)
        wrote = false;
    if (!wrote)
        gw_log_error("cannot write %s: %s: jobs with this program or these files cannot run after "
                     "a restart of the scheduler",
                     path, strerror(errno));
    return wrote;
}

void gw_programs_store(struct gw_programs *programs, struct gw_bin hash,
                       void (*store)(const char *path, void *arg), void *arg)
{
    char path[PATH_MAX];
    struct program *program = find(programs, hash);
    if (!program || program->stored || !*programs->stored_dir)
        return;
    stored_path(programs, program->hash, path);
    if (!write_stored(program, path))
        return;
    program->stored = true;
    store(path, arg);
    for (uint32_t i = 0; i < program->manifest.count; i++) {
        gw_blobs_path(&programs->blobs, program->manifest.files[i].hash, path);
        store(path, arg);
    }
}

/* Reads a file of programs/. Returns NULL if its content does not match its name or if blobs are
 * missing. */
static struct program *read_stored(struct gw_programs *programs, const char *path,
                                   const uint8_t hash[GW_HASH_BYTES])
{
    struct gw_error error;
    struct program *program = NULL;
    uint8_t found[GW_HASH_BYTES];
    FILE *file = fopen(path, "re");
    struct stat about;
    size_t size = file && fstat(fileno(file), &about) == 0 ? (size_t)about.st_size : 0;
    char *bytes = malloc(size + 1);
    GW_MUST_PTR(bytes);
    size = size ? fread(bytes, 1, size, file) : 0;
    if (file)
        (void)fclose(file);
    if (size > 1)
        gw_hash_bytes(bytes + 1, size - 1, found);
    if (size > 1 && memcmp(found, hash, sizeof found) == 0 &&
        program_new(&(struct gw_msg_program){.hash = {hash, GW_HASH_BYTES},
                                             .manifest = {bytes + 1, (uint32_t)size - 1},
                                             .files = bytes[0] == STORED_FILES},
                    &program, &error) == 0) {
        for (uint32_t i = 0; i < program->manifest.count; i++)
            gw_blobs_look(&programs->blobs, program->manifest.files[i].hash);
        settle(programs, program, NULL);
    }
    free(bytes);
    if (program && !program->ready) {
        program_free(program);
        program = NULL;
    }
    return program;
}

void gw_programs_restore(struct gw_programs *programs)
{
    DIR *dir = *programs->stored_dir ? opendir(programs->stored_dir) : NULL;
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[PATH_MAX];
        uint8_t hash[GW_HASH_BYTES];
        if (!gw_hash_parse(entry->d_name, hash))
            continue;
        stored_path(programs, hash, path);
        if (!programs->callbacks.named((struct gw_bin){hash, sizeof hash},
                                       programs->callbacks.arg)) {
            (void)unlink(path);
            continue;
        }
        struct program *program = read_stored(programs, path, hash);
        if (!program) {
            gw_log_error("%s is damaged, or some files that it lists are missing: jobs that need "
                         "them cannot run",
                         path);
            continue;
        }
        program->stored = true;
        program->used = ++programs->uses;
        GW_MUST(gw_array_push(&programs->list, program));
    }
    if (dir)
        closedir(dir);
}

/* -- Blobs ------------------------------------------------------------------------------------ */

static void on_copy_run(uv_work_t *work)
{
    struct copy *copy = work->data;
    copy->rc = gw_blobs_put(&copy->programs->blobs, copy->hash, copy->fd, &copy->error);
}

static const struct gw_manifest_file *file_of(const struct program *program,
                                              const uint8_t hash[GW_HASH_BYTES])
{
    uint32_t i = 0;
    while (memcmp(program->manifest.files[i].hash, hash, GW_HASH_BYTES) != 0)
        i++;
    return &program->manifest.files[i];
}

/* Handles the arrival or failure of one file. */
static void copied(struct gw_programs *programs, struct program *program,
                   const uint8_t hash[GW_HASH_BYTES], const struct gw_error *why)
{
    struct gw_error error;
    const struct gw_manifest_file *file = file_of(program, hash);
    bool here = !why && gw_blobs_has(&programs->blobs, hash, file->bytes);
    program->asked -= program->asked > 0;
    if (!here) /* also if the manifest states a wrong size: otherwise the file would be requested
                  forever */
        gw_error_set(&error, why ? why->code : GW_ECORRUPT, "%s: %s", file->name,
                     why ? why->text
                         : "its size differs from the manifest, or it was changed in the store");
    settle(programs, program, here ? NULL : &error);
    if (!program->ready && program->asked == 0 && program->waiting.count > 0)
        want(programs, program, program->waiting.items[0]);
}

static void on_copy_done(uv_work_t *work, int status)
{
    struct copy *copy = work->data;
    struct gw_programs *programs = copy->programs;
    (void)status; /* work is never cancelled */
    close(copy->fd);
    programs->copies--;
    if (programs->closed) {
        if (programs->copies == 0)
            programs_free(programs);
        free(copy);
        return;
    }
    if (copy->rc < 0)
        gw_log_warn("a file from a client was not stored: %s", copy->error.text);
    for (size_t i = 0; i < programs->list.count; i++) {
        struct program *program = programs->list.items[i];
        if (!program->ready && program_holds(program, copy->hash))
            copied(programs, program, copy->hash, copy->rc < 0 ? &copy->error : NULL);
    }
    free(copy);
}

/* A client does not have a file that it was asked for. */
static void has_not(struct gw_programs *programs, const uint8_t hash[GW_HASH_BYTES])
{
    struct gw_error error;
    gw_error_set(&error, GW_ENOENT, "the file was removed before it was sent");
    for (size_t i = 0; i < programs->list.count; i++) {
        struct program *program = programs->list.items[i];
        if (!program->ready && program_holds(program, hash))
            copied(programs, program, hash, &error);
    }
}

static int on_blob(struct gw_programs *programs, const struct gw_msg_blob *message, int fd,
                   struct gw_error *error)
{
    if (message->hash.size != GW_HASH_BYTES) {
        if (fd >= 0)
            close(fd);
        return gw_error_set(error, GW_EPROTO, "blob: without a hash");
    }
    if (fd < 0) {
        has_not(programs, message->hash.data);
        return 0;
    }
    struct copy *copy = calloc(1, sizeof *copy);
    GW_MUST_PTR(copy);
    *copy = (struct copy){.programs = programs, .fd = fd};
    copy->work.data = copy;
    memcpy(copy->hash, message->hash.data, GW_HASH_BYTES);
    programs->copies++;
    int rc = uv_queue_work(programs->loop, &copy->work, on_copy_run, on_copy_done);
    assert(rc == 0);
    return 0;
}

/* Answers a worker that lacks blobs: each blob of the store is sent as a descriptor. */
static int on_blob_want(struct gw_programs *programs, uint64_t peer,
                        const struct gw_msg_blob_want *message, struct gw_error *error)
{
    if (message->hashes.size % GW_HASH_BYTES != 0)
        return gw_error_set(error, GW_EPROTO,
                            "message blob_want: the size of its list of hashes is wrong");

    const uint8_t *hashes = message->hashes.data;
    for (uint32_t at = 0; at < message->hashes.size; at += GW_HASH_BYTES) {
        struct gw_message blob = {.type = GW_MESSAGE_blob,
                                  .blob.hash = {hashes + at, GW_HASH_BYTES}};
        struct gw_error why;
        int fd;
        if (gw_blobs_open(&programs->blobs, hashes + at, &fd, &blob.blob.bytes, &why) < 0) {
            gw_log_warn("a worker asked for a file that the scheduler does not have: %s", why.text);
            programs->callbacks.send(peer, &blob, -1, programs->callbacks.arg);
            continue;
        }
        programs->callbacks.send(peer, &blob, fd, programs->callbacks.arg);
        close(fd);
    }
    return 0;
}

int gw_programs_on_message(struct gw_programs *programs, uint64_t peer,
                           const struct gw_message *message, int fd, struct gw_error *error)
{
    if (message->type == GW_MESSAGE_blob)
        return on_blob(programs, &message->blob, fd, error);
    if (fd >= 0) {
        close(fd);
        return gw_error_set(error, GW_EPROTO, "%s: with a descriptor",
                            gw_message_name(message->type));
    }
    if (message->type == GW_MESSAGE_program)
        return on_program(programs, peer, &message->program, error);
    assert(message->type == GW_MESSAGE_blob_want);
    return on_blob_want(programs, peer, &message->blob_want, error);
}

void gw_programs_announce(struct gw_programs *programs, uint64_t peer, struct gw_bin hash)
{
    struct program *program = find(programs, hash);
    if (!program && hash.size > 0) { /* task files of a job that had ended and runs again */
        struct gw_message gone = {
            .type = GW_MESSAGE_program_ready,
            .program_ready = {
                .hash = hash,
                .code = GW_ENOENT,
                .text = "this cluster does not keep these files any more: submit the job again"}};
        programs->callbacks.send(peer, &gone, -1, programs->callbacks.arg);
    }
    if (!program)
        return; /* a command: its spec names no program */
    program->used = ++programs->uses;
    for (size_t i = 0; i < program->announced.count; i++)
        if (program->announced.items[i] == peer)
            return;
    GW_MUST(gw_array_push(&program->announced, peer));
    struct gw_message message = {
        .type = GW_MESSAGE_program,
        .program = {.hash = {program->hash, GW_HASH_BYTES},
                    .manifest = program->bytes,
                    .files = program->files},
    };
    programs->callbacks.send(peer, &message, -1, programs->callbacks.arg);
}

void gw_programs_forget_peer(struct gw_programs *programs, uint64_t peer)
{
    for (size_t i = 0; i < programs->list.count; i++) {
        struct program *program = programs->list.items[i];
        for (size_t j = program->waiting.count; j-- > 0;)
            if (program->waiting.items[j] == peer)
                gw_array_remove_swap(&program->waiting, j);
        for (size_t j = program->announced.count; j-- > 0;)
            if (program->announced.items[j] == peer)
                gw_array_remove_swap(&program->announced, j);
        if (!program->ready && program->asked_peer == peer && program->waiting.count > 0)
            want(programs, program, program->waiting.items[0]); /* another client has it, too */
    }
}
