/* Files of other tools that a sweep's trials become: their bytes. */
#include "tests/unit/unit.h"

#include "client/sweep/export/crc32c.h"
#include "client/sweep/export/optuna.h"
#include "client/sweep/export/tensorboard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_study_choice choices[] = {{"adam", true}, {"s\"d", true}, {"4", false}};
static const struct gw_study_param params[] = {
    {.name = "lr", .kind = GW_STUDY_FLOAT, .log = true, .low = .001, .high = 1},
    {.name = "layers", .kind = GW_STUDY_INT, .low = 1, .high = 8, .step = 1},
    {.name = "opt", .kind = GW_STUDY_CHOICE, .choices = choices, .choice_count = 3},
    {.name = "batch", .kind = GW_STUDY_FLOAT, .derived = true},
};
static const struct gw_study_report reports[] = {
    {"loss", 1, 1000000000, .5, 1},
    {"accuracy", 1, 1000000000, .75, 2},
    {"loss", 2, 2500000000, NAN, 3},
};
static const struct gw_study_trial trials[] = {
    {GW_STUDY_DONE, (const double[]){.01, 3, 1, 16}, .25, 2, 1000000000, 3000000000, reports, 3,
     NULL, 0},
    {GW_STUDY_FAILED, (const double[]){.5, 8, NAN, 16}, NAN, 0, 1000000000, 3000000000, NULL, 0,
     NULL, 0},
    {GW_STUDY_PRUNED, (const double[]){.5, 1, 2, 16}, -.5, 7, 1000000000, 3000000000, NULL, 0, NULL,
     0},
    {GW_STUDY_RUNNING, (const double[]){.5, 1, 0, 16}, NAN, 0, 1000000000, 0, NULL, 0, NULL, 0},
};
static const struct gw_study study = {"pets", "loss", false, NAN, params, 4, trials, 4, 0};

