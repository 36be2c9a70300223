/* Devices of a machine simulated by a fake NVML (tests/tools/fake_nvml.c): properties, distances,
 * instances, errors, and a GPU that falls off the bus; also without a library, with a wrong one,
 * without a driver, and with a driver that does not answer. */
#include "tests/unit/unit.h"

#include "gpu/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/gw-test-device-XXXXXX";

static void machine(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct gw_devices *must_open(const struct gw_device **list, size_t *count)
{
    struct gw_devices *devices = NULL;
    struct gw_error error;
    assert_int_equal(gw_devices_open(FAKE_NVML, &devices, &error), 0);
    assert_non_null(devices);
    *list = gw_devices_list(devices, count);
    return devices;
}

static void gpu_properties_are_read_from_the_driver(void **state)
{
    const struct gw_device *list;
    size_t count;
    (void)state;
    machine("gpu GPU-a memory=1000 numa=1 cpus=f0f name=Big\n"
            "gpu GPU-b memory=500\n");
    struct gw_devices *devices = must_open(&list, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].uuid, "GPU-a");
    assert_string_equal(list[0].name, "Big");
    assert_int_equal(list[0].memory_bytes, 1000);
    assert_int_equal(list[0].numa_node, 1);
    assert_string_equal(list[0].cpus, "0-3,8-11");
    assert_int_equal(list[1].index, 1);
    assert_string_equal(list[1].physical_gpu, "");
    assert_int_not_equal(list[0].nvlink_domain, list[1].nvlink_domain);
    assert_int_not_equal(list[0].bridge, list[1].bridge);
    gw_devices_close(devices);
}

static void gpus_are_sorted_by_nvlink_domain(void **state)
{
    const struct gw_device *list;
    size_t count;
    static const char *const order[] = {"GPU-0", "GPU-2", "GPU-1", "GPU-3", "GPU-4", "GPU-5"};
    (void)state;
    machine("gpu GPU-0 memory=1 nvlink=1 switch=1\n"
            "gpu GPU-1 memory=1 nvlink=2 switch=1\n"
            "gpu GPU-2 memory=1 nvlink=1 switch=2\n"
            "gpu GPU-3 memory=1 nvlink=2 switch=2\n"
            "gpu GPU-4 memory=1 nvswitch=1\n"
            "gpu GPU-5 memory=1 nvswitch=1\n");
    struct gw_devices *devices = must_open(&list, &count);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(list[i].uuid, order[i]);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            assert_int_equal(list[i].nvlink_domain == list[k].nvlink_domain, i / 2 == k / 2);
    assert_int_equal(list[0].bridge, list[2].bridge); /* 0 and 1 are below one switch */
    assert_int_not_equal(list[0].bridge, list[1].bridge);
    gw_devices_close(devices);
}

static void mig_instances_are_listed_as_devices(void **state)
{
    const struct gw_device *list;
    size_t count;
    (void)state;
    machine("gpu GPU-a memory=1000 numa=1 cpus=f\n"
            "gpu GPU-b memory=1000\n"
            "mig GPU-a MIG-1 memory=400\n"
            "mig GPU-a MIG-2 memory=300 used=20\n"
            "xid GPU-a 48 1\n");
    struct gw_devices *devices = must_open(&list, &count);
    struct gw_device_state states[3];
    assert_int_equal(count, 3);
    assert_string_equal(list[0].uuid, "GPU-b");
    assert_string_equal(list[1].uuid, "MIG-1");
    assert_string_equal(list[1].physical_gpu, "GPU-a");
    assert_string_equal(list[1].cpus, "0-3");
    assert_int_equal(list[2].memory_bytes, 300);
    assert_int_equal(list[2].numa_node, 1);
    gw_devices_look(devices, states);
    assert_int_equal(states[2].used_bytes, 20);
    assert_int_equal(states[1].busy_percent, GW_DEVICE_BUSY_UNKNOWN);
    assert_int_equal(states[1].xid_count, 1); /* an error of a GPU affects all its instances */
    assert_int_equal(states[2].xids[0], 48);
    assert_int_equal(states[0].xid_count, 0);
    gw_devices_close(devices);
}

