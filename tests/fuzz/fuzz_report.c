/* Lines of reports, and lines of output with metrics, as processes of commands write them: no
 * report of a sanitizer, each accepted report keeps its limits, and each refusal has a text. The
 * first byte chooses. */
#include "tests/fuzz/fuzz.h"

#include "worker/net/parts/metric_line.h"
#include "worker/net/parts/report_line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void parse_report(const char *line, size_t bytes)
{
    struct gw_report_line report;
    struct gw_error error = {0};
    int rc = gw_report_line_parse(line, bytes, &report, &error);
    assert(rc == 0 || (rc == GW_EINVAL && error.text[0]));
    if (rc < 0)
        return;
    assert(bytes <= GW_REPORT_LINE_BYTES && report.count <= GW_REPORT_METRICS_MAX);
    for (uint32_t i = 0; i < report.count; i++)
        assert(report.metrics[i].name[0] && strcmp(report.metrics[i].name, "step") != 0);
}

static void read_output(const char *line, size_t bytes)
{
    struct gw_metric_names names;
    struct gw_metric_line found;
    gw_metric_line_init(&names, "loss,acc,step");
    gw_metric_line_read(&names, line, bytes, &found);
    assert(found.found < 8);
    assert(!found.found || memchr(line, '=', bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *line = malloc(size - 1 ? size - 1 : 1); /* a read beyond the line is found */
    assert(line);
    memcpy(line, data + 1, size - 1);
    if (data[0] % 2)
        parse_report(line, size - 1);
    else
        read_output(line, size - 1);
    free(line);
    return 0;
}

size_t gw_fuzz_seed(uint32_t i, uint8_t *data, size_t room)
{
    static const char *const seeds[] = {
        "\1{\"step\": 3, \"loss\": 0.4, \"acc\": NaN, \"gap\": \"-inf\"}",
        "\1{\"lo\\\"ss\": -Infinity, \"l\\u00f6ss\": 1e-3, \"step\": 3.0}",
        "\2epoch=1/9 val_loss=0.5 loss = -1.5e-3 acc=.5 step=7\r\n",
        "\2loss==+1e\t\xff\xc3 acc =\t- loss=9999999999999999999999",
    };
    if (i >= sizeof seeds / sizeof *seeds)
        return 0;
    size_t size = strlen(seeds[i]);
    assert(size <= room);
    memcpy(data, seeds[i], size);
    return size;
}
