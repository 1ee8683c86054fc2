/* config_yaml.c: reads a configuration from YAML, with line and column of every mistake. libyaml
 * builds the tree. This file walks it and trusts nothing: sizes are limited before the parser
 * sees them, and aliases and `<<` are followed a few levels deep only.
 *
 * Plain words have their YAML 1.2 meaning (null ~ true false; yes, no, on and off are strings),
 * as for load(); the word none is null too. Quoted text is a string.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/config.h"
#include "runtime/base/near.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { YAML_BYTES_MAX = 256 << 10, MERGE_DEPTH_MAX = 8, MERGES_MAX = 1000 };

typedef struct Reader {
    yaml_document_t doc;
    Config *c;
    const char *file, *text;
    size_t n;
    SignalConfig *now; /* the signal being read */
    int n_merges;
    ConfigAt *at;
    Err *err;
} Reader;

/* ---- Mistakes ---- */

static ConfigAt place(const yaml_node_t *node) {
    yaml_mark_t from = node->start_mark, to = node->end_mark;
    uint32_t len =
        from.line == to.line && to.column > from.column ? (uint32_t)(to.column - from.column) : 1;
    return (ConfigAt){(uint32_t)from.line + 1, (uint32_t)from.column + 1, len};
}

/* The first line of a node as written in the text, or its kind. */
static void quote(const yaml_node_t *node, char *buf, size_t size) {
    if (node->type == YAML_MAPPING_NODE) {
        snprintf(buf, size, "a map");
    } else if (node->type == YAML_SEQUENCE_NODE) {
        snprintf(buf, size, "a list");
    } else {
        int n = (int)node->data.scalar.length;
        const char *q = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? "" : "\"";
        for (int i = 0; i < n; i++)
            if ((unsigned char)node->data.scalar.value[i] < 0x20) n = i;
        if (n > 60) n = 60;
        snprintf(buf, size, "%s%.*s%s", n || *q ? q : "nothing", n,
                 (const char *)node->data.scalar.value, q);
    }
}

static bool wrong(Reader *r, const yaml_node_t *node, const char *wants, const char *hint) {
    char got[80];
    quote(node, got, sizeof got);
    *r->at = place(node);
    if (r->now)
        err_set(r->err, ERR_ARG, "signal '%.100s': %s, got %s", r->now->name, wants, got);
    else
        err_set(r->err, ERR_ARG, "%s, got %s", wants, got);
    return hint ? err_hint(r->err, "%s", hint) : false;
}

/* ---- Scalars ---- */

static bool is_one_of(const yaml_node_t *node, const char *const *words) {
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (; *words; words++)
        if (node->data.scalar.length == strlen(*words) &&
            !memcmp(node->data.scalar.value, *words, strlen(*words)))
            return true;
    return false;
}

static bool is_null(const yaml_node_t *node) {
    static const char *const words[] = {"", "~", "null", "Null", "NULL", "none", NULL};
    return is_one_of(node, words);
}

static bool read_bool(Reader *r, const yaml_node_t *node, const char *key, bool *out) {
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    static const char *const old_yes[] = {"yes", "Yes", "YES", "on", "On", "ON", NULL};
    static const char *const old_no[] = {"no", "No", "NO", "off", "Off", "OFF", NULL};
    char wants[64], hint[96];
    *out = is_one_of(node, yes);
    if (*out || is_one_of(node, no)) return true;
    bool is_old = is_one_of(node, old_yes) || is_one_of(node, old_no);
    snprintf(wants, sizeof wants, "%s is true or false", key);
    snprintf(hint, sizeof hint, "%s: %s%s", key, is_one_of(node, old_no) ? "false" : "true",
             is_old ? "; yes, no, on and off are strings in YAML 1.2" : "");
    return wrong(r, node, wants, hint);
}

static bool plain_int(const yaml_node_t *node, long *out) {
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    const char *s = (const char *)node->data.scalar.value; /* NUL-terminated by libyaml */
    char *end;
    if (*s == ' ' || !*s) return false;
    errno = 0;
    *out = strtol(s, &end, 10);
    return errno == 0 && end == s + node->data.scalar.length;
}

/* ---- Keys of one signal ---- */

