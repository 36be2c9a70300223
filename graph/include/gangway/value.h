/* Values: the arguments and results of tasks. A value is nil, a bool, a number, a string, bytes, a
 * list, a dict (a map from strings), or a reference to the result of another task in the same
 * graph.
 *
 * A constructor returns a value with one reference, or NULL if out of memory. Every function that
 * takes a value over accepts NULL and then fails with GW_ENOMEM, so calls can be nested without
 * checks. "Takes over" means that the value belongs to the called function afterwards, also if the
 * call fails. The caller must not change a value after it was taken over. Different threads may use
 * different values. Reference counts are atomic. */
#ifndef GANGWAY_VALUE_H
#define GANGWAY_VALUE_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gw_value_type {
    GW_NIL,
    GW_BOOL,
    GW_I64,
    GW_F64,
    GW_STR,
    GW_BYTES,
    GW_LIST,
    GW_DICT,
    GW_RESULT, /* a value that refers to the result of a task; allowed only inside the arguments of
                  a node */
};

struct gw_value;

/* A node of a graph, as an index. Only the functions in graph.h create nodes. */
typedef struct gw_node {
    uint32_t index;
} gw_node;

enum { GW_RANK_ALL = -1 }; /* for gw_result_rank: a list of the values of all ranks */

/* gw_nil, gw_bool, gw_i64, gw_f64 make a scalar. */
GW_API struct gw_value *gw_nil(void);
GW_API struct gw_value *gw_bool(bool b);
GW_API struct gw_value *gw_i64(int64_t i);
GW_API struct gw_value *gw_f64(double d);

/* gw_str makes a string. The text is UTF-8 and NUL-terminated. It is copied. */
GW_API struct gw_value *gw_str(const char *text);

/* gw_bytes makes a bytes value without copying. data must stay valid until the call that takes the
 * value over has returned: gw_call and gw_task_return copy or send the bytes before they return. */
GW_API struct gw_value *gw_bytes(const void *data, size_t bytes);

/* gw_bytes_copy makes a value with its own copy of the bytes. */
GW_API struct gw_value *gw_bytes_copy(const void *data, size_t bytes);

/* gw_bytes_owned makes a value that owns data, for example a memory mapping. It calls free_fn(data,
 * bytes) when the last reference is released. It takes data over even if it returns NULL. */
GW_API struct gw_value *gw_bytes_owned(void *data, size_t bytes,
                                       void (*free_fn)(void *data, size_t bytes));

/* gw_list makes an empty list. gw_list_push appends a value and takes it over. It returns 0,
 * GW_ENOMEM, or GW_EINVAL if `list` is not a list or is nested more than 16 levels deep. After a
 * failed push the list is invalid: every function that takes it over refuses it. The same holds for
 * dicts. */
GW_API struct gw_value *gw_list(void);
GW_API int gw_list_push(struct gw_value *list, struct gw_value *value);

/* gw_dict makes an empty dict. gw_dict_set sets the value of a key, which may exist already. It
 * copies the key and takes the value over. */
GW_API struct gw_value *gw_dict(void);
GW_API int gw_dict_set(struct gw_value *dict, const char *key, struct gw_value *value);

/* gw_result makes a reference to the result of an earlier node of the same graph (for a gang: of
 * rank 0). gw_result_rank refers to the result of another rank, gw_result_all to the list of the
 * results of all ranks. */
GW_API struct gw_value *gw_result(gw_node node);
GW_API struct gw_value *gw_result_rank(gw_node node, int32_t rank);
GW_API struct gw_value *gw_result_all(gw_node node);

/* gw_value_ref adds a reference and returns the value. gw_value_unref releases a reference. Both
 * accept NULL. Any thread may call them. */
GW_API struct gw_value *gw_value_ref(struct gw_value *value);
GW_API void gw_value_unref(struct gw_value *value);

/* gw_value_type returns the type of a value, and GW_NIL for NULL. gw_value_type_name returns the
 * name of a type for people, for example "a number". The string is static. */
GW_API enum gw_value_type gw_value_type(const struct gw_value *value);
GW_API const char *gw_value_type_name(enum gw_value_type type);

/* gw_value_get_* read a value of the named type. They return 0, or GW_EINVAL with a text that names
 * both types. gw_value_get_f64 accepts an integer. gw_value_get_i64 accepts a float that is a whole
 * number. Strings and bytes are borrowed from the value. */
GW_API int gw_value_get_bool(const struct gw_value *value, bool *b, struct gw_error *error);
GW_API int gw_value_get_i64(const struct gw_value *value, int64_t *i, struct gw_error *error);
GW_API int gw_value_get_f64(const struct gw_value *value, double *d, struct gw_error *error);
GW_API int gw_value_get_str(const struct gw_value *value, const char **text,
                            struct gw_error *error);
GW_API int gw_value_get_bytes(const struct gw_value *value, const void **data, size_t *bytes,
                              struct gw_error *error);

/* gw_value_get_result returns the node and the rank that a reference refers to, or GW_EINVAL if the
 * value is not a reference. */
GW_API int gw_value_get_result(const struct gw_value *value, gw_node *node, int32_t *rank);

/* gw_value_count returns the number of items of a list or dict, and 0 for other types. gw_value_at
 * returns item i of a list or the value of item i of a dict (borrowed), or NULL if i is out of
 * range. gw_value_key returns the key of item i of a dict. gw_value_find returns the value of a key
 * in a dict (borrowed), or NULL if the dict does not have the key. */
GW_API size_t gw_value_count(const struct gw_value *value);
GW_API struct gw_value *gw_value_at(const struct gw_value *value, size_t i);
GW_API const char *gw_value_key(const struct gw_value *value, size_t i);
GW_API struct gw_value *gw_value_find(const struct gw_value *value, const char *key);

/* gw_value_equal compares two values, including all their items. */
GW_API bool gw_value_equal(const struct gw_value *a, const struct gw_value *b);

/* gw_value_format writes a value as JSON-like text for people; bytes are shown as "<1.5 MB of
 * bytes>". The text is cut to text_bytes, including the terminating NUL. It returns the length of
 * the uncut text. */
GW_API size_t gw_value_format(const struct gw_value *value, char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif

#endif
