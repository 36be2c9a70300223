/* Manifests: encoded and decoded; a manifest from a peer cannot name a file outside its folder. */
#include "graph/wire/codec.h"
#include "graph/wire/manifest.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static int two_there_and_back(const struct gw_manifest_file *second, struct gw_arena *arena,
                              struct gw_manifest *back, struct gw_error *error)
{
    struct gw_manifest_file files[] = {{.name = "train", .bytes = 12345, .mode = 0755}, *second};
    memset(files[0].hash, 0xab, GW_HASH_BYTES);
    memset(files[1].hash, 0xcd, GW_HASH_BYTES);
    struct gw_buffer buffer = {0};
    assert_int_equal(gw_manifest_encode(&(struct gw_manifest){files, 2}, &buffer), 0);
    struct gw_bin bytes = {buffer.data, (uint32_t)buffer.size};
    int rc = gw_manifest_decode(bytes, arena, back, error);
    gw_buffer_deinit(&buffer);
    return rc;
}

static int there_and_back(const char *name, struct gw_arena *arena, struct gw_manifest *back,
                          struct gw_error *error)
{
    const struct gw_manifest_file file = {.name = name, .bytes = 1, .mode = 0644};
    return two_there_and_back(&file, arena, back, error);
}

/* Links are the only special files in a manifest, and a manifest with links can be written. */
static void manifest_encodes_links_and_masks_special_files(void **state)
{
    static const struct {
        uint32_t mode;
        uint64_t bytes;
        int rc;
        uint32_t wanted;
    } cases[] = {{S_IFLNK | 0777, 7, 0, S_IFLNK | 0777}, {S_IFLNK, PATH_MAX - 1, 0, S_IFLNK},
                 {S_IFLNK, PATH_MAX, GW_EPROTO, 0},      {S_IFLNK, 0, GW_EPROTO, 0},
                 {S_IFREG | S_ISUID | 0644, 0, 0, 0644}, {S_IFSOCK | 0644, 0, 0, 0644}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_arena arena = {0};
        struct gw_manifest back;
        struct gw_error error = {0};
        const struct gw_manifest_file file = {
            .name = "a", .bytes = cases[i].bytes, .mode = cases[i].mode};
        assert_int_equal(two_there_and_back(&file, &arena, &back, &error), cases[i].rc);
        if (cases[i].rc == 0)
            assert_int_equal(back.files[1].mode, cases[i].wanted);
        gw_arena_deinit(&arena);
    }
}

static void manifest_decodes_to_equal_files(void **state)
{
    struct gw_arena arena = {0};
    struct gw_manifest back;
    struct gw_error error = {0};
    assert_int_equal(there_and_back("libdata.so.1", &arena, &back, &error), 0);
    assert_int_equal(back.count, 2);
    assert_string_equal(back.files[0].name, "train");
    assert_string_equal(back.files[1].name, "libdata.so.1");
    assert_int_equal(back.files[0].bytes, 12345);
    assert_int_equal(back.files[0].mode, 0755);
    assert_int_equal(back.files[1].hash[31], 0xcd);
    gw_arena_deinit(&arena);
}

static void manifest_refuses_names_outside_its_folder(void **state)
{
    static const char *const names[] = {"../escape", "/etc/passwd", "",   ".",   "..",  "a/../b",
                                        "a//b",      "./a",         "a/", "a/.", "a/.."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct gw_arena arena = {0};
        struct gw_manifest back;
        struct gw_error error = {0};
        assert_int_equal(there_and_back(names[i], &arena, &back, &error), GW_EPROTO);
        assert_non_null(strstr(error.text, "not a file name"));
        gw_arena_deinit(&arena);
    }
}

static void malformed_manifest_is_refused(void **state)
{
    static const struct gw_bin foreign[] = {{"\x90", 1}, {"\x91\x01", 2},
                                            {"\xc0", 1}, {"\xdd\xff\xff\xff\xff", 5},
                                            {"", 0},     {"\x91\x94\xa1x\xc4\x01y\x01\x01", 9}};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        struct gw_arena arena = {0};
        struct gw_manifest back;
        struct gw_error error = {0};
        assert_int_equal(gw_manifest_decode(foreign[i], &arena, &back, &error), GW_EPROTO);
        gw_arena_deinit(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifest_decodes_to_equal_files),
        cmocka_unit_test(manifest_encodes_links_and_masks_special_files),
        cmocka_unit_test(manifest_refuses_names_outside_its_folder),
        cmocka_unit_test(malformed_manifest_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
