/* Images of handwritten digits: the files of MNIST, or drawn by this program. */
#ifndef GW_EXAMPLES_DIGITS_IMAGES_H
#define GW_EXAMPLES_DIGITS_IMAGES_H

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGITS_SIDE = 28, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE, DIGITS_CLASSES = 10 };

struct digits_images {
    uint8_t *pixels; /* [count][DIGITS_PIXELS], 0 is paper */
    uint8_t *labels; /* [count], 0 to 9 */
    size_t count;
    size_t train; /* the first `train` are to train on, the others are held out */
    char source[256];
};

/* digits_images_load reads a folder that has MNIST's files under their usual names, with or without
 * .gz: train-images-idx3-ubyte and train-labels-idx1-ubyte to train on and t10k-* held out; without
 * the former every fifth of t10k is held out. `folder` NULL or "": draws 6,000 digits to train on
 * and 1,000 held out. The caller frees the images with digits_images_deinit, which accepts images
 * of zeroes. GW_ENOENT: a file is missing; GW_EINVAL: no image would be held out; GW_ECORRUPT: a
 * file is cut off, no idx file, or has a label above 9; GW_ENOMEM. */
int digits_images_load(const char *folder, struct digits_images *images, struct gw_error *error);
void digits_images_deinit(struct digits_images *images);

/* digits_images_draw draws `count` digits, the same for a seed on every machine. GW_ENOMEM. */
int digits_images_draw(uint64_t seed, size_t count, struct digits_images *images,
                       struct gw_error *error);

#endif
