/* Names from a source to a sorted list with counts and a split. Reading, parsing and cleaning are
 * apart: bytes (gzip or not), then fields (lines or CSV), then names. */
#include "examples/petnames/names.h"

#include "examples/petnames/alphabet.h"
#include "examples/petnames/csv.h"
#include "examples/petnames/fetch.h"
#include "examples/petnames/madeup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    FETCH_SECONDS_MAX = 60,
    FETCH_BYTES_MAX = 64 << 20,
    TEXT_BYTES_MAX = 256 << 20, /* after gunzip: a small file can hold a large one */
};

/* --- bytes --- */

static int gzip_error(gzFile file, const char *path, struct gw_error *error)
{
    int code;
    const char *words = gzerror(file, &code);
    if (code == Z_ERRNO)
        return gw_error_set(error, GW_EIO, "cannot read %s: %s", path, strerror(errno));
    if (code == Z_MEM_ERROR)
        return gw_error_set(error, GW_ENOMEM, "no memory to read %s", path);
    return gw_error_set(error, GW_ECORRUPT,
                        "%s is not a whole gzip file (%s): fetch or compress it again", path,
                        words);
}

/* Reads all of an open file; zlib hands plain files through as they are. */
static int read_all(gzFile file, const char *path, char **text, size_t *length,
                    struct gw_error *error)
{
    size_t room = 1 << 20, used = 0;
    char *buffer = malloc(room + 1);
    int rc = 0;
    while (buffer) {
        int got = gzread(file, buffer + used, (unsigned)(room - used));
        if (got < 0) {
            rc = gzip_error(file, path, error);
            break;
        }
        used += (size_t)got;
        if (used < room) {
            int code;
            (void)gzerror(file, &code); /* a file that is cut off reads short, without -1 */
            if (code != Z_OK && code != Z_STREAM_END)
                rc = gzip_error(file, path, error);
            break;
        }
        if (room >= TEXT_BYTES_MAX) {
            rc = gw_error_set(error, GW_ELIMIT, "%s holds more than %d MiB of text", path,
                              TEXT_BYTES_MAX >> 20);
            break;
        }
        room *= 2;
        char *larger = realloc(buffer, room + 1);
        if (!larger)
            free(buffer);
        buffer = larger;
    }
    if (!buffer)
        return gw_error_set(error, GW_ENOMEM, "no memory to read %s", path);
    if (rc < 0) {
        free(buffer);
        return rc;
    }
    buffer[used] = '\0';
    *text = buffer;
    *length = used;
    return 0;
}

static int read_file(const char *path, char **text, size_t *length, struct gw_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        int code = errno == ENOENT ? GW_ENOENT : GW_EIO;
        const char *words = strerror(errno);
        if (fd >= 0)
            close(fd);
        return gw_error_set(error, code, "cannot read %s: %s", path, words);
    }
    if (S_ISDIR(status.st_mode)) {
        close(fd);
        return gw_error_set(error, GW_EIO, "cannot read %s: it is a folder: give a file in it",
                            path);
    }
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return gw_error_set(error, GW_ENOMEM, "no memory to read %s", path);
    }
    int rc = read_all(file, path, text, length, error);
    gzclose_r(file);
    return rc;
}

/* --- names --- */

/* Base letters of U+00C0 to U+00FF; a blank where there is none. */
static const char latin[] = "aaaaaa ceeeeiiii"
                            " nooooo ouuuuy s"
                            "aaaaaa ceeeeiiii"
                            " nooooo ouuuuy y";

/* One character of UTF-8: its form in the alphabet, 0 where it is left out, -1 where the name is
 * dropped; *bytes is set. */
static int clean_character(const unsigned char *raw, size_t left, size_t *bytes)
{
    *bytes = 1;
    if (raw[0] < 0x80) {
        if (raw[0] >= 'A' && raw[0] <= 'Z')
            return raw[0] - 'A' + 'a';
        if (strchr(" \t\r\n_", raw[0]))
            return ' ';
        if (raw[0] == '\'' || raw[0] == '`')
            return 0;
        int symbol = pet_symbol((char)raw[0]);
        return symbol >= 0 && symbol < PET_INPUTS ? raw[0] : -1;
    }
    if (raw[0] == 0xc3 && left >= 2 && (raw[1] & 0xc0) == 0x80) {
        *bytes = 2;
        char base = latin[raw[1] & 0x3f];
        return base == ' ' ? -1 : base;
    }
    if (left >= 3 && raw[0] == 0xe2 && raw[1] == 0x80 && (raw[2] == 0x98 || raw[2] == 0x99)) {
        *bytes = 3; /* typographic apostrophes */
        return 0;
    }
    return -1;
}

bool pet_names_clean(const char *raw, size_t length, char text[PET_NAME_MAX + 1])
{
    const unsigned char *at = (const unsigned char *)raw, *end = at + length;
    size_t used = 0, bytes = 1;
    for (; at < end; at += bytes) {
        int character = *at ? clean_character(at, (size_t)(end - at), &bytes) : -1;
        if (character < 0)
            return false;
        if (character == 0 || (character == ' ' && (used == 0 || text[used - 1] == ' ')))
            continue;
        if (used == PET_NAME_MAX) {
            if (character == ' ')
                continue;
            return false;
        }
        text[used++] = (char)character;
    }
    while (used > 0 && text[used - 1] == ' ')
        used--;
    text[used] = '\0';
    return used > 0;
}

