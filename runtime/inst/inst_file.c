/* inst_file.c: see inst_file.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/inst_file.h"
#include "runtime/base/sha256.h"
#include "runtime/inst/beside.h"
#include "runtime/inst/gtb.h"
#include "runtime/inst/inst_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW = 64,                /* elements written as decimals */
    LARGE = 1 << 20,         /* bytes of elements */
    RECORD_BYTES = 1u << 31, /* of elements in a binary record */
};

struct InstFile {
    InstFileConfig config;
    GtbWriter *binary; /* NULL: text */
    Beside *beside;    /* NULL: nothing was stored yet */
    bool is_full, is_full_told, is_broken;
    int error; /* errno of the failed write */
    Err full;
    Bytes line;
};

InstFile *inst_file_new(const InstFileConfig *config) {
    InstFile *f = xcalloc(1, sizeof *f);
    f->config = *config;
    if (config->is_binary) f->binary = gtb_writer_new();
    return f;
}

static void flush_line(InstFile *f) {
    if (!f->is_broken && fwrite(f->line.data, 1, f->line.n, f->config.to) != f->line.n)
        f->is_broken = true, f->error = errno;
    f->line.n = 0;
}

void inst_file_text(InstFile *f, const char *line, size_t n) {
    if (f->binary) {
        gtb_put_text(f->binary, line, n, &f->line);
    } else {
        bytes_add(&f->line, line, n);
        bytes_putc(&f->line, '\n');
    }
    flush_line(f);
}

static bool is_large(const InstFile *f, const Inst *in) {
    const Attr *dtype = inst_attr(in, ATTR_DTYPE);
    size_t width =
        dtype && dtype->dtype < DT_COUNT ? (size_t)dtype_info[dtype->dtype].size_bytes : 1;
    switch (f->config.payloads) {
    case PAYLOADS_LARGE: return in->payload_bytes > LARGE;
    case PAYLOADS_FILES:
    case PAYLOADS_NONE: return in->payload_bytes / width > FEW;
    case PAYLOADS_INLINE: break;
    }
    return f->binary && in->payload_bytes >= RECORD_BYTES;
}

static bool keep(InstFile *f, const Inst *in, InstBeside *out) {
    InstPayloads how = f->config.payloads;
    if (f->is_full || !f->config.path || (how != PAYLOADS_LARGE && how != PAYLOADS_FILES))
        return false;
    if (!f->beside) f->beside = beside_new(f->config.path);
    f->is_full = !beside_keep(f->beside, in->payload, in->payload_bytes, out, &f->full);
    return !f->is_full;
}

/* The line without its elements. */
static InstLine elide(const InstLine *line, Attr *attr, char *hex) {
    InstLine out = *line;
    Inst *in = &out.inst;
    sha256_hex(in->payload, in->payload_bytes, hex);
    if (in->n_attr) memcpy(attr, in->attr, in->n_attr * sizeof *attr);
    attr[in->n_attr++] = (Attr){.key = ATTR_ELIDED, .b = true};
    attr[in->n_attr++] = (Attr){.key = ATTR_SHA256, .n = 64, .str = hex};
    in->attr = attr;
    in->payload = NULL, in->payload_bytes = 0;
    return out;
}

static void put(InstFile *f, const InstLine *line, const InstBeside *beside) {
    if (f->binary) {
        gtb_put(f->binary, line, beside, &f->line);
    } else {
        SrcPos pos = line->inst.pos;
        InstPrint how = {.payload_packed = line->inst.op == OP_DATA,
                         .beside = beside,
                         .out = line->has_types ? line->types : NULL};
        inst_print(&line->inst, &how, &f->line);
        if (line->file && pos.line) inst_put_position(&f->line, line->file, pos, pos.col > 0);
        if (line->n_comment) {
            bytes_putc(&f->line, ' ');
            bytes_add(&f->line, line->comment, line->n_comment);
        }
        bytes_putc(&f->line, '\n');
    }
    flush_line(f);
}

void inst_file_put(InstFile *f, const InstLine *line) {
    InstBeside beside;
    Attr attr[MAX_ATTRS + 2];
    char hex[65];
    if (line->inst.op != OP_DATA || !is_large(f, &line->inst)) {
        put(f, line, NULL);
    } else if (keep(f, &line->inst, &beside)) {
        put(f, line, &beside);
    } else {
        InstLine without = elide(line, attr, hex);
        put(f, &without, NULL);
    }
}

void inst_file_flush(InstFile *f) {
    if (!f->is_broken && fflush(f->config.to) != 0) f->is_broken = true, f->error = errno;
}

const char *inst_file_beside(const InstFile *f) {
    return f->beside ? beside_path(f->beside) : NULL;
}

bool inst_file_take_error(InstFile *f, Err *err) {
    if (!f->is_full || f->is_full_told) return false;
    *err = f->full;
    return f->is_full_told = true;
}

bool inst_file_free(InstFile **fp, Err *err) {
    InstFile *f = *fp;
    *fp = NULL;
    if (!f) return true;
    inst_file_flush(f);
    bool ok = !f->is_broken ||
              err_set(err, ERR_IO, "the instructions could not be written: %s", strerror(f->error));
    gtb_writer_free(&f->binary);
    beside_free(&f->beside);
    bytes_fini(&f->line);
    free(f);
    return ok;
}
