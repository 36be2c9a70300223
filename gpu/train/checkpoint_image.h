/* The bytes of a checkpoint file, apart from where they lie. */
#ifndef GW_GPU_CHECKPOINT_IMAGE_H
#define GW_GPU_CHECKPOINT_IMAGE_H

#include <gangway/checkpoint.h>
#include <stdbool.h>

/* gw_checkpoint_front gives back head, table and their hash: all of the file before the sections'
 * bytes, for free(). GW_ENOMEM. */
int gw_checkpoint_front(const struct gw_checkpoint *checkpoint, void **front, size_t *bytes);

/* gw_checkpoint_sections returns how many sections there are; gw_checkpoint_section gives back the
 * bytes of the i-th, as they follow the front in the file. */
size_t gw_checkpoint_sections(const struct gw_checkpoint *checkpoint);
const void *gw_checkpoint_section(const struct gw_checkpoint *checkpoint, size_t i, size_t *bytes);

/* gw_checkpoint_decode checks every byte of a file's image (from malloc) and makes a set of it that
 * takes the image; on failure the caller keeps it. GW_ECORRUPT or GW_EVERSION with the reason. */
int gw_checkpoint_decode(void *image, size_t bytes, struct gw_checkpoint **checkpoint,
                         struct gw_error *error);

/* gw_checkpoint_image returns the image that a set was decoded from; the set's. */
void *gw_checkpoint_image(const struct gw_checkpoint *checkpoint, size_t *bytes);

/* gw_checkpoint_warn sets the text of gw_checkpoint_warning. */
void gw_checkpoint_warn(struct gw_checkpoint *checkpoint, const char *text);

#endif