static bool read_axis(Reader *r, const yaml_node_t *node) {
    long v;
    if (!plain_int(node, &v)) return wrong(r, node, "axis must be a whole number", "axis: 0");
    if (v < -MAX_DIMS || v >= MAX_DIMS) {
        char wants[64];
        snprintf(wants, sizeof wants, "axis must be from %d to %d", -MAX_DIMS, MAX_DIMS - 1);
        return wrong(r, node, wants, "axis: 0   (-1 is the last axis)");
    }
    r->now->axis = (int)v;
    r->now->axis_at = place(node);
    r->now->has |= HAS_AXIS;
    return true;
}

void config_count_hint(long n, char *out, size_t size) {
    if (n == 1)
        snprintf(out, size, "[0] is one worker, [1] is worker 1");
    else if (n >= 2 && n <= 4)
        snprintf(out, size, "[0, 1%s] are %ld workers", n == 2 ? "" : n == 3 ? ", 2" : ", 2, 3", n);
    else if (n > 4)
        snprintf(out, size, "[0, 1, …, %ld] are %ld workers", n - 1, n);
    else
        snprintf(out, size, "[0]");
}

/* For "0,1" and 2: suggests the list that was probably meant. */
static bool not_a_list(Reader *r, const yaml_node_t *node) {
    char hint[128] = "workers: [0, 1]", list[80];
    const char *s = node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
    long count;
    if (plain_int(node, &count)) {
        config_count_hint(count, list, sizeof list);
        snprintf(hint, sizeof hint, "workers: %s, null means all", list);
    } else if (!strcmp(s, "all") || !strcmp(s, "*")) {
        snprintf(hint, sizeof hint, "workers: null   means all");
    } else if (*s && strspn(s, "0123456789, ") == node->data.scalar.length && strlen(s) < 60) {
        size_t n = (size_t)snprintf(hint, sizeof hint, "workers: [");
        for (const char *p = s; *(p += strspn(p, ", "));) {
            size_t digits = strspn(p, "0123456789");
            n += (size_t)snprintf(hint + n, sizeof hint - n, "%s%.*s", p == s ? "" : ", ",
                                  (int)digits, p);
            p += digits;
        }
        snprintf(hint + n, sizeof hint - n, "]");
    }
    return wrong(r, node, "workers must be a list of worker numbers", hint);
}

static bool read_worker(Reader *r, const yaml_node_t *node) {
    SignalConfig *s = r->now;
    long v;
    if (!plain_int(node, &v)) return not_a_list(r, node);
    if (v < 0 || v >= MAX_WORKERS) {
        char wants[64];
        snprintf(wants, sizeof wants, "a worker's number is from 0 to %d", MAX_WORKERS - 1);
        return wrong(r, node, wants, "workers: [0, 1]");
    }
    for (int i = 0; i < s->n_workers; i++)
        if (s->workers[i] == v) return wrong(r, node, "a worker can be named once only", NULL);
    s->workers[s->n_workers++] = v;
    return true;
}

static bool read_workers(Reader *r, const yaml_node_t *node) {
    SignalConfig *s = r->now;
    s->has |= HAS_WORKERS;
    s->n_workers = 0;
    s->workers_at = place(node);
    if (is_null(node)) return true;
    if (node->type != YAML_SEQUENCE_NODE) return not_a_list(r, node);
    size_t n = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (n == 0) return wrong(r, node, "workers must not be empty", "workers: null   means all");
    if (n > MAX_INTS) {
        *r->at = place(node);
        return err_set(r->err, ERR_LIMIT,
                       "signal '%.100s': %zu workers, but at most %d are allowed", s->name, n,
                       MAX_INTS);
    }
    s->workers = xrealloc(s->workers, n * sizeof *s->workers);
    for (size_t i = 0; i < n; i++) {
        const yaml_node_t *kid =
            yaml_document_get_node(&r->doc, node->data.sequence.items.start[i]);
        if (!read_worker(r, kid)) return false;
    }
    return true;
}

/* Reads a signal's name, as key or after `backward`. */
static bool read_name(Reader *r, const yaml_node_t *node, const char *what, char **out) {
    char wants[96];
    const char *s = (const char *)node->data.scalar.value;
    bool ok = node->type == YAML_SCALAR_NODE && node->data.scalar.length > 0 &&
              node->data.scalar.length <= MAX_SIGNAL && !memchr(s, 0, node->data.scalar.length) &&
              !memchr(s, '\n', node->data.scalar.length);
    if (!ok) {
        snprintf(wants, sizeof wants, "%s is a name of one line", what);
        return wrong(r, node, wants, NULL);
    }
    free(*out);
    *out = xstrndup(s, node->data.scalar.length);
    return true;
}

