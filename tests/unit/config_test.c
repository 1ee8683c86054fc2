/* config_test: configurations of signals: YAML, the position of every error, merging, and the round
 * trip through an instruction.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/config.h"
#include "tests/unit/check.h"

static bool parse(Config *c, const char *text, ConfigAt *at, Err *err) {
    *c = (Config){0};
    return config_parse(c, "s.yaml", text, strlen(text), at, err);
}

static const SignalConfig *find(const Config *c, const char *name) {
    return config_find(c, name, strlen(name));
}

static void test_keys(void) {
    Config c;
    ConfigAt at;
    Err err = {0};
    CHECK(parse(&c,
                "# all keys\n"
                "a:\n  shard:\n    axis: -1\n    workers: [3, 1]\n    replicated: false\n"
                "  backward: b\n  compile: true\n"
                "b: {shard: {axis: 0, workers: null, replicated: True}}\n"
                "c: {compile: FALSE, backward: ~}\n"
                "d:\n"
                "\"quoted name\": {shard: {}}\n",
                &at, &err));
    CHECK_INT(c.n, 5);
    const SignalConfig *a = find(&c, "a"), *b = find(&c, "b"), *d = find(&c, "d");
    CHECK(a->axis == -1 && a->n_workers == 2 && a->workers[0] == 3 && a->workers[1] == 1);
    CHECK(!a->replicated && a->compile && !strcmp(a->backward, "b") && a->at.line == 2);
    CHECK_STR(a->file, "s.yaml");
    CHECK(b->axis == 0 && b->n_workers == 0 && b->replicated && b->has & HAS_WORKERS);
    CHECK_STR(signal_backward_name(a), "b");
    CHECK_STR(signal_backward_name(b), "b");
    CHECK(!signal_is_sharded(find(&c, "c")) && d && d->has == 0);
    CHECK(signal_is_sharded(find(&c, "quoted name")));
    CHECK(!find(&c, "e"));
    CHECK_STR(config_nearest(&c, "quotedname", 10), "quoted name");
    config_fini(&c);
    CHECK(parse(&c, "", &at, &err) && c.n == 0);
    CHECK(parse(&c, "# nothing\n---\n...\n", &at, &err) && c.n == 0);
    config_fini(&c);
    CHECK(parse(&c,
                "x: &x {shard: &s {axis: 1, workers: [0]}, compile: true}\n"
                "y: {<<: *x, compile: false}\nz: {shard: *s}\n",
                &at, &err));
    CHECK(find(&c, "y")->axis == 1 && !find(&c, "y")->compile && find(&c, "z")->n_workers == 1);
    config_fini(&c);
    CHECK(parse(&c, "\"*\": {shard: {axis: 1}}\nab: {shard: {workers: [1]}}\n", &at, &err));
    CHECK(find(&c, CONFIG_EVERYWHERE)->axis == 1 && find(&c, "ab")->workers_at.col == 23);
    CHECK(!config_nearest(&c, "b", 1) || !strcmp(config_nearest(&c, "b", 1), "ab"));
    config_fini(&c);
}

typedef struct Wrong {
    const char *text;
    unsigned line, col;
    const char *what, *hint;
} Wrong;

static const Wrong wrong[] = {
    {"f:\n  shard:\n    axis: 0\n    workers: \"0,1\"\n", 4, 14,
     "signal 'f': workers must be a list of worker numbers, got \"0,1\"", "workers: [0, 1]"},
    {"f: {shard: {workers: 2}}", 1, 22,
     "signal 'f': workers must be a list of worker numbers, got 2",
     "workers: [0, 1] are 2 workers, null means all"},
    {"f: {shard: {workers: 1}}", 1, 22,
     "signal 'f': workers must be a list of worker numbers, got 1",
     "workers: [0] is one worker, [1] is worker 1, null means all"},
    {"f: {shard: {workers: 8}}", 1, 22,
     "signal 'f': workers must be a list of worker numbers, got 8",
     "workers: [0, 1, …, 7] are 8 workers, null means all"},
    {"f: {shard: {workers: all}}", 1, 22,
     "signal 'f': workers must be a list of worker numbers, got all", "workers: null   means all"},
    {"f: {shard: {workers: [0, x]}}", 1, 26,
     "signal 'f': workers must be a list of worker numbers, got x", "workers: [0, 1]"},
    {"f: {shard: {workers: []}}", 1, 22, "signal 'f': workers must not be empty, got a list",
     "workers: null   means all"},
    {"f: {shard: {workers: [0, 0]}}", 1, 26, "signal 'f': a worker can be named once only, got 0",
     ""},
    {"f: {shard: {workers: [-1]}}", 1, 23,
     "signal 'f': a worker's number is from 0 to 1023, got -1", "workers: [0, 1]"},
    {"f: {shard: {axis: x}}", 1, 19, "signal 'f': axis must be a whole number, got x", "axis: 0"},
    {"f: {shard: {axis: \"0\"}}", 1, 19, "signal 'f': axis must be a whole number, got \"0\"",
     "axis: 0"},
    {"f: {shard: {axis: [0, 1]}}", 1, 19, "signal 'f': axis must be a whole number, got a list",
     "axis: 0"},
    {"f: {shard: {axis: 8}}", 1, 19, "signal 'f': axis must be from -8 to 7, got 8",
     "axis: 0   (-1 is the last axis)"},
    {"f: {shard: {replicated: 1}}", 1, 25, "signal 'f': replicated is true or false, got 1",
     "replicated: true"},
    {"f: {compile: yes}", 1, 14, "signal 'f': compile is true or false, got yes",
     "compile: true; yes, no, on and off are strings in YAML 1.2"},
    {"f:\n  shard:\n    replicated: Off", 3, 17, "signal 'f': replicated is true or false, got Off",
     "replicated: false; yes, no, on and off are strings in YAML 1.2"},
    {"f: {compile: \"true\"}", 1, 14, "signal 'f': compile is true or false, got \"true\"",
     "compile: true"},
    {"f: {compile: maybe}", 1, 14, "signal 'f': compile is true or false, got maybe",
     "compile: true"},
    {"f: {backward: [a]}", 1, 15, "signal 'f': backward is a name of one line, got a list", ""},
    {"f: {sard: {axis: 0}}", 1, 5, "signal 'f': there is no key 'sard'", "did you mean 'shard'?"},
    {"f: {shard: {axes: 0}}", 1, 13, "signal 'f': there is no key 'axes' in shard",
     "did you mean 'axis'?"},
    {"f: {axis: 0}", 1, 5, "signal 'f': there is no key 'axis'",
     "put it into shard: shard: {axis: …}"},
    {"f: {shard: {backward: b}}", 1, 13, "signal 'f': there is no key 'backward' in shard",
     "put backward beside shard, not in it"},
    {"f: {q: 0}", 1, 5, "signal 'f': there is no key 'q'", "shard, backward, compile"},
    {"f: {shard: 0}", 1, 12, "signal 'f': shard must be a map, got 0",
     "shard: {axis: 0, workers: [0, 1]}"},
    {"f: 3", 1, 4, "signal 'f': a map is needed, got 3",
     "name: {shard: {axis: 0, workers: [0, 1]}, backward: other}"},
    {"- f\n- g\n", 1, 1, "a configuration is a map of signals, got a list",
     "name: {shard: {axis: 0, workers: [0, 1]}}"},
    {"f: {}\nf: {}\n", 2, 1, "signal 'f' is given twice, first in line 1", ""},
    {"f: {compile: true, compile: true}", 1, 20,
     "signal 'f': 'compile' is given twice, first in line 1", ""},
    {"a: {backward: b}\nb: {backward: a}\n", 2, 15, "signal 'b': backward 'a' leads back to it",
     "give the gradients a signal of their own: b_backward"},
    {"f:\n  shard: {replicated: true, axis: -1}\n", 2, 35,
     "signal 'f': axis -1 and replicated contradict each other",
     "replicated: a whole copy on each worker; axis: a split. Drop one"},
    {"a: {backward: b}\nb: {backward: c}\nc: {backward: a}\n", 3, 15,
     "signal 'c': backward 'a' leads back to it",
     "give the gradients a signal of their own: c_backward"},
    {"\"*\": {shard: {axis: 0}, backward: b}", 1, 35,
     "signal '*': backward has no effect outside signals", "'*' takes shard only"},
    {"f: {backward: \"*\"}", 1, 15, "signal 'f': backward '*' is not a signal",
     "'*' applies outside all signals"},
    {"f: {}\n---\ng: {}\n", 3, 1, "a configuration is one document", ""},
    {"\xc3\xa9: {\xc3\xa9: 1}", 1, 6, "signal '\xc3\xa9': there is no key '\xc3\xa9'",
     "shard, backward, compile"},
    {"f:\n  shard: {axis: 0,\n    workers: [0]\n", 2, 10, "did not find expected ',' or '}'",
     "the { in line 2 is not closed"},
    {"f: {shard: {axis: 0}\ng: {}\n", 2, 1, "did not find expected ',' or '}'",
     "the { in line 1 is not closed"},
    {"f: {backward: \"b}\n\n", 1, 15, "found unexpected end of stream",
     "the \" in line 1 is not closed"},
    {"? [a]\n: {}\n", 1, 3, "a signal's name is a name of one line, got a list", ""},
    {"f: &f\n  <<: *f\n", 2, 3, "signal 'f': '<<' goes too deep, got <<", ""},
};

static void test_mistakes(void) {
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const Wrong *w = &wrong[i];
        Config c;
        ConfigAt at;
        Err err = {0};
        CHECK_MSG(!parse(&c, w->text, &at, &err), "accepted: %s", w->text);
        CHECK_MSG(!strcmp(err.text, w->what), "%s\n  gave %s", w->text, err.text);
        CHECK_MSG(!strcmp(err.hint, w->hint), "%s\n  hint %s", w->text, err.hint);
        CHECK_MSG(at.line == w->line && at.col == w->col, "%s\n  at %u:%u", w->text, at.line,
                  at.col);
        config_fini(&c);
    }
    static const char *const broken[] = {"f: {",    "f: [",     "\"", "f:\n\tshard: 1\n",
                                         "a: b: c", "\xff\xfe", "*x", "&a"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        Config c;
        ConfigAt at;
        Err err = {0};
        if (parse(&c, broken[i], &at, &err)) CHECK_MSG(c.n == 0, "accepted: %s", broken[i]);
        CHECK_MSG(err.text[0] ? at.line > 0 : 1, "no place: %s", broken[i]);
        config_fini(&c);
    }
}

static void test_limits(void) {
    Bytes b = {0};
    Config c;
    ConfigAt at;
    Err err = {0};
    for (int i = 0; i < MAX_SIGNALS; i++) bytes_printf(&b, "s%d: {}\n", i);
    CHECK(parse(&c, b.data, &at, &err) && c.n == MAX_SIGNALS);
    config_fini(&c);
    bytes_puts(&b, "more: {}\n");
    CHECK(!parse(&c, b.data, &at, &err) && err.code == ERR_LIMIT && at.line == MAX_SIGNALS + 1);
    config_fini(&c);
    b.n = 0;
    bytes_puts(&b, "f: {shard: {workers: [0");
    for (int i = 1; i <= MAX_INTS; i++) bytes_printf(&b, ", %d", i);
    bytes_puts(&b, "]}}");
    CHECK(!parse(&c, b.data, &at, &err) && err.code == ERR_LIMIT);
    config_fini(&c);
    b.n = 0;
    for (int i = 0; i < 300 << 10; i++) bytes_putc(&b, '#');
    CHECK(!parse(&c, b.data, &at, &err) && err.code == ERR_LIMIT);
    config_fini(&c);
    b.n = 0;
    for (int i = 0; i <= MAX_SIGNAL; i++) bytes_putc(&b, 'n');
    bytes_puts(&b, ": {}");
    CHECK(!parse(&c, b.data, &at, &err) && err.code == ERR_ARG);
    config_fini(&c);
    bytes_fini(&b);
}

static void test_merge(void) {
    Config c, more;
    ConfigAt at;
    Err err = {0};
    CHECK(parse(&c, "a: {shard: {axis: 1, workers: [0, 1]}, backward: b}\nb: {compile: true}\n",
                &at, &err));
    uint64_t epoch = c.epoch;
    CHECK(
        parse(&more, "a: {compile: true, shard: {workers: null}}\nz: {backward: a}\n", &at, &err));
    CHECK(config_merge(&c, &more, &at, &err) && c.epoch > epoch);
    const SignalConfig *a = find(&c, "a");
    CHECK(a->compile && a->n_workers == 0 && !strcmp(a->backward, "b") && c.n == 3);
    config_fini(&more);
    /* A cycle over both: nothing of the second is accepted. */
    CHECK(parse(&more, "y: {}\nb: {backward: a}\n", &at, &err));
    CHECK(!config_merge(&c, &more, &at, &err) && at.line == 2 && c.n == 3);
    CHECK(!find(&c, "b")->backward);
    config_fini(&more);
    CHECK(parse(&more, "a: {backward: a}\nb: {backward: a}\n", &at, &err)); /* its own: none */
    CHECK(config_merge(&c, &more, &at, &err));
    config_fini(&more);
    /* replicated removes an earlier axis, and an axis an earlier replicated */
    CHECK(parse(&more, "a: {shard: {replicated: true}}\n", &at, &err));
    CHECK(config_merge(&c, &more, &at, &err) && find(&c, "a")->axis == 0);
    CHECK(signal_config_check(find(&c, "a"), &at, &err));
    config_fini(&more);
    CHECK(parse(&more, "a: {shard: {axis: 2}}\n", &at, &err));
    CHECK(config_merge(&c, &more, &at, &err) && !find(&c, "a")->replicated);
    config_fini(&more);
    config_fini(&c);
}

