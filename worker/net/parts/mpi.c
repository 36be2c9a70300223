/* Detects MPI programs. The functions that a program calls are read from the dynamic symbol table
 * of its ELF file, the loaded files of a process from /proc.
 *
 * Invariants: the bounds of all data of a file are checked before they are used. A file that cannot
 * be read is not an MPI program. */
#include "worker/net/parts/mpi.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    TABLE_BYTES_MAX = 64 << 20,
    ENVIRON_BYTES_MAX = 4 << 20, /* more than exec accepts by default */
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_ORDER ELFDATA2LSB
#else
#define NATIVE_ORDER ELFDATA2MSB
#endif

/* -- ELF files -----------------------------------------------------------------------------------
 */

struct elf {
    int fd;
    Elf64_Shdr *sections;
    size_t count;
};

/* Reads a part of a file and appends a zero. The caller frees it. NULL: the file has no such part.
 */
static void *read_part(int fd, uint64_t offset, uint64_t bytes)
{
    if (!bytes || bytes > TABLE_BYTES_MAX || offset > INT64_MAX - TABLE_BYTES_MAX)
        return NULL;
    char *part = malloc(bytes + 1);
    size_t done = 0;
    ssize_t got = 1;
    while (part && done < bytes && got > 0) {
        got = pread(fd, part + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            done += (size_t)got;
    }
    if (part && done < bytes) {
        free(part);
        return NULL;
    }
    if (part)
        part[bytes] = '\0';
    return part;
}

static bool elf_open(struct elf *elf, int fd)
{
    Elf64_Ehdr *header = read_part(fd, 0, sizeof *header);
    *elf = (struct elf){.fd = fd};
    if (header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
        header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == NATIVE_ORDER &&
        header->e_shentsize == sizeof *elf->sections) {
        elf->count = header->e_shnum;
        elf->sections =
            read_part(fd, header->e_shoff, (uint64_t)header->e_shnum * sizeof *elf->sections);
    }
    free(header);
    return elf->sections != NULL;
}

/* The first section of a type, and its string table. The caller frees both. */
struct table {
    void *items;
    uint64_t bytes;
    char *names;
    uint64_t names_bytes;
};

static void table_deinit(struct table *table)
{
    free(table->items);
    free(table->names);
}

static bool table_init(struct table *table, const struct elf *elf, uint32_t type)
{
    *table = (struct table){0};
    for (size_t i = 0; i < elf->count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_type != type || section->sh_link >= elf->count)
            continue;
        const Elf64_Shdr *names = &elf->sections[section->sh_link];
        table->bytes = section->sh_size;
        table->names_bytes = names->sh_size;
        table->items = read_part(elf->fd, section->sh_offset, section->sh_size);
        table->names = read_part(elf->fd, names->sh_offset, names->sh_size);
        break; /* a file has only one section of this type */
    }
    if (table->items && table->names)
        return true;
    table_deinit(table);
    return false;
}

/* Finds a linked MPI library, such as libmpi.so.40, libmpich.so.12, libmpifort.so.12 or
 * libmpi_mpifh.so.40. This covers Open MPI, MPICH, Intel MPI and MVAPICH, and their C++ and Fortran
 * libraries. */
static bool find_library(const struct elf *elf, char text[static GW_MPI_TEXT])
{
    struct table table;
    bool found = false;
    if (!table_init(&table, elf, SHT_DYNAMIC))
        return false;
    const Elf64_Dyn *items = table.items;
    for (uint64_t i = 0; i < table.bytes / sizeof *items && !found; i++) {
        if (items[i].d_tag != DT_NEEDED || items[i].d_un.d_val >= table.names_bytes)
            continue;
        const char *name = table.names + items[i].d_un.d_val;
        found = strncmp(name, "libmpi", strlen("libmpi")) == 0;
        if (found)
            (void)snprintf(text, GW_MPI_TEXT, "it is linked to %s", name);
    }
    table_deinit(&table);
    return found;
}

/* Returns true if a function begins MPI, or is called by programs only if a library (for example
 * PETSc) has begun MPI. This covers the names in C, in Fortran (mpi_init_, MPI_INIT), and of PMPI.
 */