static bool read_backward(Reader *r, const yaml_node_t *node) {
    SignalConfig *s = r->now;
    s->has |= HAS_BACKWARD;
    s->backward_at = place(node);
    if (is_null(node)) return true;
    return read_name(r, node, "backward", &s->backward);
}

static bool read_replicated(Reader *r, const yaml_node_t *node) {
    r->now->has |= HAS_REPLICATED;
    return read_bool(r, node, "replicated", &r->now->replicated);
}

static bool read_compile(Reader *r, const yaml_node_t *node) {
    r->now->has |= HAS_COMPILE;
    return read_bool(r, node, "compile", &r->now->compile);
}

/* ---- Maps ---- */

typedef struct Key {
    const char *name;
    bool (*read)(Reader *r, const yaml_node_t *value);
} Key;

static bool read_shard(Reader *r, const yaml_node_t *node);

static const Key shard_keys[] = {
    {"axis", read_axis}, {"workers", read_workers}, {"replicated", read_replicated}, {NULL, NULL}};
static const Key signal_keys[] = {
    {"shard", read_shard}, {"backward", read_backward}, {"compile", read_compile}, {NULL, NULL}};

static const Key *find_key(const Key *keys, const yaml_node_t *node) {
    for (; keys->name; keys++)
        if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == strlen(keys->name) &&
            !memcmp(node->data.scalar.value, keys->name, strlen(keys->name)))
            return keys;
    return NULL;
}

static bool unknown_key(Reader *r, const Key *keys, const yaml_node_t *node) {
    const char *names[8];
    size_t n = 0;
    char got[80];
    bool is_shard = keys == shard_keys;
    quote(node, got, sizeof got);
    *r->at = place(node);
    err_set(r->err, ERR_ARG, "signal '%.100s': there is no key '%s'%s", r->now->name, got,
            is_shard ? " in shard" : "");
    for (const Key *k = keys; k->name; k++) names[n++] = k->name;
    const Key *other = find_key(is_shard ? signal_keys : shard_keys, node);
    if (other && is_shard) return err_hint(r->err, "put %s beside shard, not in it", other->name);
    if (other) return err_hint(r->err, "put it into shard: shard: {%s: …}", other->name);
    const char *near = node->type == YAML_SCALAR_NODE
                           ? nearest_name((const char *)node->data.scalar.value,
                                          node->data.scalar.length, names, n)
                           : NULL;
    if (near) return err_hint(r->err, "did you mean '%s'?", near);
    return err_hint(r->err, is_shard ? "axis, workers, replicated" : "shard, backward, compile");
}

static bool is_merge_key(const yaml_node_t *node) {
    static const char *const words[] = {"<<", NULL};
    return is_one_of(node, words);
}

static bool given_twice(Reader *r, const yaml_node_t *map, const yaml_node_pair_t *pair) {
    const yaml_node_t *key = yaml_document_get_node(&r->doc, pair->key);
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
        const yaml_node_t *k = yaml_document_get_node(&r->doc, p->key);
        if (k->type != YAML_SCALAR_NODE || key->type != YAML_SCALAR_NODE ||
            k->data.scalar.length != key->data.scalar.length ||
            memcmp(k->data.scalar.value, key->data.scalar.value, k->data.scalar.length))
            continue;
        char got[80];
        quote(key, got, sizeof got);
        *r->at = place(key);
        err_set(r->err, ERR_ARG, "signal '%.100s': '%s' is given twice, first in line %u",
                r->now->name, got, (unsigned)k->start_mark.line + 1);
        return true;
    }
    return false;
}

