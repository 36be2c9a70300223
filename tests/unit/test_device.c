/* Device discovery with a library that is there, is not there, is another one, has no driver, and
 * has one that does not answer. */
#include "tests/unit/unit.h"

#include "gpu/device.h"
#include <stdlib.h>
#include <string.h>

static void test_lists(void **state)
{
    struct gw_device devices[4];
    struct gw_error error;
    assert_int_equal(unsetenv("FAKE_NVML"), 0);
    assert_int_equal(gw_device_list(FAKE_NVML, devices, 4, &error), 2);
    assert_int_equal(devices[1].index, 1);
    assert_string_equal(devices[1].uuid, "GPU-0000-1");
    assert_string_equal(devices[1].name, "Fake-1");
    assert_int_equal(devices[1].memory_bytes, 1001);
    assert_string_equal(devices[0].uuid, "GPU-0000-0");
    assert_int_equal(gw_device_list(FAKE_NVML, devices, 1, &error), 1);
}

static void test_none(void **state)
{
    struct gw_device devices[1];
    struct gw_error error;
    assert_int_equal(gw_device_list("/nonexistent/libnvidia-ml.so.1", devices, 1, &error), 0);
    assert_int_equal(gw_device_list("libm.so.6", devices, 1, &error), 0);
    assert_int_equal(setenv("FAKE_NVML", "none", 1), 0);
    assert_int_equal(gw_device_list(FAKE_NVML, devices, 1, &error), 0);
    assert_int_equal(setenv("FAKE_NVML", "broken", 1), 0);
    assert_int_equal(gw_device_list(FAKE_NVML, devices, 1, &error), GW_EIO);
    assert_non_null(strstr(error.text, "Unknown Error"));
}

static void test_this_machine(void **state)
{
    struct gw_device devices[GW_DEVICES_MAX];
    struct gw_error error;
    int count = gw_device_list(NULL, devices, GW_DEVICES_MAX, &error);
    assert_in_range(count, 0, GW_DEVICES_MAX); /* with a GPU or without: no error */
    for (int i = 0; i < count; i++)
        assert_true(devices[i].uuid[0] && devices[i].memory_bytes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