bool pet_names_is_held_out(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, then mixed: its low bits are weak */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    hash = (hash ^ (hash >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return (hash >> 32) % 10 == 0;
}

static int add_name(struct pet_names *names, size_t *room, const char *raw, size_t length)
{
    char text[PET_NAME_MAX + 1];
    if (!pet_names_clean(raw, length, text)) {
        names->dropped_count += length > 0;
        return 0;
    }
    if (names->name_count == *room) {
        size_t more = *room ? 2 * *room : 4096;
        struct pet_name *larger = realloc(names->names, more * sizeof *larger);
        if (!larger)
            return GW_ENOMEM;
        names->names = larger;
        *room = more;
    }
    struct pet_name *name = &names->names[names->name_count++];
    memset(name, 0, sizeof *name);
    memcpy(name->text, text, strlen(text) + 1);
    name->count = 1;
    names->accepted_count++;
    return 0;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(((const struct pet_name *)left)->text, ((const struct pet_name *)right)->text);
}

/* Sorts, merges equal names and splits. */
static void finish_names(struct pet_names *names)
{
    if (names->name_count == 0)
        return;
    qsort(names->names, names->name_count, sizeof *names->names, by_text);
    size_t last = 0;
    for (size_t i = 1; i < names->name_count; i++) {
        if (strcmp(names->names[last].text, names->names[i].text) == 0)
            names->names[last].count += names->names[i].count;
        else
            names->names[++last] = names->names[i];
    }
    names->name_count = last + 1;
    for (size_t i = 0; i < names->name_count; i++) {
        names->names[i].held_out = pet_names_is_held_out(names->names[i].text);
        names->held_out_count += names->names[i].held_out;
    }
}

/* --- fields --- */

static bool is_same_header(const char *left, const char *right)
{
    return strcasecmp(left, right) == 0;
}

/* Whether a header is one that names stand under, punctuation aside: "Animal's Name" is
 * "animal_s_name" in the city's other format. */
static bool is_name_header(const char *header)
{
    char letters[32];
    size_t used = 0;
    for (; *header && used < sizeof letters - 1; header++)
        if ((*header | 0x20) >= 'a' && (*header | 0x20) <= 'z')
            letters[used++] = (char)(*header | 0x20);
    letters[used] = '\0';
    return strcmp(letters, "animalsname") == 0 || strcmp(letters, "animalname") == 0 ||
           strcmp(letters, "petname") == 0 || strcmp(letters, "petsname") == 0 ||
           strcmp(letters, "name") == 0;
}

static int find_column(const struct pet_csv *csv, const struct pet_names_options *options,
                       size_t *column, struct gw_error *error)
{
    char headers[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < csv->field_count; i++) {
        const char *header = csv->fields[i];
        if (options->column ? is_same_header(header, options->column) : is_name_header(header)) {
            *column = i;
            return 0;
        }
        if (used < sizeof headers)
            used += (size_t)snprintf(headers + used, sizeof headers - used, "%s\"%s\"",
                                     i > 0 ? ", " : "", header);
    }
    return gw_error_set(error, GW_ECORRUPT,
                        "no column %s%s%s: its columns are %s: say which one with --column",
                        options->column ? "\"" : "", options->column ? options->column : "of names",
                        options->column ? "\"" : "", headers);
}

static int parse_csv(struct pet_names *names, const struct pet_names_options *options, char *text,
                     size_t length, struct gw_error *error)
{
    struct pet_csv csv;
    pet_csv_init(&csv, text, length);
    int rc = pet_csv_next(&csv, error);
    if (rc <= 0)
        return rc;
    const size_t columns = csv.field_count;
    size_t column = 0, room = 0;
    rc = find_column(&csv, options, &column, error);
    while (rc >= 0 && (rc = pet_csv_next(&csv, error)) > 0) {
        if (csv.field_count != columns)
            return gw_error_set(error, GW_ECORRUPT,
                                "line %zu: %zu columns where the header has %zu", csv.line,
                                csv.field_count, columns);
        if (add_name(names, &room, csv.fields[column], strlen(csv.fields[column])) < 0)
            return gw_error_set(error, GW_ENOMEM, "no memory for the names");
    }
    return rc;
}

static int parse_lines(struct pet_names *names, const char *text, struct gw_error *error)
{
    size_t room = 0;
    while (*text) {
        size_t length = strcspn(text, "\r\n");
        if (add_name(names, &room, text, length) < 0)
            return gw_error_set(error, GW_ENOMEM, "no memory for the names");
        text += length;
        text += strspn(text, "\r\n");
    }
    return 0;
}

static bool is_csv(const char *text)
{
    char first[64];
    size_t length = strcspn(text, "\r\n");
    if (memchr(text, ',', length))
        return true;
    (void)snprintf(first, sizeof first, "%.*s", (int)(length < 63 ? length : 63), text);
    return is_name_header(first);
}

static int parse(struct pet_names *names, const struct pet_names_options *options, char *text,
                 size_t length, struct gw_error *error)
{
    if (strlen(text) != length)
        return gw_error_set(error, GW_ECORRUPT,
                            "it is not text (a zero byte at %zu): give one name a line, or CSV, "
                            "plain or as .gz",
                            strlen(text));
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* the byte order mark that spreadsheets write */
        length -= 3;
    }
    int rc = options->column || is_csv(text) ? parse_csv(names, options, text, length, error)
                                             : parse_lines(names, text, error);
    if (rc < 0)
        return rc;
    finish_names(names);
    if (names->name_count == 0)
        return gw_error_set(error, GW_EINVAL,
                            "there is no usable name in it (%zu were dropped): names have 1 to %d "
                            "characters of a-z, '.', '-' and blank",
                            names->dropped_count, PET_NAME_MAX);
    return 0;
}

/* --- all of it --- */

/* Gives back the text; `fetched` is the path of the cached file, "" where the source is no URL. */
static int read_source(const struct pet_names_options *options, char **text, size_t *length,
                       char fetched[PATH_MAX], struct gw_error *error)
{
    fetched[0] = '\0';
    if (!options->data)
        return pet_madeup(options->seed, options->made_up ? options->made_up : PET_MADE_UP_DEFAULT,
                          text, length, error);
    if (!pet_fetch_is_url(options->data))
        return read_file(options->data, text, length, error);

    const struct pet_fetch_options fetch = {
        .url = options->data,
        .http_allowed = options->http_allowed,
        .bytes_max = FETCH_BYTES_MAX,
        .seconds_max = FETCH_SECONDS_MAX,
    };
    int rc = pet_fetch(&fetch, fetched, error);
    return rc < 0 ? rc : read_file(fetched, text, length, error);
}

int pet_names_load(const struct pet_names_options *options, struct pet_names **names,
                   struct gw_error *error)
{
    char *text = NULL, fetched[PATH_MAX];
    size_t length = 0;
    struct pet_names *made = calloc(1, sizeof *made);
    if (!made)
        return gw_error_set(error, GW_ENOMEM, "no memory for the names");
    (void)snprintf(made->source, sizeof made->source, "%s",
                   options->data ? options->data : "made-up names");
    int rc = read_source(options, &text, &length, fetched, error);
    if (rc == 0) {
        rc = parse(made, options, text, length, error);
        if (rc < 0)
            (void)gw_error_prefix(error, "%s", made->source);
    }
    free(text);
    if (rc < 0) {
        if (fetched[0] && (rc == GW_ECORRUPT || rc == GW_EINVAL))
            unlink(fetched); /* not what was wanted: the next run fetches again */
        pet_names_free(made);
        return rc;
    }
    *names = made;
    return 0;
}

void pet_names_free(struct pet_names *names)
{
    if (!names)
        return;
    free(names->names);
    free(names);
}

const struct pet_name *pet_names_find(const struct pet_names *names, const char *text)
{
    struct pet_name key = {.count = 0};
    if (strlen(text) > PET_NAME_MAX)
        return NULL;
    (void)snprintf(key.text, sizeof key.text, "%s", text);
    return bsearch(&key, names->names, names->name_count, sizeof *names->names, by_text);
}

static uint32_t copies(const struct pet_name *name, enum pet_names_part part)
{
    if (name->held_out != (part == PET_HELD_OUT))
        return 0;
    switch (part) {
    case PET_TRAIN_COUNT:
        return name->count;
    case PET_TRAIN_ROOT:
        return (uint32_t)ceil(sqrt((double)name->count));
    case PET_HELD_OUT:
        break;
    }
    return 1;
}

static uint64_t *add_samples(uint64_t *at, const char *text)
{
    uint64_t window = pet_window_blank();
    for (; *text; text++) {
        *at++ = pet_sample(window, pet_symbol(*text));
        window = pet_window_push(window, pet_symbol(*text));
    }
    *at++ = pet_sample(window, PET_END);
    return at;
}

int pet_names_samples(const struct pet_names *names, enum pet_names_part part, uint64_t **samples,
                      size_t *count, struct gw_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < names->name_count; i++)
        total += (strlen(names->names[i].text) + 1) * copies(&names->names[i], part);
    if (total == 0)
        return gw_error_set(error, GW_EINVAL, "%s: too few names: none is %s", names->source,
                            part == PET_HELD_OUT ? "held out" : "left to train on");
    uint64_t *made = malloc(total * sizeof *made), *at = made;
    if (!made)
        return gw_error_set(error, GW_ENOMEM, "no memory for %zu samples", total);

    for (size_t i = 0; i < names->name_count; i++)
        for (uint32_t copy = copies(&names->names[i], part); copy > 0; copy--)
            at = add_samples(at, names->names[i].text);
    *samples = made;
    *count = total;
    return 0;
}