/* Reads the keys of a map, those of a map under `<<` first. */
static bool read_keys(Reader *r, const yaml_node_t *node, const Key *keys, int depth) {
    if (node->type != YAML_MAPPING_NODE) {
        bool is_shard = keys == shard_keys;
        return wrong(r, node, is_shard ? "shard must be a map" : "a map is needed",
                     is_shard ? "shard: {axis: 0, workers: [0, 1]}"
                              : "name: {shard: {axis: 0, workers: [0, 1]}, backward: other}");
    }
    for (int merges = 1; merges >= 0; merges--) {
        for (const yaml_node_pair_t *p = node->data.mapping.pairs.start;
             p < node->data.mapping.pairs.top; p++) {
            const yaml_node_t *key = yaml_document_get_node(&r->doc, p->key),
                              *value = yaml_document_get_node(&r->doc, p->value);
            if (is_merge_key(key) != merges) continue;
            if (merges) {
                if (depth == MERGE_DEPTH_MAX || ++r->n_merges > MERGES_MAX)
                    return wrong(r, key, "'<<' goes too deep", NULL);
                if (!read_keys(r, value, keys, depth + 1)) return false;
                continue;
            }
            const Key *k = find_key(keys, key);
            if (!k) return unknown_key(r, keys, key);
            if (given_twice(r, node, p) || !k->read(r, value)) return false;
        }
    }
    return true;
}

static bool read_shard(Reader *r, const yaml_node_t *node) {
    if (is_null(node)) return true;
    /* `shard: {}` sets the defaults: axis 0, all workers. */
    r->now->has |= HAS_AXIS;
    return read_keys(r, node, shard_keys, 0);
}

static bool read_signal(Reader *r, const yaml_node_t *key, const yaml_node_t *value) {
    SignalConfig s = {0};
    bool ok = read_name(r, key, "a signal's name", &s.name);
    r->now = ok ? &s : NULL;
    const SignalConfig *before = ok ? config_find(r->c, s.name, strlen(s.name)) : NULL;
    if (before) {
        *r->at = place(key);
        ok = err_set(r->err, ERR_ARG, "signal '%.100s' is given twice, first in line %u", s.name,
                     before->at.line);
    }
    if (ok) {
        s.at = place(key);
        s.file = r->file ? xstrdup(r->file) : NULL;
        ok = (is_null(value) || read_keys(r, value, signal_keys, 0)) &&
             signal_config_check(&s, r->at, r->err);
    }
    if (ok && !config_put(r->c, &s, r->err)) {
        *r->at = r->err->code == ERR_LIMIT ? s.at : s.backward_at;
        ok = false;
    }
    r->now = NULL;
    signal_config_fini(&s);
    return ok;
}

static bool read_root(Reader *r) {
    const yaml_node_t *root = yaml_document_get_root_node(&r->doc);
    if (!root || is_null(root)) return true; /* an empty file */
    if (root->type != YAML_MAPPING_NODE)
        return wrong(r, root, "a configuration is a map of signals",
                     "name: {shard: {axis: 0, workers: [0, 1]}}");
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top; p++)
        if (!read_signal(r, yaml_document_get_node(&r->doc, p->key),
                         yaml_document_get_node(&r->doc, p->value)))
            return false;
    return true;
}

/* ---- The text ---- */

/* libyaml counts columns in characters, we in bytes. */
static void columns_in_bytes(const Reader *r) {
    ConfigAt *at = r->at;
    const char *s = r->text, *end = s + r->n;
    for (uint32_t line = 1; s < end && line < at->line; s++) line += *s == '\n';
    const char *start = s;
    for (uint32_t k = 1; s < end && *s != '\n' && k < at->col; k++) do
            s++;
        while (s < end && ((unsigned char)*s & 0xc0) == 0x80);
    const char *stop = s;
    for (uint32_t k = 0; stop < end && *stop != '\n' && k < at->len; k++) do
            stop++;
        while (stop < end && ((unsigned char)*stop & 0xc0) == 0x80);
    at->col = (uint32_t)(s - start) + 1;
    at->len = stop > s ? (uint32_t)(stop - s) : 1;
}

static void place_of_offset(const Reader *r, size_t offset) {
    uint32_t line = 1, col = 1;
    for (size_t i = 0; i < offset && i < r->n; i++) {
        col++;
        if (r->text[i] == '\n') line++, col = 1;
    }
    *r->at = (ConfigAt){line, col, 1};
}

/* If a brace, bracket or quote of an earlier line is not closed, names it in the hint. If there are
 * only blanks where libyaml missed its end, the error's place becomes where it was opened. */