static bool begins_mpi(const char *name)
{
    static const char *const calls[] = {"mpi_init", "mpi_session_init", "mpi_comm_rank"};
    name += *name == 'P' || *name == 'p';
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t bytes = strlen(calls[i]);
        if (strncasecmp(name, calls[i], bytes) == 0 && (!name[bytes] || name[bytes] == '_'))
            return true;
    }
    return false;
}

static bool calls_mpi(const struct elf *elf)
{
    struct table table;
    bool found = false;
    if (!table_init(&table, elf, SHT_DYNSYM))
        return false;
    const Elf64_Sym *items = table.items;
    for (uint64_t i = 0; i < table.bytes / sizeof *items && !found; i++)
        found = items[i].st_shndx == SHN_UNDEF && items[i].st_name < table.names_bytes &&
                begins_mpi(table.names + items[i].st_name);
    table_deinit(&table);
    return found;
}

bool gw_mpi_file(int fd, char text[static GW_MPI_TEXT])
{
    struct elf elf;
    bool is = elf_open(&elf, fd) && find_library(&elf, text) && calls_mpi(&elf);
    free(elf.sections);
    return is;
}

/* -- Environments --------------------------------------------------------------------------------
 */

static bool means_it(const char *entry)
{
    static const char *const entries[] = {
        "PMI_RANK=", "PMI_ID=", "PMI_FD=", "PMIX_RANK=", "PMIX_NAMESPACE="};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strncmp(entry, entries[i], strlen(entries[i])) == 0)
            return true;
    return strcmp(entry, "GANGWAY_MPI=none") == 0;
}

bool gw_mpi_is_meant(const struct gw_value *env)
{
    const char *entry;
    for (size_t i = 0; env && i < gw_value_count(env); i++)
        if (gw_value_get_str(gw_value_at(env, i), &entry, NULL) == 0 && means_it(entry))
            return true;
    return false;
}

int gw_mpi_explain(const char *program, const char *text, struct gw_error *error)
{
    return gw_error_set(error, GW_ESTART,
                        "%s is an MPI program (%s), and Gangway does not start ranks of MPI yet: "
                        "each would run alone, as rank 0 of 1. Start it by its own launcher, as in "
                        "`gangway submit --slots 4 -- mpiexec -n 4 %s`; if each rank should run "
                        "alone, use --mpi none",
                        program, text, program);
}

/* -- Processes -----------------------------------------------------------------------------------
 */

static bool process_means_it(pid_t pid)
{
    char path[64], *entry = NULL;
    size_t room = 0, bytes = 0;
    bool means = false;
    ssize_t got;
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !means && bytes < ENVIRON_BYTES_MAX &&
           (got = getdelim(&entry, &room, '\0', file)) > 0) {
        bytes += (size_t)got;
        means = means_it(entry);
    }
    free(entry);
    if (file)
        (void)fclose(file);
    return means;
}

static bool file_of_process(pid_t pid, char text[static GW_MPI_TEXT])
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && gw_mpi_file(fd, text);
    if (fd >= 0)
        close(fd);
    return is;
}

/* Returns true if a process has loaded a file that only MPI_Init loads, or mpi4py, which calls
 * MPI_Init when it is imported. */
static bool has_loaded(pid_t pid, char text[static GW_MPI_TEXT])
{
    static const struct {
        const char *file, *text;
    } marks[] = {
        {"/mpi4py/MPI.", "it has imported mpi4py"},
        {"/mca_ess_singleton.so", "it has initialised Open MPI"},
        {"/mca_pml_", "it has initialised Open MPI"},
    };
    char path[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) > 0)
        for (size_t i = 0; i < sizeof marks / sizeof *marks && !found; i++) {
            found = strstr(line, marks[i].file) != NULL;
            if (found)
                (void)snprintf(text, GW_MPI_TEXT, "%s", marks[i].text);
        }
    free(line);
    if (file)
        (void)fclose(file);
    return found;
}

bool gw_mpi_process(pid_t pid, char text[static GW_MPI_TEXT])
{
    return (file_of_process(pid, text) || has_loaded(pid, text)) && !process_means_it(pid);
}