static void test_instruction(void) {
    Config c, other = {0};
    ConfigAt at;
    Err err = {0};
    CHECK(parse(&c,
                "a: {shard: {axis: -2, workers: [5, 2]}, backward: b, compile: true}\n"
                "b: {shard: {replicated: true, workers: null}, backward: null}\nc: {}\n",
                &at, &err));
    for (int i = 0; i < c.n; i++) {
        ConfigInst ci;
        TensorType out[MAX_OUT];
        int n_out;
        config_inst(c.signal[i], &ci);
        CHECK(inst_infer(&ci.inst, NULL, out, &n_out, &err) && n_out == 0);
        CHECK(config_define(&other, &ci.inst, &err));
        const SignalConfig *s = c.signal[i], *t = find(&other, s->name);
        CHECK(t && t->has == s->has && t->axis == s->axis && t->n_workers == s->n_workers);
        CHECK(t->compile == s->compile && t->replicated == s->replicated);
        CHECK(!s->n_workers || !memcmp(s->workers, t->workers, 8 * (size_t)s->n_workers));
        CHECK(!s->backward == !t->backward && (!s->backward || !strcmp(s->backward, t->backward)));
    }
    config_fini(&c);
    config_fini(&other);
}

int main(void) {
    test_keys();
    test_mistakes();
    test_limits();
    test_merge();
    test_instruction();
    return check_report("config");
}
