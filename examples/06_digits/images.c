/* Reads idx files (the format is on the page of MNIST: a magic number, sizes as big-endian 32-bit
 * numbers, bytes), and draws digits as strokes that are turned, slanted, scaled and moved. */
#include "examples/06_digits/images.h"

#include <gangway/rng.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
    IMAGES_MAGIC = 0x803,
    LABELS_MAGIC = 0x801,
    COUNT_MAX = 1000000,
    DRAWN_TRAIN = 6000,
    DRAWN_HELD_OUT = 1000,
    DRAWN_SEED = 1,
    HELD_OUT_EVERY = 5, /* of the images, if there is only one part */
};

void digits_images_deinit(struct digits_images *images)
{
    free(images->pixels);
    free(images->labels);
    *images = (struct digits_images){0};
}

static int allocate(struct digits_images *images, size_t count, struct gw_error *error)
{
    images->pixels = calloc(count, DIGITS_PIXELS);
    images->labels = calloc(count, 1);
    images->count = count;
    return images->pixels && images->labels
               ? 0
               : gw_error_set(error, GW_ENOMEM, "no memory for %zu images", count);
}

/* -- Files ------------------------------------------------------------------------------------- */

/* Finds FOLDER/NAME.gz or FOLDER/NAME. */
static bool find(const char *folder, const char *name, char path[PATH_MAX])
{
    static const char *const ends[] = {".gz", ""};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (snprintf(path, PATH_MAX, "%s/%s%s", folder, name, ends[i]) < PATH_MAX &&
            access(path, R_OK) == 0)
            return true;
    return false;
}

static int read_exactly(gzFile file, const char *path, void *to, size_t bytes,
                        struct gw_error *error)
{
    for (size_t done = 0; done < bytes;) {
        const size_t part = bytes - done < 1 << 20 ? bytes - done : 1 << 20;
        const int got = gzread(file, (char *)to + done, (unsigned)part);
        if (got <= 0)
            return gw_error_set(error, GW_ECORRUPT, "%s is cut off or damaged", path);
        done += (size_t)got;
    }
    return 0;
}

