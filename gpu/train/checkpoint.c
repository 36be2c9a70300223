/* A set of named sections, and the format of its file (see README.md). A file has a head, a table
 * of the sections, a hash of both, and then the bytes of each section, whose hashes are in the
 * table. Every byte of a file is checked, and there is no padding. A length is used only after its
 * hash was verified. */
#include "gpu/train/checkpoint_image.h"

#include "graph/base/strmap.h"
#include "graph/wire/hash.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION = 1,
    HEAD_BYTES = 32,  /* size of the header in bytes: magic number 8, version 4, number of sections
                         4, length of the file 8, length of the table 8 */
    ENTRY_BYTES = 48, /* size in bytes of a section's entry in the table: kind 4, length of the
                         name 4, length of the data 8, hash 32; the name follows */
};

/* The first byte is not text, so the file is not mistaken for text. The line ends reveal a transfer
 * that changed them. */
static const uint8_t magic[8] = {0x89, 'G', 'W', 'C', '\r', '\n', 0x1a, '\n'};

enum kind {
    KIND_BYTES = 1,
    KIND_I64 = 2,
};

struct section {
    char *name;
    enum kind kind;
    const void *data; /* NULL: the section is an integer */
    size_t bytes;
    uint8_t integer[8]; /* little-endian */
    bool is_on_device;
};

struct gw_checkpoint {
    struct section *sections;
    size_t count, room;
    struct gw_strmap names; /* of sections, to their numbers */
    void *image; /* the file's content, into which sections point if the set was read from a file */
    size_t image_bytes;
    char warning[GW_ERROR_TEXT_MAX];
};

static void put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void put64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

struct gw_checkpoint *gw_checkpoint_new(void)
{
    return calloc(1, sizeof(struct gw_checkpoint));
}

void gw_checkpoint_free(struct gw_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    for (size_t i = 0; i < checkpoint->count; i++)
        free(checkpoint->sections[i].name);
    gw_strmap_deinit(&checkpoint->names);
    free(checkpoint->sections);
    free(checkpoint->image);
    free(checkpoint);
}

static const struct section *find(const struct gw_checkpoint *checkpoint, const char *name)
{
    uint64_t number;
    return gw_strmap_get(&checkpoint->names, name, &number) ? &checkpoint->sections[number] : NULL;
}

/* Adds a section. Its name is the first `length` bytes of name. */
static int add(struct gw_checkpoint *checkpoint, const char *name, size_t length,
               const struct section *section)
{
    if (checkpoint->count == GW_CHECKPOINT_SECTIONS_MAX)
        return GW_ELIMIT;
    if (checkpoint->count == checkpoint->room) {
        size_t room = checkpoint->room ? checkpoint->room * 2 : 16;
        struct section *sections = realloc(checkpoint->sections, room * sizeof *sections);
        if (!sections)
            return GW_ENOMEM;
        checkpoint->sections = sections;
        checkpoint->room = room;
    }
    char *copy = strndup(name, length);
    if (!copy)
        return GW_ENOMEM;
    int rc = find(checkpoint, copy) ? GW_EEXIST : 0;
    if (rc == 0)
        rc = gw_strmap_put(&checkpoint->names, copy, checkpoint->count);
    if (rc < 0) {
        free(copy);
        return rc;
    }
    checkpoint->sections[checkpoint->count] = *section;
    checkpoint->sections[checkpoint->count++].name = copy;
    return 0;
}

static int set(struct gw_checkpoint *checkpoint, const char *name, const struct section *section)
{
    size_t length = strlen(name);
    if (length == 0 || length > GW_CHECKPOINT_NAME_MAX)
        return GW_EINVAL;
    return add(checkpoint, name, length, section);
}

int gw_checkpoint_set_bytes(struct gw_checkpoint *checkpoint, const char *name, const void *data,
                            size_t bytes)
{
    /* data must not be NULL, because NULL means an integer. */
    return set(
        checkpoint, name,
        &(const struct section){.kind = KIND_BYTES, .data = bytes ? data : magic, .bytes = bytes});
}

int gw_checkpoint_set_device(struct gw_checkpoint *checkpoint, const char *name, const void *data,
                             size_t bytes)
{
    const struct section section = {.kind = KIND_BYTES,
                                    .data = bytes ? data : magic,
                                    .bytes = bytes,
                                    .is_on_device = bytes > 0};
    return set(checkpoint, name, &section);
}

int gw_checkpoint_set_i64(struct gw_checkpoint *checkpoint, const char *name, int64_t value)
{
    struct section section = {.kind = KIND_I64, .bytes = sizeof section.integer};
    put64(section.integer, (uint64_t)value);
    return set(checkpoint, name, &section);
}