/* Neighbours stay together, the first parts are larger, and there may be more parts than GPUs. */
static void gpus_are_split_between_workers_by_domain(void **state)
{
    static const char *const parts[3][7] = {
        {"a c b", "d e"}, {"a c", "b d", "e"}, {"a", "c", "b", "d", "e", "", ""}};
    static const uint32_t counts[] = {2, 3, 7};
    (void)state;
    machine("gpu a memory=1 nvlink=1 used=1\ngpu b memory=1 nvlink=2 used=2\n"
            "gpu c memory=1 nvlink=1 used=3\ngpu d memory=1 nvlink=2 used=4\n"
            "gpu e memory=1 used=5\nxid d 79 1\n");
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t part = 0; part < counts[i]; part++) {
            struct gw_device_state states[5];
            const struct gw_device *list;
            char names[16] = "";
            size_t count;
            struct gw_devices *devices = must_open(&list, &count);
            gw_devices_select_part(devices, part, counts[i]);
            list = gw_devices_list(devices, &count);
            gw_devices_look(devices, states);
            for (size_t k = 0; k < count; k++) {
                strcat(strcat(names, k ? " " : ""), list[k].uuid);
                assert_int_equal(states[k].used_bytes, *list[k].uuid - 'a' + 1);
                assert_int_equal(states[k].xid_count, *list[k].uuid == 'd');
            }
            assert_string_equal(names, parts[i][part]);
            gw_devices_close(devices);
        }
}

/* A partitioned GPU also does not link other GPUs to each other. */
static void mig_instances_have_no_nvlink_or_shared_bridge(void **state)
{
    const struct gw_device *list;
    size_t count;
    static const char *const order[] = {"GPU-b", "GPU-c", "MIG-d", "MIG-1", "MIG-2"};
    (void)state;
    machine("gpu GPU-a memory=9 numa=1 nvlink=3 switch=1\n"
            "gpu GPU-b memory=9 nvlink=1\n"
            "gpu GPU-c memory=9 nvlink=2\n"
            "gpu GPU-d memory=9 nvlink=1 switch=1\n"
            "mig GPU-a MIG-1 memory=4\n"
            "mig GPU-a MIG-2 memory=3\n"
            "mig GPU-d MIG-d memory=3\n");
    struct gw_devices *devices = must_open(&list, &count);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(list[i].uuid, order[i]);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(list[i].nvlink_domain, list[k].nvlink_domain);
            assert_int_not_equal(list[i].bridge, list[k].bridge);
        }
    gw_devices_close(devices);
}

static void gpu_state_shows_memory_power_and_losses(void **state)
{
    const struct gw_device *list;
    struct gw_device_state states[2];
    size_t count;
    (void)state;
    machine("gpu GPU-a memory=1000 used=300 power=250000 busy=70\n"
            "gpu GPU-b memory=1000\n"
            "process GPU-a 4711\n"
            "process GPU-a 4712\n");
    struct gw_devices *devices = must_open(&list, &count);
    gw_devices_look(devices, states);
    assert_int_equal(states[0].used_bytes, 300);
    assert_int_equal(states[0].processes, 2);
    assert_int_equal(states[0].power_mw, 250000);
    assert_int_equal(states[0].busy_percent, 70);
    assert_int_equal(states[1].processes, 0);
    machine("gpu GPU-a memory=1000 lost=1\n"
            "gpu GPU-b memory=1000 used=5\n"
            "xid GPU-b 13 1\n");
    gw_devices_look(devices, states);
    assert_true(states[0].lost);
    assert_false(states[1].lost);
    assert_int_equal(states[1].used_bytes, 5);
    assert_int_equal(states[1].xid_count, 1);
    assert_int_equal(states[1].xids[0], 13);
    machine("gpu GPU-a memory=1000\ngpu GPU-b memory=1000 fails=999\n");
    gw_devices_look(devices, states); /* an error is reported once */
    assert_int_equal(states[1].xid_count, 0);
    assert_int_equal(states[1].used_bytes, 5); /* nothing reports that it is back */
    machine("gpu GPU-a memory=1000\ngpu GPU-b memory=1000 used=2\n");
    gw_devices_look(devices, states);
    assert_int_equal(states[1].used_bytes, 2);
    gw_devices_close(devices);
}

