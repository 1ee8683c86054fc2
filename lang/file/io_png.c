/* io_png.c: reads and writes PNG by libpng. Grey is (H, W), grey with alpha (H, W, 2), RGB and RGBA
 * (H, W, 3) and (H, W, 4). Palettes and transparent colours are expanded; samples of other widths
 * become 8 bits. Gamma and colour profiles are ignored. libpng reports errors by longjmp: each use
 * of it is one function with one setjmp, and the caller owns its state.
 * SPDX-License-Identifier: MIT */
#include "lang/error/interrupt.h"
#include "lang/file/io_png.h"
#include "lang/file/io_element.h"
#include "lang/file/io_format.h"
#include "lang/file/io_pnm.h"
#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 1000 * 1000, MAX_CHUNK_BYTES = 16 << 20, MAX_CHUNKS = 1000, MAX_RATIO = 1032 };

static void on_error(png_structp png, png_const_charp what) {
    err_set(png_get_error_ptr(png), ERR_PARSE, "the PNG data are damaged: %.200s", what);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp what) {}

/* ---- Reading ---- */

typedef struct Job {
    png_structp png;
    png_infop info;
    Buf *in, *out; /* out: one reference; NULL until the size is verified */
    size_t at;
    png_bytep *row;
    int64_t height, width, channels;
    Err *err;
} Job;

static void on_read(png_structp png, png_bytep to, size_t n) {
    Job *j = png_get_io_ptr(png);
    if (interrupt_count) png_error(png, "interrupted");
    if (n > j->in->n - j->at) png_error(png, "they end too soon");
    memcpy(to, j->in->data + j->at, n);
    j->at += n;
}

static void expand(png_structp png, png_infop info) {
    png_set_expand(png); /* palettes, fewer than 8 bits, tRNS */
    png_set_scale_16(png);
    (void)png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

static bool has_honest_size(const Job *j, uint64_t stored, uint64_t expanded) {
    uint64_t limit = io_inflate_limit(j->in->n);
    if (stored / MAX_RATIO > j->in->n)
        return err_set(j->err, ERR_PARSE,
                       "a picture of %" PRId64 " x %" PRId64 " does not fit a file of %zu bytes",
                       j->width, j->height, j->in->n);
    return expanded <= limit ||
           err_set(j->err, ERR_LIMIT, "a picture of %" PRIu64 " MiB from %zu bytes is too large",
                   expanded >> 20, j->in->n);
}

static bool run_read(Job *j) {
    if (setjmp(png_jmpbuf(j->png))) return false;
    png_set_read_fn(j->png, j, on_read);
    png_set_user_limits(j->png, MAX_SIDE, MAX_SIDE);
    png_set_chunk_malloc_max(j->png, MAX_CHUNK_BYTES);
    png_set_chunk_cache_max(j->png, MAX_CHUNKS);
    png_read_info(j->png, j->info);
    j->width = png_get_image_width(j->png, j->info);
    j->height = png_get_image_height(j->png, j->info);
    uint64_t stored = (uint64_t)png_get_rowbytes(j->png, j->info) * (uint64_t)j->height;
    expand(j->png, j->info);
    j->channels = png_get_channels(j->png, j->info);
    size_t row = png_get_rowbytes(j->png, j->info);
    if (png_get_bit_depth(j->png, j->info) != 8 || row != (size_t)(j->width * j->channels))
        png_error(j->png, "its samples cannot be made bytes");
    TRY(has_honest_size(j, stored, (uint64_t)row * (uint64_t)j->height));
    j->out = buf_new(row * (size_t)j->height + 1);
    j->out->n = row * (size_t)j->height;
    j->row = xcalloc((size_t)j->height, sizeof *j->row);
    for (int64_t i = 0; i < j->height; i++) j->row[i] = j->out->data + (size_t)i * row;
    png_read_image(j->png, j->row);
    png_read_end(j->png, NULL);
    return true;
}

bool png_decode(Buf *bytes, IoValue *out, Err *err) {
    if (bytes->n < 8 || png_sig_cmp(bytes->data, 0, 8))
        return err_set(err, ERR_PARSE, "this is no .png file: its first bytes are not PNG's");
    Err own = {0};
    Job j = {.in = bytes, .err = err ? err : &own};
    j.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, j.err, on_error, on_warning);
    if (j.png) j.info = png_create_info_struct(j.png);
    bool ok = j.info ? run_read(&j) : err_set(err, ERR_MEMORY, "cannot start libpng");
    png_destroy_read_struct(&j.png, &j.info, NULL);
    int64_t shape[3] = {j.height, j.width, j.channels};
    int rank = j.channels == 1 ? 2 : 3;
    ok = ok && io_tensor(out, shape, rank, EL_U8, false, j.out, j.out->data, err);
    free(j.row);
    buf_unref(&j.out);
    return ok;
}

/* ---- Writing ---- */

static void on_write(png_structp png, png_bytep from, size_t n) {
    io_put_bytes(png_get_io_ptr(png), from, n);
}

static void on_flush(png_structp png) { (void)png; }

static bool run_write(png_structp png, png_infop info, IoSink *s, const TensorType *t,
                      const uint8_t *sample) {
    static const int color[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    size_t channels = t->rank == 3 ? (size_t)t->shape[2] : 1, row = (size_t)t->shape[1] * channels;
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_write_fn(png, s, on_write, on_flush);
    png_set_IHDR(png, info, (png_uint_32)t->shape[1], (png_uint_32)t->shape[0], 8, color[channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int64_t i = 0; i < t->shape[0]; i++) {
        meanwhile();
        if (interrupt_count) png_error(png, "interrupted");
        png_write_row(png, sample + (size_t)i * row);
    }
    png_write_end(png, NULL);
    return true;
}

bool png_encode(IoSink *s, const IoItem *item, Err *err) {
    uint8_t *made;
    const uint8_t *sample = io_picture(item, "1234", &made, err);
    if (!sample) return false;
    if (item->type.shape[0] > MAX_SIDE || item->type.shape[1] > MAX_SIDE) {
        free(made);
        return err_set(err, ERR_LIMIT, "a PNG has at most %d rows and columns here", MAX_SIDE);
    }
    Err own = {0};
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, err ? err : &own, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool ok = info ? run_write(png, info, s, &item->type, sample)
                   : err_set(err, ERR_MEMORY, "cannot start libpng");
    png_destroy_write_struct(&png, &info);
    free(made);
    return ok;
}