static const void *data_of(const struct section *section)
{
    return section->data ? section->data : section->integer;
}

int gw_checkpoint_bytes(const struct gw_checkpoint *checkpoint, const char *name, const void **data,
                        size_t *bytes)
{
    const struct section *section = find(checkpoint, name);
    if (!section)
        return GW_ENOENT;
    if (section->kind != KIND_BYTES || section->is_on_device)
        return GW_EINVAL;
    *data = section->data;
    *bytes = section->bytes;
    return 0;
}

int gw_checkpoint_copy(const struct gw_checkpoint *checkpoint, const char *name, void *memory,
                       size_t bytes, struct gw_error *error)
{
    const void *data;
    size_t found;
    int rc = gw_checkpoint_bytes(checkpoint, name, &data, &found);
    if (rc < 0)
        return gw_error_set(error, rc, "checkpoint: section \"%s\": %s", name, gw_error_text(rc));
    if (found != bytes)
        return gw_error_set(error, GW_EMISMATCH,
                            "checkpoint: section \"%s\" has %zu bytes, wanted %zu", name, found,
                            bytes);
    if (bytes > 0)
        memcpy(memory, data, bytes);
    return 0;
}

int gw_checkpoint_i64(const struct gw_checkpoint *checkpoint, const char *name, int64_t *value)
{
    const struct section *section = find(checkpoint, name);
    if (!section)
        return GW_ENOENT;
    if (section->kind != KIND_I64)
        return GW_EINVAL;
    *value = (int64_t)get64(data_of(section));
    return 0;
}

const char *gw_checkpoint_warning(const struct gw_checkpoint *checkpoint)
{
    return checkpoint->warning[0] ? checkpoint->warning : NULL;
}

void gw_checkpoint_warn(struct gw_checkpoint *checkpoint, const char *text)
{
    (void)snprintf(checkpoint->warning, sizeof checkpoint->warning, "%s", text);
}

size_t gw_checkpoint_sections(const struct gw_checkpoint *checkpoint)
{
    return checkpoint->count;
}

const void *gw_checkpoint_section(const struct gw_checkpoint *checkpoint, size_t i, size_t *bytes)
{
    *bytes = checkpoint->sections[i].bytes;
    return data_of(&checkpoint->sections[i]);
}

const char *gw_checkpoint_section_name(const struct gw_checkpoint *checkpoint, size_t i)
{
    return checkpoint->sections[i].name;
}

bool gw_checkpoint_section_is_on_device(const struct gw_checkpoint *checkpoint, size_t i)
{
    return checkpoint->sections[i].is_on_device;
}

int gw_checkpoint_section_move(struct gw_checkpoint *checkpoint, const struct gw_checkpoint *from,
                               size_t i, const void *memory)
{
    struct section section = from->sections[i];
    if (section.data && section.bytes > 0)
        section.data = memory;
    section.is_on_device = false;
    return set(checkpoint, from->sections[i].name, &section);
}

void *gw_checkpoint_image(const struct gw_checkpoint *checkpoint, size_t *bytes)
{
    *bytes = checkpoint->image_bytes;
    return checkpoint->image;
}

int gw_checkpoint_front(const struct gw_checkpoint *checkpoint, void **front, size_t *bytes)
{
    size_t table_bytes = 0;
    uint64_t data_bytes = 0;
    for (size_t i = 0; i < checkpoint->count; i++) {
        table_bytes += ENTRY_BYTES + strlen(checkpoint->sections[i].name);
        data_bytes += checkpoint->sections[i].bytes;
    }
    const size_t hashed = HEAD_BYTES + table_bytes;
    uint8_t *memory = malloc(hashed + GW_HASH_BYTES);
    if (!memory)
        return GW_ENOMEM;

    memcpy(memory, magic, sizeof magic);
    put32(memory + 8, VERSION);
    put32(memory + 12, (uint32_t)checkpoint->count);
    put64(memory + 16, hashed + GW_HASH_BYTES + data_bytes);
    put64(memory + 24, table_bytes);
    uint8_t *at = memory + HEAD_BYTES;
    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct section *section = &checkpoint->sections[i];
        size_t length = strlen(section->name);
        put32(at, (uint32_t)section->kind);
        put32(at + 4, (uint32_t)length);
        put64(at + 8, section->bytes);
        gw_hash_bytes(data_of(section), section->bytes, at + 16);
        memcpy(at + ENTRY_BYTES, section->name, length);
        at += ENTRY_BYTES + length;
    }
    gw_hash_bytes(memory, hashed, memory + hashed);
    *front = memory;
    *bytes = hashed + GW_HASH_BYTES;
    return 0;
}