static void checksum_has_the_known_values(void **state)
{
    uint8_t bytes[32];
    (void)state;
    assert_int_equal(gw_crc32c("", 0), 0);
    assert_int_equal(gw_crc32c("123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes); /* RFC 3720, B.4 */
    assert_int_equal(gw_crc32c(bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(gw_crc32c(bytes, sizeof bytes), 0x62a8ab43);
}

static char *optuna_text(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    gw_optuna_write(out, &study);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void journal_has_each_operation_as_optuna_writes_it(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "{\"op_code\": 0, \"worker_id\": \"gangway\", \"study_name\": \"pets\", \"directions\": "
        "[1]}\n",
        "{\"op_code\": 4, \"worker_id\": \"gangway\", \"study_id\": 0, \"datetime_start\": "
        "\"1970-01-01T00:00:01.000000\"}\n",
        "\"trial_id\": 0, \"param_name\": \"lr\", \"param_value_internal\": 0.01, "
        "\"distribution\": \"{\\\"name\\\": \\\"FloatDistribution\\\", \\\"attributes\\\": "
        "{\\\"log\\\": true, \\\"step\\\": null, \\\"low\\\": 0.001, \\\"high\\\": 1.0}}\"}\n",
        "\"param_name\": \"layers\", \"param_value_internal\": 3, \"distribution\": "
        "\"{\\\"name\\\": "
        "\\\"IntDistribution\\\", \\\"attributes\\\": {\\\"log\\\": false, \\\"step\\\": 1, "
        "\\\"low\\\": 1, \\\"high\\\": 8}}\"}\n",
        "\"param_value_internal\": 1, \"distribution\": \"{\\\"name\\\": "
        "\\\"CategoricalDistribution\\\", \\\"attributes\\\": {\\\"choices\\\": [\\\"adam\\\", "
        "\\\"s\\\\\\\"d\\\", 4]}}\"}\n",
        "{\"op_code\": 8, \"worker_id\": \"gangway\", \"trial_id\": 0, \"user_attr\": "
        "{\"batch\": 16}}\n",
        "{\"op_code\": 7, \"worker_id\": \"gangway\", \"trial_id\": 0, \"step\": 1, "
        "\"intermediate_value\": 0.5}\n",
        "\"step\": 2, \"intermediate_value\": NaN}\n",
        "{\"op_code\": 6, \"worker_id\": \"gangway\", \"trial_id\": 0, \"state\": 1, \"values\": "
        "[0.25], \"datetime_complete\": \"1970-01-01T00:00:03.000000\"}\n",
        "\"trial_id\": 1, \"state\": 3, \"values\": null, ",
        "\"trial_id\": 2, \"state\": 2, \"values\": [-0.5], ",
    };
    char *text = optuna_text();
    const char *at = text;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        at = strstr(at, wanted[i]);
        if (!at)
            fail_msg("not there, or not in its place: %sin\n%s", wanted[i], text);
    }
    assert_null(strstr(text, "\"trial_id\": 1, \"param_name\": \"opt\"")); /* it has none */
    assert_null(strstr(text, "accuracy"));
    assert_null(strstr(text, "\"trial_id\": 3, \"state\""));
    free(text);
}

/* The records of a trial's event file; each must have its checksums. */
static size_t read_records(size_t trial, const uint8_t *records[], size_t lengths[], char **file)
{
    size_t bytes, count = 0;
    FILE *out = open_memstream(file, &bytes);
    gw_tensorboard_write(out, &study, trial);
    assert_int_equal(fclose(out), 0);
    for (size_t at = 0; at < bytes; count++) {
        uint64_t length;
        memcpy(&length, *file + at, 8);
        for (int part = 0; part < 2; part++) {
            const size_t size = part ? length : 8;
            uint32_t sum = gw_crc32c(*file + at, size), found;
            sum = ((sum >> 15) | (sum << 17)) + 0xa282ead8u;
            memcpy(&found, *file + at + size, 4);
            assert_int_equal(found, sum);
            records[count] = (const uint8_t *)*file + at;
            at += size + 4;
        }
        lengths[count] = length;
    }
    return count;
}

static void events_of_tensorboard_have_their_bytes(void **state)
{
    static const uint8_t version[] = {9,    0,    0,   0,   0,   0,   0,   0xf0,
                                      0x3f, 0x1a, 13,  'b', 'r', 'a', 'i', 'n',
                                      '.',  'E',  'v', 'e', 'n', 't', ':', '2'};
    static const uint8_t loss[] = {9,    0,   0,    0,    0,    0,  0,    0xf0, 0x3f,
                                   0x10, 1,   0x2a, 13,   0x0a, 11, 0x0a, 4,    'l',
                                   'o',  's', 's',  0x15, 0,    0,  0,    0x3f};
    const uint8_t *records[8];
    size_t lengths[8];
    char *file;
    (void)state;
    assert_int_equal(read_records(0, records, lengths, &file), 4);
    assert_int_equal(lengths[0], sizeof version);
    assert_memory_equal(records[0], version, sizeof version);
    assert_int_equal(lengths[1], sizeof loss);
    assert_memory_equal(records[1], loss, sizeof loss);
    assert_memory_equal(records[2] + 17, "accuracy", 8);
    free(file);
    assert_int_equal(read_records(2, records, lengths, &file), 2); /* its value, without a report */
    assert_int_equal(records[1][10], 7);
    free(file);
    assert_int_equal(read_records(1, records, lengths, &file), 1);
    free(file);
}

static void folder_of_a_trial_names_its_parameters(void **state)
{
    char path[GW_TENSORBOARD_PATH_BYTES], name[400];
    (void)state;
    gw_tensorboard_path(&study, 0, path);
    assert_string_equal(path,
                        "0000-lr=0.01,layers=3,opt=s_d,batch=16/events.out.tfevents.1.gangway");
    gw_tensorboard_path(&study, 1, path);
    assert_string_equal(path, "0001-lr=0.5,layers=8,batch=16/events.out.tfevents.1.gangway");
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    const struct gw_study_param long_param = {.name = name};
    const struct gw_study_trial trial = {.params = (const double[]){1}};
    const struct gw_study other = {
        .params = &long_param, .param_count = 1, .trials = &trial, .trial_count = 1};
    gw_tensorboard_path(&other, 0, path);
    const char *slash = strchr(path, '/');
    assert_non_null(slash);
    assert_string_equal(slash, "/events.out.tfevents.0.gangway");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum_has_the_known_values),
        cmocka_unit_test(journal_has_each_operation_as_optuna_writes_it),
        cmocka_unit_test(events_of_tensorboard_have_their_bytes),
        cmocka_unit_test(folder_of_a_trial_names_its_parameters),
    };
    (void)setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
