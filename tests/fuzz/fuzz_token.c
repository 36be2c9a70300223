/* Token files and texts of tokens that came from anywhere: no report of a sanitizer,
 * each accepted token is whole, and each refusal has a text. The first byte chooses: a file or a
 * text. */
#include "tests/fuzz/fuzz.h"

#include "graph/wire/token_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void try_file(const char *data, size_t size)
{
    struct gw_token_file file = {0};
    struct gw_error error = {0};
    const struct gw_token *token;
    int rc = gw_token_file_decode(data, size, &file, &error);
    assert(rc == 0 || (rc == GW_ECORRUPT && error.text[0]));
    if (rc == 0)
        GW_ARRAY_EACH (&file.tokens, token) {
            assert(gw_token_file_find(&file, token->id) == token);
            assert(token->role < GW_TOKEN_ROLES && token->user[0]);
        }
    gw_token_file_deinit(&file);
}

static void try_text(const char *data, size_t size)
{
    struct gw_token token;
    struct gw_error error = {0};
    char *text = malloc(size + 1), again[GW_TOKEN_TEXT_BYTES];
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    int rc = gw_token_parse(text, &token, &error);
    assert(rc == 0 || (rc == GW_EINVAL && error.text[0]));
    if (rc == 0) {
        gw_token_format(&token, again);
        assert(strcasestr(text, again));
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 2)
        try_file((const char *)data + 1, size - 1);
    else
        try_text((const char *)data + 1, size - 1);
    return 0;
}

#define SECRET "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

size_t gw_fuzz_seed(uint32_t i, uint8_t *data, size_t room)
{
    static const char *const seeds[] = {
        "\1# gangway tokens 1: keep it to yourself; `gangway token` writes it\n"
        "0123456789ab user alice 1700000000 " SECRET "\n"
        "ba9876543210 worker host-1 1700000001 " SECRET "\n"
        "end 2\n",
        "\1# gangway tokens 1: keep it to yourself; `gangway token` writes it\nend 0\n",
        "\2gangway-0123456789ab-" SECRET "\n",
    };
    if (i >= sizeof seeds / sizeof *seeds)
        return 0;
    size_t size = strlen(seeds[i]);
    assert(size <= room);
    memcpy(data, seeds[i], size);
    return size;
}