static void name_unclosed(const Reader *r, const yaml_parser_t *p) {
    size_t line = p->context_mark.line, open = p->context_mark.index;
    bool is_flow = p->context && (strstr(p->context, "flow") || strstr(p->context, "quoted"));
    if (!is_flow || line >= p->problem_mark.line) return;
    const char *s = r->text, *end = s + r->n;
    for (; s < end && open; open--) do
            s++;
        while (s < end && ((unsigned char)*s & 0xc0) == 0x80);
    if (s == end || !*s || !strchr("{[\"'", *s)) return; /* a text with a BOM or of UTF-16 */
    const char *rest = r->text;
    for (size_t k = 0; rest < end && k < p->problem_mark.line; rest++) k += *rest == '\n';
    while (rest < end && strchr(" \t\r\n", *rest)) rest++;
    if (rest == end)
        *r->at = (ConfigAt){(uint32_t)line + 1, (uint32_t)p->context_mark.column + 1, 1};
    err_hint(r->err, "the %c in line %zu is not closed", *s, line + 1);
}

/* Returns the offset of a line and column from 0; columns count characters. */
static size_t offset_of(const char *text, size_t n, size_t line, size_t col) {
    size_t i = 0;
    for (; i < n && line; i++) line -= text[i] == '\n';
    for (; i < n && col; col--) do
            i++;
        while (i < n && ((unsigned char)text[i] & 0xc0) == 0x80);
    return i;
}

const char *config_quote_hint(const char *problem, const char *text, size_t n, size_t line,
                              size_t col) {
    size_t at = offset_of(text, n, line, col);
    bool is_alias = strstr(problem, " alias") || strstr(problem, "alphabetic or numeric");
    if (is_alias && at && at <= n && text[at - 1] == '*') at--;
    char c = at < n ? text[at] : 0;
    if (is_alias && c == '*') return "* begins an alias of YAML: quote a text that begins with *";
    if (is_alias && at && text[at - 1] == '&') return "& begins an anchor of YAML: quote the text";
    if (!strstr(problem, "cannot start any token") || !c || !strchr("@%`", c)) return NULL;
    return c == '@'   ? "quote a text that begins with @"
           : c == '%' ? "quote a text that begins with %"
                      : "quote a text that begins with `";
}

/* Reports libyaml's error, with its place. */
static bool bad_yaml(const Reader *r, const yaml_parser_t *p) {
    const char *problem = p->problem ? p->problem : "this is not YAML";
    if (p->error == YAML_READER_ERROR)
        place_of_offset(r, p->problem_offset);
    else
        *r->at =
            (ConfigAt){(uint32_t)p->problem_mark.line + 1, (uint32_t)p->problem_mark.column + 1, 1};
    err_set(r->err, ERR_PARSE, "%s", problem);
    if (!strcmp(problem, "did not find expected key"))
        err_hint(r->err, "the keys of one map begin in the same column");
    const char *quote =
        config_quote_hint(problem, r->text, r->n, p->problem_mark.line, p->problem_mark.column);
    if (quote) err_hint(r->err, "%s", quote);
    name_unclosed(r, p);
    const char *s = r->text;
    uint32_t line = 1;
    for (const char *end = s + r->n; s < end && line < r->at->line; s++) line += *s == '\n';
    if (s < r->text + r->n && *s == '\t')
        return err_hint(r->err, "YAML is indented by blanks, not tabs");
    return false;
}

bool config_parse(Config *c, const char *file, const char *text, size_t n, ConfigAt *at, Err *err) {
    *at = (ConfigAt){0};
    if (n > YAML_BYTES_MAX)
        return err_set(err, ERR_LIMIT, "a configuration of %zu bytes, but at most %d are allowed",
                       n, YAML_BYTES_MAX);
    Reader r = {.c = c, .file = file, .text = text, .n = n, .at = at, .err = err};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) panic("out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    bool ok = yaml_parser_load(&parser, &r.doc);
    if (ok) {
        ok = read_root(&r);
        if (!ok) columns_in_bytes(&r);
        bool was_empty = !yaml_document_get_root_node(&r.doc);
        yaml_document_delete(&r.doc);
        yaml_document_t more;
        if (ok && !was_empty && yaml_parser_load(&parser, &more)) {
            const yaml_node_t *root = yaml_document_get_root_node(&more);
            if (root) {
                *at = place(root);
                ok = err_set(err, ERR_ARG, "a configuration is one document");
            }
            yaml_document_delete(&more);
        } else if (ok && !was_empty) {
            ok = bad_yaml(&r, &parser);
        }
    } else {
        bad_yaml(&r, &parser);
    }
    yaml_parser_delete(&parser);
    return ok;
}
