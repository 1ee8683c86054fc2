/* cubin.c: see cubin.h. Registers are in the section .nv.info, or in the upper byte of the field
 * `info` of the kernel's own section; stacks in .nv.info; shared memory is the size of a section.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/cubin.h"
#include <elf.h>
#include <string.h>

enum { EM_GPU = 190, ATTR_FRAME_SIZE = 0x11, ATTR_MIN_STACK_SIZE = 0x12, ATTR_REGISTERS = 0x2f };
enum { RESERVED = 1 << 10 }; /* shared memory of a block that the system takes */

typedef struct Elf {
    const uint8_t *data;
    size_t bytes;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *section;
    const char *names;
    size_t names_bytes;
} Elf;

size_t cubin_bytes(const void *image) {
    const Elf64_Ehdr *h = image;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64) return 0;
    uint64_t most = h->e_shoff + (uint64_t)h->e_shnum * sizeof(Elf64_Shdr),
             programs = h->e_phoff + (uint64_t)h->e_phnum * sizeof(Elf64_Phdr);
    return programs > most ? programs : most;
}

static bool holds(const Elf *e, uint64_t at, uint64_t n) {
    return at <= e->bytes && n <= e->bytes - at;
}
static bool open_elf(Elf *e) {
    e->head = (const void *)e->data;
    if (e->bytes < sizeof *e->head || !cubin_bytes(e->data) || e->head->e_machine != EM_GPU ||
        e->head->e_shentsize != sizeof(Elf64_Shdr) || e->head->e_shstrndx >= e->head->e_shnum ||
        !holds(e, e->head->e_shoff, (uint64_t)e->head->e_shnum * sizeof(Elf64_Shdr)))
        return false;
    e->section = (const void *)(e->data + e->head->e_shoff);
    const Elf64_Shdr *names = &e->section[e->head->e_shstrndx];
    if (!holds(e, names->sh_offset, names->sh_size) || !names->sh_size) return false;
    e->names = (const char *)e->data + names->sh_offset;
    e->names_bytes = names->sh_size;
    return e->names[e->names_bytes - 1] == 0;
}
static const char *name_of(const Elf *e, const Elf64_Shdr *s) {
    return s->sh_name < e->names_bytes ? e->names + s->sh_name : "";
}
static const Elf64_Shdr *find(const Elf *e, const char *prefix, const char *name) {
    size_t n = strlen(prefix);
    for (int k = 0; k < e->head->e_shnum; k++) {
        const char *text = name_of(e, &e->section[k]);
        if (!strncmp(text, prefix, n) && !strcmp(text + n, name)) return &e->section[k];
    }
    return NULL;
}

/* The kernel of a symbol; NULL: it is another's. */
static CubinKernel *kernel_of(const Elf *e, Cubin *out, uint32_t symbol) {
    const Elf64_Shdr *table = find(e, ".symtab", ""), *names = find(e, ".strtab", "");
    if (!table || !names || !holds(e, table->sh_offset, table->sh_size) ||
        !holds(e, names->sh_offset, names->sh_size) || !names->sh_size)
        return NULL;
    const Elf64_Sym *all = (const void *)(e->data + table->sh_offset);
    const char *text = (const char *)e->data + names->sh_offset;
    if (symbol >= table->sh_size / sizeof *all || all[symbol].st_name >= names->sh_size ||
        text[names->sh_size - 1])
        return NULL;
    for (int k = 0; k < out->n; k++)
        if (!strcmp(out->kernel[k].name, text + all[symbol].st_name)) return &out->kernel[k];
    return NULL;
}

/* .nv.info is a row of attributes: a format, a name, and a value of 16 bits, or its size. Of format
 * 4 those that are wanted are a symbol and a number. */
static bool read_info(const Elf *e, Cubin *out) {
    const Elf64_Shdr *info = find(e, ".nv.info", "");
    if (!info) return true;
    if (!holds(e, info->sh_offset, info->sh_size)) return false;
    const uint8_t *p = e->data + info->sh_offset, *end = p + info->sh_size;
    while (end - p >= 4) {
        uint16_t size;
        uint32_t value[2];
        uint8_t format = p[0], attribute = p[1];
        memcpy(&size, p + 2, sizeof size);
        p += 4;
        if (format != 4) continue;
        if (size > end - p) return false;
        if (size == sizeof value) {
            memcpy(value, p, sizeof value);
            CubinKernel *k = kernel_of(e, out, value[0]);
            int n = (int)value[1];
            if (k && attribute == ATTR_REGISTERS) k->registers = n;
            if (k && (attribute == ATTR_FRAME_SIZE || attribute == ATTR_MIN_STACK_SIZE) &&
                n > k->stack_bytes)
                k->stack_bytes = n;
        }
        p += size;
    }
    return true;
}

bool cubin_read(const void *image, size_t bytes, Cubin *out) {
    Elf e = {.data = image, .bytes = bytes};
    memset(out, 0, sizeof *out);
    if (!open_elf(&e)) return false;
    /* The architecture is in the second byte of the flags since CUDA 13, in the first before. */
    int flags = (int)e.head->e_flags;
    out->capability = e.head->e_ident[EI_ABIVERSION] >= 8 ? flags >> 8 & 255 : flags & 255;
    for (int i = 0; i < e.head->e_shnum; i++) {
        const Elf64_Shdr *s = &e.section[i];
        const char *name = name_of(&e, s);
        if (strncmp(name, ".text.", 6)) continue;
        if (out->n == CUBIN_KERNELS || strlen(name + 6) >= CUBIN_NAME) return false;
        CubinKernel *k = &out->kernel[out->n++];
        strcpy(k->name, name + 6);
        k->registers = (int)(s->sh_info >> 24);
        const Elf64_Shdr *shared = find(&e, ".nv.shared.", k->name);
        if (shared) k->shared_bytes = (int)shared->sh_size;
        /* From sm_90 on the section begins with what the system takes of each block. */
        if (out->capability >= 90 && k->shared_bytes >= RESERVED) k->shared_bytes -= RESERVED;
    }
    return out->n > 0 && read_info(&e, out);
}

/* ---- Occupancy ---- */

/* Per processor, by NVIDIA's table of compute capabilities. */
static const struct {
    int capability, warps, blocks, shared_bytes;
} limits[] = {{80, 64, 32, 164 << 10},
              {90, 64, 32, 228 << 10},
              {100, 64, 32, 228 << 10},
              {120, 48, 24, 100 << 10}};

static int least(int a, int b) { return a < b ? a : b; }

double cubin_occupancy(int capability, const CubinKernel *k, int threads, int dynamic_bytes) {
    enum { REGISTERS = 1 << 16, PER_WARP = 256, PARTS = 4, PIECE = 128 };
    int at = 0, n = (int)(sizeof limits / sizeof *limits);
    while (at < n && limits[at].capability != capability) at++;
    if (at == n || threads < 1) return 0;
    int warps = (threads + 31) / 32, blocks = least(limits[at].blocks, limits[at].warps / warps);
    if (k->registers) {
        /* Each of four parts of a processor has a quarter of the registers, for whole warps. */
        int of_warp = (32 * k->registers + PER_WARP - 1) / PER_WARP * PER_WARP;
        blocks = least(blocks, REGISTERS / PARTS / of_warp * PARTS / warps);
    }
    int shared = (k->shared_bytes + dynamic_bytes + RESERVED + PIECE - 1) / PIECE * PIECE;
    blocks = least(blocks, limits[at].shared_bytes / shared);
    return (double)(blocks * warps) / limits[at].warps;
}
