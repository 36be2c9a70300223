/* The bytes of a checkpoint file in memory, independent of file access. */
#ifndef GW_GPU_CHECKPOINT_IMAGE_H
#define GW_GPU_CHECKPOINT_IMAGE_H

#include <gangway/checkpoint.h>
#include <stdbool.h>

/* gw_checkpoint_front returns the part of the file before the sections' bytes: head, table and
 * their hash. The caller frees it with free(). Returns GW_ENOMEM if out of memory. */
int gw_checkpoint_front(const struct gw_checkpoint *checkpoint, void **front, size_t *bytes);

/* gw_checkpoint_sections returns the number of sections. gw_checkpoint_section returns the bytes of
 * section i. In the file they follow the front in this order. */
size_t gw_checkpoint_sections(const struct gw_checkpoint *checkpoint);
const void *gw_checkpoint_section(const struct gw_checkpoint *checkpoint, size_t i, size_t *bytes);

/* gw_checkpoint_section_name returns its name, which belongs to the set.
 * gw_checkpoint_section_is_on_device returns true if gw_checkpoint_set_device added it. */
const char *gw_checkpoint_section_name(const struct gw_checkpoint *checkpoint, size_t i);
bool gw_checkpoint_section_is_on_device(const struct gw_checkpoint *checkpoint, size_t i);

/* gw_checkpoint_section_move adds section i of `from` to the set, with its bytes in memory, which
 * must outlive the set. The caller copies the bytes. Returns the errors of gw_checkpoint_set_bytes.
 */
int gw_checkpoint_section_move(struct gw_checkpoint *checkpoint, const struct gw_checkpoint *from,
                               size_t i, const void *memory);

/* gw_checkpoint_decode checks every byte of a file's image (memory from malloc) and makes a set
 * from it. On success the set owns the image; on failure the caller keeps it. Returns GW_ECORRUPT
 * or GW_EVERSION with the reason. */
int gw_checkpoint_decode(void *image, size_t bytes, struct gw_checkpoint **checkpoint,
                         struct gw_error *error);

/* gw_checkpoint_image returns the image that a set was decoded from. It belongs to the set. */
void *gw_checkpoint_image(const struct gw_checkpoint *checkpoint, size_t *bytes);

/* gw_checkpoint_warn sets the text of gw_checkpoint_warning. */
void gw_checkpoint_warn(struct gw_checkpoint *checkpoint, const char *text);

#endif