/* A GPU that the driver refuses does not make the other GPUs unusable. */
static void unusable_gpus_are_left_out_with_the_reason(void **state)
{
    const struct gw_device *list;
    struct gw_device_state states[GW_DEVICES_MAX];
    struct gw_devices *devices;
    struct gw_error error;
    size_t count;
    (void)state;
    machine("gpu GPU-a memory=1000\ngpu GPU-b memory=1000 refuses=4\n"
            "gpu GPU-c memory=1000 fails=15\ngpu GPU-d memory=1000\n");
    devices = must_open(&list, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].uuid, "GPU-a");
    assert_string_equal(list[1].uuid, "GPU-d");
    assert_int_equal(list[1].index, 3);
    assert_non_null(strstr(gw_devices_left_out(devices), "GPU 1: the driver says: "));
    machine("gpu GPU-a memory=1000 fails=16\ngpu GPU-b memory=1000\n"
            "gpu GPU-c memory=1000\ngpu GPU-d memory=1000\n");
    gw_devices_look(devices, states);
    assert_true(states[0].lost); /* it needs a reset */
    assert_false(states[1].lost);
    gw_devices_close(devices);
    machine("gpu GPU-a memory=1000 refuses=4\n");
    assert_int_equal(gw_devices_open(FAKE_NVML, &devices, &error), GW_EIO);
    machine("gpu GPU-a memory=1000\n");
    devices = must_open(&list, &count);
    assert_null(gw_devices_left_out(devices));
    gw_devices_close(devices);
}

static void host_without_a_driver_or_gpu_has_no_devices(void **state)
{
    struct gw_devices *devices = (struct gw_devices *)&path;
    struct gw_error error;
    (void)state;
    const char *const libraries[] = {"/nonexistent/libnvidia-ml.so.1", "libm.so.6", FAKE_NVML,
                                     FAKE_NVML};
    for (size_t i = 0; i < 4; i++) {
        machine(i == 2 ? "driver 9\ngpu GPU-a memory=1\n" : "");
        devices = (struct gw_devices *)&path;
        assert_int_equal(gw_devices_open(libraries[i], &devices, &error), 0);
        assert_null(devices);
    }
    machine("driver 999\n");
    assert_int_equal(gw_devices_open(FAKE_NVML, &devices, &error), GW_EIO);
    assert_non_null(strstr(error.text, "Unknown Error"));
    gw_devices_close(NULL);
}

static void real_devices_of_this_machine_can_be_read(void **state)
{
    struct gw_devices *devices;
    struct gw_error error;
    size_t count;
    (void)state;
    assert_int_equal(gw_devices_open(NULL, &devices, &error), 0); /* with a GPU or without */
    if (!devices)
        return;
    const struct gw_device *list = gw_devices_list(devices, &count);
    struct gw_device_state states[GW_DEVICES_MAX];
    gw_devices_look(devices, states);
    for (size_t i = 0; i < count; i++) {
        assert_true(list[i].uuid[0] && list[i].memory_bytes > 0);
        assert_true(states[i].lost || states[i].used_bytes <= list[i].memory_bytes);
    }
    gw_devices_close(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_properties_are_read_from_the_driver),
        cmocka_unit_test(gpus_are_sorted_by_nvlink_domain),
        cmocka_unit_test(mig_instances_are_listed_as_devices),
        cmocka_unit_test(mig_instances_have_no_nvlink_or_shared_bridge),
        cmocka_unit_test(gpus_are_split_between_workers_by_domain),
        cmocka_unit_test(gpu_state_shows_memory_power_and_losses),
        cmocka_unit_test(unusable_gpus_are_left_out_with_the_reason),
        cmocka_unit_test(host_without_a_driver_or_gpu_has_no_devices),
        cmocka_unit_test(real_devices_of_this_machine_can_be_read),
    };
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) < 0 || setenv("FAKE_NVML", path, 1) < 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