/* Checks the head and the hash over head and table. After this call the lengths are trusted. */
static int front_check(const uint8_t *image, size_t bytes, size_t *table_bytes,
                       struct gw_error *error)
{
    if (bytes < sizeof magic || memcmp(image, magic, sizeof magic) != 0)
        return gw_error_set(error, GW_ECORRUPT, "not a checkpoint of Gangway");
    if (bytes < HEAD_BYTES + GW_HASH_BYTES)
        return gw_error_set(error, GW_ECORRUPT, "truncated after %zu bytes", bytes);

    const uint64_t table = get64(image + 24);
    if (table > bytes - HEAD_BYTES - GW_HASH_BYTES)
        return gw_error_set(error, GW_ECORRUPT, "its table is truncated or damaged");
    uint8_t hash[GW_HASH_BYTES];
    gw_hash_bytes(image, HEAD_BYTES + (size_t)table, hash);
    if (memcmp(hash, image + HEAD_BYTES + table, sizeof hash) != 0)
        return gw_error_set(error, GW_ECORRUPT, "its table is damaged");
    if (get32(image + 8) != VERSION)
        return gw_error_set(error, GW_EVERSION,
                            "its format version is %u, but this library needs version %d",
                            get32(image + 8), VERSION);
    if (get64(image + 16) != bytes)
        return gw_error_set(error, GW_ECORRUPT, "truncated: %zu of %llu bytes", bytes,
                            (unsigned long long)get64(image + 16));
    *table_bytes = (size_t)table;
    return 0;
}

/* Decodes one entry of a table whose hash was verified. left[0] is the rest of the table in bytes,
 * left[1] the rest of the data. */
static int entry_decode(struct gw_checkpoint *checkpoint, const uint8_t *entry, const uint8_t *data,
                        const size_t left[2], struct gw_error *error)
{
    if (left[0] < ENTRY_BYTES)
        return gw_error_set(error, GW_ECORRUPT, "its table is too short");
    const uint32_t kind = get32(entry), length = get32(entry + 4);
    const uint64_t bytes = get64(entry + 8);
    if (length == 0 || length > GW_CHECKPOINT_NAME_MAX || length > left[0] - ENTRY_BYTES ||
        bytes > left[1] || (kind != KIND_BYTES && (kind != KIND_I64 || bytes != 8)))
        return gw_error_set(error, GW_ECORRUPT, "its table is invalid");

    const char *name = (const char *)entry + ENTRY_BYTES;
    uint8_t hash[GW_HASH_BYTES];
    gw_hash_bytes(data, (size_t)bytes, hash);
    if (memcmp(hash, entry + 16, sizeof hash) != 0)
        return gw_error_set(error, GW_ECORRUPT, "damaged in section \"%.*s\"", (int)length, name);
    int rc =
        add(checkpoint, name, length,
            &(const struct section){.kind = (enum kind)kind, .data = data, .bytes = (size_t)bytes});
    return rc < 0 ? gw_error_set(error, rc == GW_EEXIST ? GW_ECORRUPT : rc, "section \"%.*s\": %s",
                                 (int)length, name, gw_error_text(rc))
                  : 0;
}

int gw_checkpoint_decode(void *image, size_t bytes, struct gw_checkpoint **checkpoint,
                         struct gw_error *error)
{
    const uint8_t *at = image;
    size_t table_bytes = 0;
    int rc = front_check(at, bytes, &table_bytes, error);
    if (rc < 0)
        return rc;
    struct gw_checkpoint *self = gw_checkpoint_new();
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "checkpoint");

    const uint32_t count = get32(at + 12);
    const uint8_t *entry = at + HEAD_BYTES;
    const uint8_t *data = entry + table_bytes + GW_HASH_BYTES;
    size_t left[2] = {table_bytes, bytes - HEAD_BYTES - table_bytes - GW_HASH_BYTES};
    for (uint32_t i = 0; i < count; i++) {
        rc = entry_decode(self, entry, data, left, error);
        if (rc < 0)
            goto fail;
        const size_t entry_bytes = ENTRY_BYTES + get32(entry + 4);
        const size_t data_bytes = (size_t)get64(entry + 8);
        entry += entry_bytes;
        data += data_bytes;
        left[0] -= entry_bytes;
        left[1] -= data_bytes;
    }
    if (left[0] != 0 || left[1] != 0) {
        rc = gw_error_set(error, GW_ECORRUPT, "bytes that belong to no section");
        goto fail;
    }
    self->image = image;
    self->image_bytes = bytes;
    *checkpoint = self;
    return 0;
fail:
    gw_checkpoint_free(self);
    return rc;
}
