/* options.c: parses argv and the environment into Options; rows and help texts are in options.def.
 * Options end at the script's name (with -c, -p and --replay: at the first word that is not an
 * option) or at `--`; the rest belongs to the script.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/options.h"
#include "lang/error/habit.h"
#include "runtime/base/env.h"
#include "runtime/base/flags.h"
#include "runtime/inst/tape.h"
#include "runtime/wire/wire_hash.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct OptionRow {
    char letter;
    const char *name, *value, *help;
    size_t field; /* in Options, or 0: see set_value */
} rows[OPTION_COUNT] = {
#define FIELD(name) offsetof(Options, name)
#define OPTION(id, letter, name, value, field, help)                                               \
    [OPTION_##id] = {letter, name, value, help, field},
#include "lang/shell/options.def"
};

#define BIT(id) (UINT64_C(1) << OPTION_##id)

void options_help(Bytes *out) {
    bytes_puts(out, "usage: gtsh [options] [script.gt | program.gti | -] [arguments]\n"
                    "Without a script: the prompt on a terminal, otherwise a program from standard "
                    "input.\n\n");
    for (int k = 0; k < OPTION_COUNT; k++) {
        const struct OptionRow *r = &rows[k];
        char left[64], letter[8] = "   ";
        if (r->letter) snprintf(letter, sizeof letter, "-%c%s", r->letter, r->name[0] ? "," : " ");
        bool equals = r->name[0] && r->value[0] && r->value[0] != '[';
        snprintf(left, sizeof left, "%s %s%s%s%s", letter, r->name[0] ? "--" : "", r->name,
                 equals ? "=" : "", r->value);
        bytes_printf(out, "  %-26s %s\n", left, r->help);
    }
    bytes_puts(out,
               "\nexit codes: 0 success, 1 error in the script, 2 usage, 65 syntax, 66 no input, "
               "69 dispatcher or worker gone,\n"
               "78 configuration, 130 interrupted; exit(n) gives n\n");
}

#define usage(e, ...) (error_usage(e, __VA_ARGS__), error_hint(e, "gtsh --help lists the options"))

/* ---- values ---- */

static bool whole(const char *what, const char *s, uint64_t least, uint64_t most, uint64_t *out,
                  LangError *e) {
    char *end;
    errno = 0;
    *out = strtoull(s, &end, 10);
    bool is_number = end != s && !*end && s[0] != '-';
    if (is_number && (errno || *out > most))
        return usage(e, "%s is at most %llu, got '%.100s'", what, (unsigned long long)most, s);
    if (!is_number || *out < least)
        return usage(e, "%s needs a whole number from %llu on, got '%.100s'", what,
                     (unsigned long long)least, s);
    return true;
}

static bool size(const char *what, const char *s, uint64_t *out, LangError *e) {
    Err err = {0};
    return flag_bytes(what, s, out, &err) || usage(e, "%s", err.text);
}

static bool count(const char *what, const char *s, int *out, LangError *e) {
    uint64_t n;
    TRY(whole(what, s, 1, 1024, &n, e));
    *out = (int)n;
    return true;
}

/* Sets *out to our name of the engine; names of the original's backends are accepted. */
static bool engine(const char *what, const char *s, const char **out, LangError *e) {
    static const char *const known[][2] = {
        {"auto", "auto"}, {"cpu", "cpu"},         {"reference", "reference"},
        {"null", "null"}, {"numpy", "reference"}, {"pytorch", "cpu"},
        {"torch", "cpu"}, {"late", "late"},       {"cuda", "cuda"}};
    enum { N = sizeof known / sizeof known[0] };
    const char *names[N];
    for (int k = 0; k < N; k++) {
        names[k] = known[k][0];
        if (!strcmp(s, known[k][0])) {
            *out = known[k][1];
            return true;
        }
    }
    const char *near = nearest_name(s, strlen(s), names, 3), *hint = flag_engine_hint(s);
    usage(e, "%s: there is no engine '%.100s'", what, s);
    if (near && !strncmp(hint, "auto", 4)) return error_hint(e, "did you mean '%s'?", near);
    return error_hint(e, "%s", hint);
}

static bool when(const char *s, int *out, LangError *e) {
    if (!strcmp(s, "auto"))
        *out = -1;
    else if (!strcmp(s, "always") || !strcmp(s, "yes"))
        *out = 1;
    else if (!strcmp(s, "never") || !strcmp(s, "no"))
        *out = 0;
    else
        return usage(e, "--color is auto, always or never, got '%.100s'", s);
    return true;
}

static bool letters(const char *what, const char *s, const char **out, LangError *e) {
    size_t n = strspn(s, "taigwskm");
    if (s[n]) return usage(e, "%s: there is no letter '%c'", what, s[n]);
    *out = s;
    return true;
}

/* Sets *out to the place of v among the n words. */
static bool one_of(const char *what, const char *v, const char *const *word, int n, int *out,
                   LangError *e) {
    char list[80] = "";
    for (*out = 0; *out < n; ++*out)
        if (!strcmp(v, word[*out])) return true;
    for (int i = 0; i < n; i++) {
        const char *between = i == 0 ? "" : i + 1 < n ? ", " : " or ";
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%s", between, word[i]);
    }
    return usage(e, "%s is %s, got '%.100s'", what, list, v);
}

bool options_output(const char *what, const char *word, OutputForm *out, LangError *e) {
    static const char *const words[] = {[OUTPUT_PLAIN] = "plain",
                                        [OUTPUT_JSON] = "json",
                                        [OUTPUT_CSV] = "csv",
                                        [OUTPUT_NPY] = "npy"};
    int k;
    TRY(one_of(what, word, words, sizeof words / sizeof *words, &k, e));
    *out = (OutputForm)k;
    return true;
}

/* max, or a factor such as 1x or 0.5. */
static bool speed(const char *what, const char *v, double *out, LangError *e) {
    char *end;
    *out = 0;
    if (!strcmp(v, "max")) return true;
    *out = strtod(v, &end);
    if (end != v && *end == 'x') end++;
    if (end != v && !*end && *out >= 1e-6 && *out <= 1e6) return true;
    return usage(e, "%s is max or a factor such as 1x, got '%.100s'", what, v);
}

static bool set_replay(Options *o, OptionId id, const char *what, const char *v, LangError *e) {
    static const char *const forms[] = {"text", "binary"}, *const where[] = {"inline", "files",
                                                                             "none"};
    static const InstPayloads payloads[] = {PAYLOADS_INLINE, PAYLOADS_FILES, PAYLOADS_NONE};
    static const char *const with[] = {"zeros", "randn"};
    int k = 0;
    switch (id) {
    case OPTION_EMIT:
        o->emit = true;
        if (v && !one_of(what, v, forms, 2, &k, e)) return false;
        o->emit_binary = k == 1;
        return true;
    case OPTION_TEE: o->tee = v; return true;
    case OPTION_PAYLOADS:
        if (!one_of(what, v, where, 3, &k, e)) return false;
        o->payloads = payloads[k];
        return true;
    case OPTION_VERIFY: o->verify = true; return true;
    case OPTION_DRY: o->dry = true; return true;
    case OPTION_UPTO: return whole(what, v, 1, INT64_MAX, &o->upto, e);
    case OPTION_SPEED: return speed(what, v, &o->speed, e);
    case OPTION_FILL:
        if (!one_of(what, v, with, 2, &k, e)) return false;
        o->fill = k ? FILL_RANDN : FILL_ZEROS;
        return true;
    default: return false;
    }
}

static bool add_word(const char ***list, int *n, const char *v) {
    *list = xrealloc(*list, (size_t)(*n + 1) * sizeof **list);
    (*list)[(*n)++] = v;
    return true;
}

void options_fini(Options *o) {
    free(o->bind);
    free(o->out);
    o->bind = o->out = NULL;
    o->n_bind = o->n_out = 0;
}

static bool hashing(const char *s, uint8_t *out, LangError *e) {
    Err err = {0};
    return watch_hashing(s, out, &err) || usage(e, "%s", err.text);
}

/* Options that a running dispatcher cannot change. */
#define OF_CLUSTER (BIT(WORKERS) | BIT(THREADS) | BIT(ENGINE) | BIT(MEMORY) | BIT(HASH))
/* Options that may stand once. Of others, such as -w, the last one counts. */
#define ONCE (BIT(CODE) | BIT(PRINT) | BIT(REPLAY) | BIT(CONFIG) | BIT(CLIENT) | BIT(TEE))

/* what: the option's name for messages. */
static bool set_value(Options *o, OptionId id, const char *what, const char *v, LangError *e) {
    void *field = (char *)o + rows[id].field;
    if (rows[id].field && !rows[id].value[0]) return *(bool *)field = true;
    switch (id) {
    case OPTION_FORMAT: return options_output(what, v, &o->output, e);
    case OPTION_WORKERS: return count(what, v, &o->workers, e);
    case OPTION_THREADS: return count(what, v, &o->threads, e);
    case OPTION_ENGINE: return engine(what, v, &o->engine, e);
    case OPTION_MEMORY: return size(what, v, &o->memory_bytes, e);
    case OPTION_DETERMINISTIC: return true;
    case OPTION_PROFILE:
        o->profile = true;
        o->profile_file = v;
        return !v || *v || usage(e, "--profile= needs the name of a file");
    case OPTION_SEED: return whole(what, v, 0, INT64_MAX, &o->seed, e);
    case OPTION_HASH: return hashing(v, &o->hashing, e);
    case OPTION_EMIT_STEP: return o->emit = o->emit_step = true;
    case OPTION_CLIENT:
        o->client = tape_client(v, strlen(v));
        return o->client > 0 ||
               usage(e, "--client names one as tapes do, such as c1, got '%.100s'", v);
    case OPTION_BIND: return add_word(&o->bind, &o->n_bind, v);
    case OPTION_TIMES: return whole(what, v, 1, INT64_MAX, &o->times, e);
    case OPTION_OUT: return add_word(&o->out, &o->n_out, v);
    case OPTION_COLOR: return when(v, &o->color, e);
    case OPTION_DEBUG: return letters(what, v, &o->debug, e);
    default: break;
    }
    if (!rows[id].field) return set_replay(o, id, what, v, e);
    *(const char **)field = v;
    return true;
}

/* "--workers" or "-c" in what[32]. */
static const char *option_text(OptionId id, char *what) {
    const struct OptionRow *r = &rows[id];
    snprintf(what, 32, r->name[0] ? "--%s" : "-%.1s", r->name[0] ? r->name : &r->letter);
    return what;
}

static bool set(Options *o, OptionId id, const char *v, LangError *e) {
    uint64_t bit = UINT64_C(1) << id;
    char what[32];
    option_text(id, what);
    if (o->given & bit & ONCE) return usage(e, "%s is given twice", what);
    o->given |= bit;
    if (bit & OF_CLUSTER) o->own = rows[id].name;
    return set_value(o, id, what, v, e);
}

/* ---- parsing ---- */

/* The first later word that is a program's path, or NULL. */
static const char *later_script(int argc, char **argv, int i) {
    for (; i < argc; i++) {
        size_t n = strlen(argv[i]);
        if (argv[i][0] != '-' && n > 3 && !strcmp(argv[i] + n - 3, ".gt")) return argv[i];
    }
    return NULL;
}

static bool unknown(const Options *o, int argc, char **argv, int i, LangError *e) {
    const char *names[OPTION_COUNT], *s = argv[i];
    for (int k = 0; k < OPTION_COUNT; k++) names[k] = rows[k].name;
    size_t n = strcspn(s, "=");
    usage(e, "unknown option '%.*s'", (int)n, s);
    const char *near = n > 2 ? nearest_name(s + 2, n - 2, names, OPTION_COUNT) : NULL;
    const char *script = later_script(argc, argv, i + 1);
    char name[32] = "";
    if (n > 2) snprintf(name, sizeof name, "%.*s", (int)(n - 2), s + 2);
    const char *habit = habit_keyword("gtsh", name);
    if (habit)
        error_hint(e, "%s", habit);
    else if (near)
        error_hint(e, "did you mean '--%s'?", near);
    else if (o->code || o->expr)
        error_hint(e, "arguments of the program follow --: gtsh -%c … -- %.100s",
                   o->code ? 'c' : 'p', s);
    else if (script && !o->replay)
        error_hint(e, "options of the program follow its name: gtsh %.100s %.100s", script, s);
    return false;
}

/* --name, --name=value, --name value */
static bool long_option(Options *o, int argc, char **argv, int *i, LangError *e) {
    const char *s = argv[*i] + 2;
    size_t n = strcspn(s, "=");
    for (int k = 0; k < OPTION_COUNT; k++) {
        if (!rows[k].name[0] || strlen(rows[k].name) != n || memcmp(rows[k].name, s, n)) continue;
        if (!rows[k].value[0]) {
            if (s[n] == '=') return usage(e, "--%s takes no value", rows[k].name);
            return set(o, (OptionId)k, NULL, e);
        }
        if (s[n] == '=') return set(o, (OptionId)k, s + n + 1, e);
        if (rows[k].value[0] == '[') return set(o, (OptionId)k, NULL, e);
        if (*i + 1 >= argc) return usage(e, "--%s needs %s", rows[k].name, rows[k].value);
        return set(o, (OptionId)k, argv[++*i], e);
    }
    return unknown(o, argc, argv, *i, e);
}

/* True if the word is --name or --name=value of an option. */
static bool is_long_option(const char *s) {
    if (strncmp(s, "--", 2)) return false;
    size_t n = strcspn(s + 2, "=");
    for (int k = 0; k < OPTION_COUNT; k++)
        if (n && strlen(rows[k].name) == n && !memcmp(rows[k].name, s + 2, n)) return true;
    return false;
}

/* -x, -xVALUE, -x VALUE, -iq */
static bool short_options(Options *o, int argc, char **argv, int *i, LangError *e) {
    for (const char *s = argv[*i] + 1; *s; s++) {
        int k = 0;
        while (k < OPTION_COUNT && rows[k].letter != *s) k++;
        if (k == OPTION_COUNT) return unknown(o, argc, argv, *i, e);
        if (!rows[k].value[0]) {
            if (!set(o, (OptionId)k, NULL, e)) return false;
            continue;
        }
        if (s[1]) return set(o, (OptionId)k, s + 1, e);
        if (k == OPTION_PRINT) /* -p --format=json EXPR */
            while (*i + 1 < argc && is_long_option(argv[*i + 1]))
                if (++*i, !long_option(o, argc, argv, i, e)) return false;
        if (*i + 1 >= argc) return usage(e, "-%c needs %s", *s, rows[k].value);
        return set(o, (OptionId)k, argv[++*i], e);
    }
    return true;
}

static const char *environment(const char *name) {
    const char *s = getenv(name);
    return s && *s ? s : NULL;
}

bool options_parse(int argc, char **argv, Options *o, LangError *e) {
    *o = (Options){.workers = 1, .color = -1, .debug = ""};
    const char *s;
    o->dispatcher = environment("GT_DISPATCHER");
    o->config = environment("GT_CONFIG");
    Err wrong = {0};
    if (!env_check(&wrong)) {
        usage(e, "%s", wrong.text);
        return error_hint(e, "gtsh(1), ENVIRONMENT, says what it does");
    }
    o->check_nan = env_is_on("GT_CHECK_NAN");
    o->auto_shard = env_is_on("GT_AUTO_SHARD");
    if (!hashing(NULL, &o->hashing, e)) return false;
    if ((s = environment("GT_BACKEND")) && !engine("GT_BACKEND", s, &o->engine, e)) return false;
    if ((s = environment("GT_DEBUG")) && !letters("GT_DEBUG", s, &o->debug, e)) return false;
    int i = 1;
    for (; i < argc; i++) {
        s = argv[i];
        if (!strcmp(s, "--")) {
            i++;
            break;
        }
        if (s[0] != '-' || !strcmp(s, "-")) break;
        if (s[1] == '-' ? !long_option(o, argc, argv, &i, e) : !short_options(o, argc, argv, &i, e))
            return false;
    }
    if (!o->code && !o->expr && !o->replay && i < argc) o->script = argv[i++];
    o->argc = argc - i;
    o->argv = argv + i;
    if (o->code && o->expr) return usage(e, "-c and -p exclude each other");
    if (o->replay && (o->code || o->expr))
        return usage(e, "-%c and --replay exclude each other", o->code ? 'c' : 'p');
    if (o->own && o->dispatcher) {
        usage(e, "--%s is for workers that gtsh starts, but the dispatcher at '%.100s' has its own",
              o->own, o->dispatcher);
        return error_hint(e, "%s --%s says it there; or drop %s",
                          strcmp(o->own, "workers") ? "gt-worker" : "gt-dispatcher", o->own,
                          o->dispatcher == environment("GT_DISPATCHER") ? "GT_DISPATCHER" : "-d");
    }
    if (o->emit_step && (o->emit_binary || o->prompt))
        return usage(e, "--emit-step and %s exclude each other",
                     o->prompt ? "--interactive" : "--emit=binary");
    if (o->emit && o->output) return usage(e, "--emit and --format exclude each other");
    if (o->emit && o->tee) return usage(e, "--emit and --tee exclude each other");
    if (o->session && (o->check || o->emit || o->dry))
        return usage(e, "--session and --%s exclude each other",
                     o->check  ? "check"
                     : o->emit ? "emit"
                               : "dry");
    if (o->dry && o->verify) return usage(e, "--dry and --verify exclude each other");
    if (o->emit && o->verify) return usage(e, "--emit and --verify exclude each other");
    return true;
}

/* ---- without effect ---- */

#define CLUSTER (BIT(WORKERS) | BIT(THREADS) | BIT(ENGINE) | BIT(MEMORY) | BIT(DISPATCHER))

/* Variables of the dispatcher and of workers, which do not see this process's. (Those that
 * describe the machine, such as GT_CC and GT_LLC_KIB, may be set for all programs.) */
static const char *const theirs[] = {
    "GT_BACKEND",          "GT_COMPILE",      "GT_AUTO_COMPILE", "GT_DEBUG_COMPILE",
    "GT_DEBUG_DISPATCHER", "GT_DEBUG_WORKER", "GT_FUSE",         "GT_HASH",
    "GT_INSTRUCTION_LOG",  "GT_ISA",          "GT_PLAN",         "GT_SAVE_COMPILED_CODE",
    "GT_WORKER_BATCH_SIZE"};

static const char *const logs[] = {"GT_INSTRUCTION_LOG"};

/* Options and variables without effect where `reason` holds. */
typedef struct Idle {
    bool holds;
    const char *reason, *hint;
    uint64_t options;
    const char *const *variables;
    size_t n_variables;
} Idle;

static void add_name(Bytes *b, int *n, const char *text) {
    bytes_printf(b, "%s%s", (*n)++ ? ", " : "", text);
}

static bool say_idle(const Idle *i, uint64_t given, LangError *w) {
    Bytes names = {0};
    int n = 0;
    char name[32];
    if (!i->holds) return false;
    for (int k = 0; k < OPTION_COUNT; k++) {
        if (!(given & i->options & UINT64_C(1) << k)) continue;
        add_name(&names, &n, option_text((OptionId)k, name));
    }
    for (size_t k = 0; k < i->n_variables; k++)
        if (environment(i->variables[k])) add_name(&names, &n, i->variables[k]);
    if (n) {
        *w = (LangError){.kind = E_EXIT};
        error_set(w, "%s %s no effect: %s", names.data, n == 1 ? "has" : "have", i->reason);
        if (i->hint) error_hint(w, "%s", i->hint);
    }
    bytes_fini(&names);
    return n > 0;
}

bool options_idle(const Options *o, bool instructions, bool tape, size_t *at, LangError *w) {
    bool is_run = !o->check && !o->dry && !o->emit;
    const Idle all[] = {
        {o->dry && !o->check, "--dry runs nothing", NULL,
         CLUSTER | BIT(STRICT) | BIT(CHECK_NAN) | BIT(LOG_DIR) | BIT(PROFILE) | BIT(SEED) |
             BIT(SPEED) | BIT(EMIT) | BIT(TEE),
         logs, 1},
        {o->check, "--check runs nothing", NULL,
         CLUSTER | BIT(STRICT) | BIT(CHECK_NAN) | BIT(LOG_DIR) | BIT(PROFILE) | BIT(SEED) |
             BIT(EMIT) | BIT(TEE) | BIT(PROMPT),
         logs, 1},
        {o->emit && !o->check, "--emit computes nothing", NULL,
         (CLUSTER & ~BIT(WORKERS)) | BIT(LOG_DIR) | BIT(PROFILE), logs, 1},
        {is_run && o->dispatcher, "the running dispatcher and its workers have their own",
         "set it where gt-dispatcher and gt-worker start", 0, theirs,
         sizeof theirs / sizeof *theirs},
        {!o->expr && !o->prompt && o->script, "it is for -p and the prompt", "save(x, \"x.json\")",
         BIT(FORMAT), NULL, 0},
        {!o->emit && !o->tee, "it is for --emit and --tee", NULL, BIT(PAYLOADS), NULL, 0},
        {is_run && instructions && !tape, "these instructions are no tape", NULL,
         BIT(SPEED) | BIT(CLIENT), NULL, 0},
        {is_run && instructions, "instructions have their own seeds",
         "--seed with --emit, which makes them", BIT(SEED), NULL, 0},
    };
    while (*at < sizeof all / sizeof *all)
        if (say_idle(&all[(*at)++], o->given, w)) return true;
    return false;
}
