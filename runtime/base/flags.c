/* flags.c: see flags.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/flags.h"
#include "runtime/base/near.h"
#include "runtime/base/version.h"
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FLAGS_END = -1, FLAGS_ERROR = -2 };

static int unknown(const char *word, const Flag *flag, int n, Err *err) {
    const char *name[FLAGS_MAX], *bare = word + strspn(word, "-");
    size_t names = 0;
    for (int i = 0; i < n; i++)
        if (flag[i].kind != FLAG_ARGS) name[names++] = flag[i].name;
    const char *near = nearest_name(bare, strcspn(bare, "="), name, names);
    err_set(err, ERR_ARG, "unknown option '%.60s'", word);
    if (near)
        err_hint(err, "did you mean '--%s'?", near);
    else
        err_hint(err, "--help lists the options");
    return FLAGS_ERROR;
}

/* The row of arguments that are not flags, or NULL. */
static const Flag *args_row(const Flag *flag, int n) {
    for (int i = 0; i < n; i++)
        if (flag[i].kind == FLAG_ARGS) return &flag[i];
    return NULL;
}

/* The next flag's index and its value (NULL if it takes none), or FLAGS_END or FLAGS_ERROR. */
static int next(int argc, char **argv, const Flag *flag, int n, const char **value, Err *err) {
    struct option row[FLAGS_MAX + 1] = {0};
    char letters[3 * FLAGS_MAX + 2] = ":";
    size_t at = 1;
    const Flag *rest = args_row(flag, n);
    assert(n <= FLAGS_MAX);
    for (int i = 0; i < n; i++) {
        if (&flag[i] == rest) {
            row[i] = (struct option){"", no_argument, NULL, 256 + i};
            continue;
        }
        bool takes = flag[i].value[0] != '\0';
        row[i] =
            (struct option){flag[i].name, takes ? required_argument : no_argument, NULL, 256 + i};
        if (!flag[i].letter) continue;
        letters[at++] = flag[i].letter;
        if (takes) letters[at++] = ':';
    }
    letters[at] = '\0';
    opterr = 0;
    int before = optind, got = getopt_long(argc, argv, letters, row, NULL);
    *value = optarg;
    /* getopt has moved what it skipped behind the flag. */
    int at_word = rest && optind > before ? optind - 1 : before;
    const char *word = argv[at_word < argc ? at_word : argc - 1];
    if (got == ':') {
        err_set(err, ERR_ARG, "%.60s needs a value", word);
        return FLAGS_ERROR;
    }
    if (got == '?') return unknown(word, flag, n, err);
    if (got >= 256) { /* getopt_long takes the start of a name for it */
        word = argv[optind - (optarg && optarg == argv[optind - 1] ? 2 : 1)];
        const char *name = flag[got - 256].name;
        size_t len = strcspn(word + 2, "=");
        if (strlen(name) == len && !memcmp(word + 2, name, len)) return got - 256;
        err_set(err, ERR_ARG, "unknown option '%.60s'", word);
        err_hint(err, "did you mean '--%s'?", name);
        return FLAGS_ERROR;
    }
    for (int i = 0; got != -1 && i < n; i++)
        if (flag[i].letter == got) return i;
    if (optind < argc && !rest) {
        err_set(err, ERR_ARG, "unexpected argument '%.60s': there are only options", argv[optind]);
        return FLAGS_ERROR;
    }
    return FLAGS_END;
}

static void help(const char *program, const Flag *flag, int n) {
    const Flag *rest = args_row(flag, n);
    printf("usage: %s [options]%s%s\n\n", program, rest ? " " : "", rest ? rest->value : "");
    for (int i = 0; i < n; i++) {
        if (&flag[i] == rest) continue;
        char left[64], letter[8] = "   ";
        if (flag[i].letter) snprintf(letter, sizeof letter, "-%c,", flag[i].letter);
        snprintf(left, sizeof left, "%s --%s%s%s", letter, flag[i].name,
                 flag[i].value[0] ? "=" : "", flag[i].value);
        printf("  %-30s %s\n", left, flag[i].help);
    }
}

static bool take(const Flag *f, const char *value, Err *err) {
    char what[64];
    int64_t v;
    snprintf(what, sizeof what, "--%s", f->name);
    switch (f->kind) {
    case FLAG_SET: return *(bool *)f->to = true;
    case FLAG_TEXT: *(const char **)f->to = value; return true;
    case FLAG_INT:
        TRY(flag_int(what, value, f->least, f->most, &v, err));
        *(int *)f->to = (int)v;
        return true;
    default: return flag_bytes(what, value, f->to, err);
    }
}

/* What is left when getopt is at the end. */
static bool take_args(const Flag *row, int argc, char **argv, Err *err) {
    if (!row) return true;
    FlagArgs *args = row->to;
    *args = (FlagArgs){argv + optind, argc - optind};
    if (args->n < row->least)
        return err_set(err, ERR_ARG, "an argument is missing: %s", row->value);
    if (args->n > row->most)
        return err_set(err, ERR_ARG, "unexpected argument '%.60s'", args->at[row->most]);
    return true;
}

int flags_read(const char *program, int argc, char **argv, const Flag *flag, int n, Err *err) {
    const char *value;
    bool given[FLAGS_MAX] = {0};
    int k;
    while ((k = next(argc, argv, flag, n, &value, err)) >= 0) {
        if (flag[k].kind == FLAG_HELP) return help(program, flag, n), 0;
        if (flag[k].kind == FLAG_VERSION) return printf("%s %s\n", program, gt_version), 0;
        if (flag[k].kind == FLAG_TEXT && given[k]) /* of numbers, the last one counts */
            return err_set(err, ERR_ARG, "--%s is given twice", flag[k].name), FLAGS_USAGE;
        given[k] = true;
        if (!take(&flag[k], value, err)) return FLAGS_USAGE;
    }
    if (k == FLAGS_ERROR) return FLAGS_USAGE;
    return take_args(args_row(flag, n), argc, argv, err) ? -1 : FLAGS_USAGE;
}

bool flag_int(const char *what, const char *s, int64_t least, int64_t most, int64_t *out,
              Err *err) {
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end == s || *end || errno || v < least || v > most)
        return err_set(err, ERR_ARG, "%s needs a whole number from %lld to %lld, not '%.60s'", what,
                       (long long)least, (long long)most, s);
    *out = v;
    return true;
}

bool flag_bytes(const char *what, const char *s, uint64_t *out, Err *err) {
    static const char unit[] = "KMGT";
    char *end;
    double v = strtod(s, &end);
    const char *u = *end ? strchr(unit, *end >= 'a' ? *end - 32 : *end) : NULL;
    if (u && *u) {
        for (long k = 0; k <= u - unit; k++) v *= 1024;
        end++;
        if (*end == 'i') end++;
    }
    if (*end == 'B' || *end == 'b') end++;
    if (end == s || *end || !(v >= 1 << 20) || v > 1e15)
        return err_set(err, ERR_ARG,
                       "%s needs a size of at least 1M, such as 512M or 4G, not '%.60s'", what, s);
    *out = (uint64_t)v;
    return true;
}

const char *flag_engine_hint(const char *name) {
    static const char *const device[] = {"gpu", "cuda", "hip", "rocm", "metal", "mps", "tpu"};
    for (size_t k = 0; k < sizeof device / sizeof *device; k++)
        if (!strncasecmp(name, device[k], strlen(device[k])))
            return "an NVIDIA GPU is the engine cuda; there is none for other devices";
    return "auto, cpu, cuda or reference";
}
