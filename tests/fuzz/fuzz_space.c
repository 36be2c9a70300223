/* Spaces of a search, from texts or from values that came from anywhere: no report of a sanitizer,
 * each refusal has a text and adds nothing, and each accepted space can be searched. The first byte
 * chooses: lines of text (`=` begins a derived parameter, `<` a constraint), or one value. */
#include "tests/fuzz/fuzz.h"

#include <gangway/search.h>

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/sweep/search/point.h"
#include "graph/wire/codec.h"

static void check_result(int rc, const struct gw_error *error)
{
    assert(rc == 0 || (error->code == rc && error->text[0]));
    assert(rc == 0 || rc == GW_EINVAL || rc == GW_EEXIST || rc == GW_ENOENT || rc == GW_ELIMIT);
}

static void add_lines(struct gw_space *space, const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), *rest = NULL;
    assert(text);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct gw_error error = {0};
        const size_t params = space->params.count, derived = space->derived.count;
        const int rc = *line == '='   ? gw_space_derive(space, line + 1, &error)
                       : *line == '<' ? gw_space_require(space, line + 1, &error)
                                      : gw_space_add(space, line, &error);
        check_result(rc, &error);
        assert(rc == 0 || (space->params.count == params && space->derived.count == derived));
    }
    free(text);
}

static void add_value(struct gw_space *space, const uint8_t *data, size_t size)
{
    struct gw_error error = {0};
    struct gw_value *values;
    if (gw_codec_decode(data, size, NULL, &values, NULL) < 0)
        return;
    const int rc = gw_space_add_values(space, values, &error);
    check_result(rc, &error);
    assert(rc == 0 || space->params.count == 0);
    gw_value_unref(values);
}

/* Each value is one of its parameter: a point to try first may have it. */
static void check_trial(struct gw_space *space, const struct gw_trial *trial)
{
    for (size_t i = 0; i < space->params.count; i++) {
        const struct gw_param *param = &space->params.items[i];
        const struct gw_value *value = gw_value_find(trial->params, param->name);
        assert(!value || !isnan(gw_param_find(param, value)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_error error = {0};
    struct gw_space *space = gw_space_new();
    struct gw_search *search;
    const struct gw_trial *trial;
    assert(space);
    if (size > 0 && data[0] % 2)
        add_lines(space, data + 1, size - 1);
    else if (size > 0)
        add_value(space, data + 1, size - 1);
    const enum gw_search_method methods[] = {GW_SEARCH_RANDOM, GW_SEARCH_SOBOL, GW_SEARCH_TPE};
    const struct gw_search_options options =
        GW_INIT(gw_search_options, .method = methods[size % 3], .startup = GW_NONE);
    const int rc = gw_search_new(space, &options, &search, &error); /* takes the space */
    check_result(rc, &error);
    for (int i = 0; rc == 0 && i < 3 && gw_search_ask(search, 0, &trial, &error) == 0; i++) {
        check_trial(space, trial);
        assert(gw_search_end(search, trial->number, GW_TRIAL_DONE, i, &error) == 0);
    }
    gw_search_free(search);
    return 0;
}

static size_t seed_value(uint8_t *data, size_t room)
{
    struct gw_value *dict = gw_dict(), *range = gw_dict(), *on = gw_dict(), *list = gw_list();
    struct gw_buffer buffer = {0};
    struct gw_codec_deps deps = {0};
    gw_list_push(list, gw_f64(.5));
    gw_list_push(list, gw_i64(64));
    gw_dict_set(on, "opt", gw_str("sgd"));
    gw_dict_set(range, "uniform", gw_value_ref(list));
    gw_dict_set(range, "step", gw_f64(.25));
    gw_dict_set(range, "if", on);
    gw_dict_set(dict, "lr", gw_str("log:1e-4..1e-1"));
    gw_dict_set(dict, "m", range);
    gw_dict_set(dict, "opt", gw_str("adam|sgd"));
    gw_dict_set(dict, "gpus", list);
    const int rc = gw_codec_encode(dict, &deps, &buffer);
    assert(rc == 0 && buffer.size < room);
    data[0] = 0;
    memcpy(data + 1, buffer.data, buffer.size);
    const size_t size = buffer.size + 1;
    gw_value_unref(dict);
    gw_codec_deps_deinit(&deps);
    gw_buffer_deinit(&buffer);
    return size;
}

size_t gw_fuzz_seed(uint32_t i, uint8_t *data, size_t room)
{
    static const char *const seeds[] = {
        "\1lr=log:1e-4..1e-1\nopt=adam|sgd\nm=0..1:0.25 if opt=sgd\nw=int-log:16..1024\n",
        "\1gpus=1,4,16\nglobal=int:16..256:16\n=batch=global/gpus\n<batch*gpus<=256\n",
        "\1n=int:1..8\nx=-1.5..2\ny=uniform:0..1 if n=1|2,3\n=d=-(n+1)*2-x/n\n<d!=n\n<x>-2\n",
    };
    const size_t texts = sizeof seeds / sizeof *seeds;
    if (i == texts)
        return seed_value(data, room);
    if (i > texts)
        return 0;
    const size_t size = strlen(seeds[i]);
    assert(size <= room);
    memcpy(data, seeds[i], size);
    return size;
}
