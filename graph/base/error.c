/* Error codes and their texts. A text that is too long is cut and always ends with a NUL. */
#include <gangway/error.h>

#include <stdio.h>
#include <string.h>

const char *gw_error_name(int code)
{
    switch (code) {
    case GW_OK:
        return "GW_OK";
#define GW_ERROR_NAME(name, number, text)                                                          \
    case number:                                                                                   \
        return #name;
        GW_ERRORS(GW_ERROR_NAME)
#undef GW_ERROR_NAME
    default:
        return "GW_E?";
    }
}

const char *gw_error_text(int code)
{
    switch (code) {
    case GW_OK:
        return "no error";
#define GW_ERROR_TEXT(name, number, text)                                                          \
    case number:                                                                                   \
        return text;
        GW_ERRORS(GW_ERROR_TEXT)
#undef GW_ERROR_TEXT
    default:
        return "unknown error";
    }
}

int gw_error_exit_code(const struct gw_error *error)
{
    switch (error ? error->code : GW_EIO) {
    case GW_OK:
        return 0;
    case GW_ENOSCHEDULER:
    case GW_ECLOSED:
        return 3;
    case GW_EINVAL:
    case GW_EINFEASIBLE:
    case GW_ECYCLE:
    case GW_EEXIST:
    case GW_ENOENT:
    case GW_ENOTSUP:
        return 2;
    case GW_ETIMEDOUT:
        return 124;
    case GW_ECANCELLED:
        return 130;
    default:
        return 1;
    }
}

int gw_error_set_v(struct gw_error *error, int code, const char *format, va_list args)
{
    if (error) {
        error->code = code;
        (void)vsnprintf(error->text, sizeof error->text, format, args);
    }
    return code;
}

int gw_error_set(struct gw_error *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    gw_error_set_v(error, code, format, args);
    va_end(args);
    return code;
}

int gw_error_prefix(struct gw_error *error, const char *format, ...)
{
    if (!error)
        return GW_OK;

    char text[GW_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        return error->code;

    size_t at = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    const char *parts[] = {": ", error->text};
    for (size_t i = 0; i < 2; i++) {
        size_t bytes = strlen(parts[i]);
        size_t room = sizeof text - 1 - at;
        memcpy(text + at, parts[i], bytes < room ? bytes : room);
        at += bytes < room ? bytes : room;
    }
    text[at] = '\0';
    memcpy(error->text, text, at + 1);
    return error->code;
}