static uint32_t big_endian(const uint8_t bytes[4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Opens an idx file and reads its head: the count of entries, whose size must be as expected. */
static int open_idx(const char *path, uint32_t magic, gzFile *file, size_t *count,
                    struct gw_error *error)
{
    uint8_t head[16];
    const size_t bytes = magic == IMAGES_MAGIC ? 16 : 8;
    *file = gzopen(path, "rb");
    if (!*file)
        return gw_error_set(error, GW_ENOENT, "cannot open %s", path);
    int rc = read_exactly(*file, path, head, bytes, error);
    if (rc == 0 && big_endian(head) != magic)
        rc = gw_error_set(error, GW_ECORRUPT, "%s is no idx file of %s", path,
                          magic == IMAGES_MAGIC ? "images" : "labels");
    if (rc == 0 && magic == IMAGES_MAGIC &&
        (big_endian(head + 8) != DIGITS_SIDE || big_endian(head + 12) != DIGITS_SIDE))
        rc = gw_error_set(error, GW_ECORRUPT, "%s has images of %u x %u pixels, not %d x %d", path,
                          big_endian(head + 12), big_endian(head + 8), DIGITS_SIDE, DIGITS_SIDE);
    if (rc == 0 && (big_endian(head + 4) < 1 || big_endian(head + 4) > COUNT_MAX))
        rc = gw_error_set(error, GW_ECORRUPT, "%s has %u entries, not 1 to %d", path,
                          big_endian(head + 4), COUNT_MAX);
    if (rc == 0)
        *count = big_endian(head + 4);
    else
        (void)gzclose(*file);
    return rc;
}

/* Reads images and labels into fresh memory. */
static int read_pair(const char *images_path, const char *labels_path, struct digits_images *images,
                     struct gw_error *error)
{
    gzFile pixels, labels;
    size_t count = 0, labels_count = 0;
    int rc = open_idx(images_path, IMAGES_MAGIC, &pixels, &count, error);
    if (rc < 0)
        return rc;
    rc = open_idx(labels_path, LABELS_MAGIC, &labels, &labels_count, error);
    if (rc < 0) {
        (void)gzclose(pixels);
        return rc;
    }
    if (count != labels_count)
        rc = gw_error_set(error, GW_ECORRUPT, "%s has %zu images, %s %zu labels", images_path,
                          count, labels_path, labels_count);
    if (rc == 0)
        rc = allocate(images, count, error);
    if (rc == 0)
        rc = read_exactly(pixels, images_path, images->pixels, count * DIGITS_PIXELS, error);
    if (rc == 0)
        rc = read_exactly(labels, labels_path, images->labels, count, error);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (images->labels[i] >= DIGITS_CLASSES)
            rc = gw_error_set(error, GW_ECORRUPT, "%s: label %zu is %u, at most 9 is possible",
                              labels_path, i, images->labels[i]);
    (void)gzclose(pixels);
    (void)gzclose(labels);
    if (rc < 0)
        digits_images_deinit(images);
    return rc;
}

static int read_part(const char *folder, const char *part, struct digits_images *images,
                     struct gw_error *error)
{
    char name[64], images_path[PATH_MAX], labels_path[PATH_MAX];
    (void)snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    if (!find(folder, name, images_path))
        return gw_error_set(error, GW_ENOENT, "there is no %s/%s, also not with .gz", folder, name);
    (void)snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    if (!find(folder, name, labels_path))
        return gw_error_set(error, GW_ENOENT, "there is no %s/%s, also not with .gz", folder, name);
    return read_pair(images_path, labels_path, images, error);
}

static void copy(struct digits_images *to, size_t at, const struct digits_images *from, size_t i)
{
    memcpy(to->pixels + at * DIGITS_PIXELS, from->pixels + i * DIGITS_PIXELS, DIGITS_PIXELS);
    to->labels[at] = from->labels[i];
}

/* Puts the images to train on first. Without `train` every fifth of `test` is held out. */
static int split(const struct digits_images *train, const struct digits_images *test,
                 struct digits_images *images, struct gw_error *error)
{
    int rc = allocate(images, train->count + test->count, error);
    size_t at = 0;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < train->count; i++)
        copy(images, at++, train, i);
    for (size_t i = 0; i < test->count && train->count == 0; i++)
        if (i % HELD_OUT_EVERY != HELD_OUT_EVERY - 1)
            copy(images, at++, test, i);
    images->train = at;
    for (size_t i = 0; i < test->count; i++)
        if (train->count || i % HELD_OUT_EVERY == HELD_OUT_EVERY - 1)
            copy(images, at++, test, i);
    return 0;
}

static int load_folder(const char *folder, struct digits_images *images, struct gw_error *error)
{
    struct digits_images train = {0}, test = {0};
    char path[PATH_MAX];
    int rc = 0;
    if (find(folder, "train-images-idx3-ubyte", path))
        rc = read_part(folder, "train", &train, error);
    if (rc == 0)
        rc = read_part(folder, "t10k", &test, error);
    if (rc == 0 && train.count == 0 && test.count < HELD_OUT_EVERY)
        rc = gw_error_set(error, GW_EINVAL, "%s has %zu images: at least %d are needed", folder,
                          test.count, HELD_OUT_EVERY);
    if (rc == 0)
        rc = split(&train, &test, images, error);
    if (rc == 0)
        (void)snprintf(images->source, sizeof images->source, "%s", folder);
    digits_images_deinit(&train);
    digits_images_deinit(&test);
    return rc;
}

/* -- Drawing ----------------------------------------------------------------------------------- */

/* The strokes of each digit in a box of 4 x 6: points "xy" with y downwards, a blank between
 * strokes. */
static const char *const strokes[DIGITS_CLASSES] = {
    "103041453616050110",          "112026",      "01103041420646",
    "01103041423323 334445361605", "300444 3236", "400002324345361605",
    "4020020516364544331304",      "004016",      "13020110304142331304051636454433",
    "42331302011030414526",
};

enum { POINTS_MAX = 32 };

/* A digit as line segments in pixels. */
struct drawing {
    double x[POINTS_MAX], y[POINTS_MAX];
    bool starts[POINTS_MAX]; /* a stroke begins at this point */
    int count;
};

static double between(struct gw_rng *rng, double low, double high)
{
    return low + (high - low) * gw_rng_uniform(rng);
}

/* Turns, slants, scales and moves a digit, and shakes each point. */
static void place(struct drawing *drawing, int digit, struct gw_rng *rng)
{
    const double turn = between(rng, -0.25, 0.25), slant = between(rng, -0.3, 0.3);
    const double width = between(rng, 2.4, 3.6), height = between(rng, 2.6, 3.4);
    const double at_x = 13.5 + between(rng, -2.5, 2.5), at_y = 13.5 + between(rng, -2.5, 2.5);
    drawing->count = 0;
    bool starts = true;
    for (const char *at = strokes[digit]; *at; at++) {
        if (*at == ' ') {
            starts = true;
            continue;
        }
        const double y = (at[1] - '0' - 3 + between(rng, -0.25, 0.25)) * height;
        const double x = (at[0] - '0' - 2 + between(rng, -0.25, 0.25)) * width - slant * y;
        drawing->x[drawing->count] = at_x + x * cos(turn) - y * sin(turn);
        drawing->y[drawing->count] = at_y + x * sin(turn) + y * cos(turn);
        drawing->starts[drawing->count++] = starts;
        starts = false;
        at++;
    }
}

/* The distance of a point from the segment that ends at point i. */
static double distance(const struct drawing *drawing, int i, double x, double y)
{
    const double dx = drawing->x[i] - drawing->x[i - 1], dy = drawing->y[i] - drawing->y[i - 1];
    const double length = dx * dx + dy * dy + 1e-9;
    double along = ((x - drawing->x[i - 1]) * dx + (y - drawing->y[i - 1]) * dy) / length;
    along = along < 0 ? 0 : along > 1 ? 1 : along;
    return hypot(x - drawing->x[i - 1] - along * dx, y - drawing->y[i - 1] - along * dy);
}

static void draw(int digit, struct gw_rng *rng, uint8_t *pixels)
{
    struct drawing drawing;
    place(&drawing, digit, rng);
    const double half = between(rng, 0.6, 1.6);
    for (int y = 0; y < DIGITS_SIDE; y++)
        for (int x = 0; x < DIGITS_SIDE; x++) {
            double nearest = DIGITS_SIDE;
            for (int i = 1; i < drawing.count; i++)
                if (!drawing.starts[i])
                    nearest = fmin(nearest, distance(&drawing, i, x, y));
            const double ink = 255 * fmax(0, fmin(1, half + 0.5 - nearest)) + between(rng, 0, 20);
            pixels[y * DIGITS_SIDE + x] = (uint8_t)fmin(255, ink);
        }
}

int digits_images_draw(uint64_t seed, size_t count, struct digits_images *images,
                       struct gw_error *error)
{
    struct gw_rng rng;
    *images = (struct digits_images){0};
    const int rc = allocate(images, count, error);
    if (rc < 0) {
        digits_images_deinit(images);
        return rc;
    }
    gw_rng_init(&rng, seed);
    for (size_t i = 0; i < count; i++) {
        images->labels[i] = (uint8_t)gw_rng_below(&rng, DIGITS_CLASSES);
        draw(images->labels[i], &rng, images->pixels + i * DIGITS_PIXELS);
    }
    (void)snprintf(images->source, sizeof images->source, "drawn by this program");
    return 0;
}

int digits_images_load(const char *folder, struct digits_images *images, struct gw_error *error)
{
    *images = (struct digits_images){0};
    if (folder && *folder) {
        const int rc = load_folder(folder, images, error);
        if (rc < 0)
            digits_images_deinit(images);
        return rc;
    }
    const int rc = digits_images_draw(DRAWN_SEED, DRAWN_TRAIN + DRAWN_HELD_OUT, images, error);
    images->train = DRAWN_TRAIN;
    return rc;
}
