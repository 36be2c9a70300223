/* Names: cleaning, file formats and their errors, the split, made-up names. */
#include "tests/unit/unit.h"

#include "examples/petnames/alphabet.h"
#include "examples/petnames/names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static void cleaning_lowers_case_and_drops_unusable_names(void **state)
{
    static const char *const cases[][2] = {
        {"Lucy", "lucy"},
        {"  Mr.  Barks-a-lot ", "mr. barks-a-lot"},
        {"O'Malley", "omalley"},
        {"O\xe2\x80\x99Malley", "omalley"},
        {"Zo\xc3\xab", "zoe"},
        {"\xc3\x85sa", "asa"},
        {"pet_name\t", "pet name"},
        {"abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"},
        {"abcdefghijklmnopqrstuvwx  ", "abcdefghijklmnopqrstuvwx"},
        {"abcdefghijklmnopqrstuvwxy", NULL},
        {"abcdefghijklmnopqrstuvwx y", NULL},
        {"Sydney2", NULL},
        {"Max (Maxie)", NULL},
        {"a+b", NULL},
        {"", NULL},
        {" ' ", NULL},
        {"\xc3", NULL},
        {"\xc3\x97", NULL},
        {"\xe3\x82\xbf\xe3\x83\x9e", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[PET_NAME_MAX + 1] = "";
        bool retained = pet_names_clean(cases[i][0], strlen(cases[i][0]), text);
        assert_int_equal(retained, cases[i][1] != NULL);
        if (retained)
            assert_string_equal(text, cases[i][1]);
    }
}

/* A file without a name: the path refers to the descriptor, which the caller closes. */
static int make_file(const void *bytes, size_t length, char path[64])
{
    int fd = memfd_create("petnames", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static int load(const void *bytes, size_t length, const char *column, struct pet_names **names,
                struct gw_error *error)
{
    char path[64];
    int fd = make_file(bytes, length, path);
    const struct pet_names_options options = {.data = path, .column = column};
    int rc = pet_names_load(&options, names, error);
    close(fd);
    return rc;
}

/* Loads text and compares with "name count, name count". */
static void check_names(const char *text, const char *column, const char *expected)
{
    struct pet_names *names;
    struct gw_error error = {0};
    char got[512] = "";
    if (load(text, strlen(text), column, &names, &error) < 0)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < names->name_count; i++)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s %u", i > 0 ? ", " : "",
                       names->names[i].text, names->names[i].count);
    assert_string_equal(got, expected);
    pet_names_free(names);
}

static void name_files_load_as_lists_or_csv_columns(void **state)
{
    check_names("Max\nLucy\nmax\n", NULL, "lucy 1, max 2");
    check_names("Max\r\nLucy\r\n\r\nMAX", NULL, "lucy 1, max 2");
    check_names("\xef\xbb\xbfMax\nLucy", NULL, "lucy 1, max 1");
    check_names("Vallie \"Val\"\nMax\n", NULL, "max 1");
    check_names("Name\nMax\n", NULL, "max 1");
    check_names("License,Animal's Name,Species\n1,Max,Dog\n2,\"Miss, Kitty\",Cat\n3,\"Lu\",Cat\n",
                NULL, "lu 1, max 1");
    check_names("\xef\xbb\xbf\"Animal's Name\",\"Zip\"\r\n\"Max\",\"1\"\r\n", NULL, "max 1");
    check_names("zip,animal_s_name\n1,Max\n2,\n", NULL, "max 1");
    check_names("owner,dog\nAnna,Max\n", "Dog", "max 1");
    check_names("dog\nMax\n", "dog", "max 1");
}

static void check_error(const void *bytes, size_t length, const char *column, int code,
                        const char *words)
{
    struct pet_names *names = NULL;
    struct gw_error error = {0};
    assert_int_equal(load(bytes, length, column, &names, &error), code);
    assert_null(names);
    if (!strstr(error.text, words) || !strstr(error.text, "/proc/self/fd/"))
        fail_msg("\"%s\" lacks \"%s\" or the path", error.text, words);
}

static void check_text_error(const char *text, const char *column, int code, const char *words)
{
    check_error(text, strlen(text), column, code, words);
}

static void name_file_errors_state_the_problem(void **state)
{
    check_text_error("", NULL, GW_EINVAL, "no usable name");
    check_text_error("123\n456\n", NULL, GW_EINVAL, "2 were dropped");
    check_text_error("a,b\n1,2\n", NULL, GW_ECORRUPT, "its columns are \"a\", \"b\"");
    check_text_error("a,b\n1,2\n", "c", GW_ECORRUPT, "no column \"c\"");
    check_text_error("name,b\nx\n", NULL, GW_ECORRUPT, "line 2: 1 columns where the header has 2");
    check_text_error("name,b\nx,\"y\n", NULL, GW_ECORRUPT, "never closed");
    check_error("Max\0Lucy\n", 9, NULL, GW_ECORRUPT, "zero byte at 3");

    struct pet_names *names;
    struct gw_error error;
    struct pet_names_options options = {.data = "/nowhere/names.txt"};
    assert_int_equal(pet_names_load(&options, &names, &error), GW_ENOENT);
    assert_string_equal(error.text, "cannot read /nowhere/names.txt: No such file or directory");
    options.data = "/";
    assert_int_equal(pet_names_load(&options, &names, &error), GW_EIO);
    assert_non_null(strstr(error.text, "it is a folder"));
    options.data = "ftp://example.com/names.txt";
    assert_int_equal(pet_names_load(&options, &names, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "only https"));
}

static size_t gzip(const char *text, size_t length, unsigned char *out, size_t room)
{
    z_stream stream = {0};
    unsigned char *in = malloc(length);
    memcpy(in, text, length);
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = in;
    stream.avail_in = (unsigned)length;
    stream.next_out = out;
    stream.avail_out = (unsigned)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t used = stream.total_out;
    deflateEnd(&stream);
    free(in);
    return used;
}

static void gzip_files_load_and_damaged_ones_are_refused(void **state)
{
    char text[8000];
    unsigned char packed[8000];
    size_t length = 0;
    for (int i = 0; i < 1000; i++)
        length += (size_t)sprintf(text + length, "na%c%c\n", 'a' + i % 26, 'a' + i / 26 % 26);
    size_t used = gzip(text, length, packed, sizeof packed);

    struct pet_names *names;
    struct gw_error error;
    assert_int_equal(load(packed, used, NULL, &names, &error), 0);
    assert_int_equal(names->name_count, 676);
    assert_int_equal(names->accepted_count, 1000);
    pet_names_free(names);

    check_error(packed, used / 2, NULL, GW_ECORRUPT, "not a whole gzip file"); /* truncated */
    check_error(packed, used - 4, NULL, GW_ECORRUPT, "not a whole gzip file");
    packed[used / 2] ^= 0x55;
    check_error(packed, used, NULL, GW_ECORRUPT, "not a whole gzip file");
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void samples_split_names_into_training_and_held_out(void **state)
{
    /* "max" five times, "lu" once; neither is held out, but "jack" is (by their hashes) */
    const char text[] = "max\nmax\nlu\nmax\nmax\nmax\njack\njack\n";
    struct pet_names *names;
    struct gw_error error;
    uint64_t *samples;
    size_t count;
    assert_int_equal(load(text, strlen(text), NULL, &names, &error), 0);
    assert_false(pet_names_find(names, "max")->held_out);
    assert_false(pet_names_find(names, "lu")->held_out);
    assert_true(pet_names_find(names, "jack")->held_out);
    assert_null(pet_names_find(names, "lulu"));
    assert_null(pet_names_find(names, "abcdefghijklmnopqrstuvwxyz"));
    assert_int_equal(names->held_out_count, 1);

    assert_int_equal(pet_names_samples(names, PET_TRAIN_COUNT, &samples, &count, &error), 0);
    assert_int_equal(count, 5 * 4 + 3);
    free(samples);
    assert_int_equal(pet_names_samples(names, PET_TRAIN_ROOT, &samples, &count, &error), 0);
    assert_int_equal(count, 3 * 4 + 3); /* the root of 5, rounded up */
    free(samples);
    assert_int_equal(pet_names_samples(names, PET_HELD_OUT, &samples, &count, &error), 0);
    assert_int_equal(count, 5);
    uint64_t window = pet_window_blank();
    for (int i = 0; i < 5; i++) {
        assert_true(samples[i] == pet_sample(window, pet_symbol("jack+"[i])));
        window = pet_window_push(window, pet_symbol("jack+"[i]));
    }
    free(samples);
    pet_names_free(names);

    assert_int_equal(load("max\n", 4, NULL, &names, &error), 0);
    assert_int_equal(pet_names_samples(names, PET_HELD_OUT, &samples, &count, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "none is held out"));
    pet_names_free(names);
}

/* Properties of any source: sorted, distinct, a tenth held out and never used for training. */
static void check_split(const struct pet_names *names)
{
    size_t held_out = 0, total = 0;
    for (size_t i = 0; i < names->name_count; i++) {
        const struct pet_name *name = &names->names[i];
        if (i > 0)
            assert_true(strcmp(names->names[i - 1].text, name->text) < 0);
        assert_int_equal(name->held_out, pet_names_is_held_out(name->text));
        held_out += name->held_out;
        total += name->count;
    }
    assert_int_equal(held_out, names->held_out_count);
    assert_int_equal(total, names->accepted_count);
    double part = (double)held_out / (double)names->name_count;
    assert_true(part > 0.08 && part < 0.12);

    /* No training sample is a held-out name with its end. Names with fewer than two fillers before
     * them are excluded here: the end of "sir barksalot" looks like such a name. */
    uint64_t *samples;
    size_t count;
    assert_int_equal(pet_names_samples(names, PET_TRAIN_COUNT, &samples, &count, NULL), 0);
    qsort(samples, count, sizeof *samples, by_value);
    for (size_t i = 0; i < names->name_count; i++) {
        const char *text = names->names[i].text;
        uint64_t window = pet_window_blank();
        if (strlen(text) >= PET_CONTEXT - 1)
            continue;
        for (const char *c = text; *c; c++)
            window = pet_window_push(window, pet_symbol(*c));
        uint64_t whole = pet_sample(window, PET_END);
        bool found = bsearch(&whole, samples, count, sizeof whole, by_value) != NULL;
        assert_int_equal(found, !names->names[i].held_out);
    }
    free(samples);
}

static void made_up_names_depend_only_on_seed_and_count(void **state)
{
    struct pet_names_options options = {.seed = 1};
    struct pet_names *names, *again;
    struct gw_error error;
    assert_int_equal(pet_names_load(&options, &names, &error), 0);
    assert_string_equal(names->source, "made-up names");
    assert_int_equal(names->accepted_count, PET_MADE_UP_DEFAULT);
    assert_int_equal(names->dropped_count, 0);
    assert_true(names->name_count > 3000);
    check_split(names);

    assert_int_equal(pet_names_load(&options, &again, &error), 0);
    assert_int_equal(again->name_count, names->name_count);
    for (size_t i = 0; i < names->name_count; i++) {
        assert_string_equal(again->names[i].text, names->names[i].text);
        assert_int_equal(again->names[i].count, names->names[i].count);
    }
    pet_names_free(again);
    options.seed = 2;
    options.made_up = 3000;
    assert_int_equal(pet_names_load(&options, &again, &error), 0);
    assert_int_equal(again->accepted_count, 3000);
    assert_true(again->name_count != names->name_count);
    pet_names_free(again);
    pet_names_free(names);
}

static void real_name_file_loads_with_few_dropped_names(void **state)
{
    const char *path = getenv("GANGWAY_PETNAMES");
    const struct pet_names_options options = {
        .data = path ? path : PET_SOURCE_DIR "/../shared/data/seattle_pet_names.txt.gz"};
    struct pet_names *names;
    struct gw_error error;
    if (access(options.data, R_OK) < 0)
        skip();
    assert_int_equal(pet_names_load(&options, &names, &error), 0);
    assert_true(names->name_count > 5000);
    assert_true(names->dropped_count < names->accepted_count / 50);
    check_split(names);
    pet_names_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleaning_lowers_case_and_drops_unusable_names),
        cmocka_unit_test(name_files_load_as_lists_or_csv_columns),
        cmocka_unit_test(name_file_errors_state_the_problem),
        cmocka_unit_test(gzip_files_load_and_damaged_ones_are_refused),
        cmocka_unit_test(samples_split_names_into_training_and_held_out),
        cmocka_unit_test(made_up_names_depend_only_on_seed_and_count),
        cmocka_unit_test(real_name_file_loads_with_few_dropped_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
