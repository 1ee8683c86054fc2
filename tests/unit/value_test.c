/* value_test.c: maps of the language against a naive model, under random operations; equality and
 * order of numbers; strings by code point; freeing of containers that only hold each other, or nest
 * a million deep.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/value/cycles.h"
#include "lang/value/mapv.h"
#include "lang/value/interp.h"
#include "lang/error/interrupt.h"
#include "tests/unit/check.h"
#include <math.h>

static uint64_t seed = 1;
static uint32_t random_below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static Value random_key(void) {
    char text[16];
    if (random_below(2)) return v_int((int64_t)random_below(40) - 20);
    snprintf(text, sizeof text, "k%u", random_below(40));
    return v_cstr(text);
}

/* The model: pairs in order of insertion, searched linearly. */
typedef struct Model {
    Value key[128];
    int64_t value[128];
    int n;
} Model;

static int model_find(const Model *m, Value key) {
    for (int i = 0; i < m->n; i++)
        if (m->key[i].kind == key.kind && value_equal(m->key[i], key)) return i;
    return -1;
}

static void same_as_model(MapV *m, const Model *model) {
    CHECK_INT(map_count(m), model->n);
    Value k, v;
    for (int i = 0; i < model->n; i++) {
        bool there = mapv_at(m, (size_t)i, &k, &v);
        CHECK(there && value_equal(k, model->key[i]) && v.i == model->value[i]);
        const Value *found = map_find(m, model->key[i]);
        CHECK(found && found->i == model->value[i]);
    }
    CHECK(!mapv_at(m, (size_t)model->n, &k, &v));
}

static void maps(Interp *in) {
    for (int round = 0; round < 20; round++) {
        Value map = v_map(in);
        Model model = {0};
        for (int step = 0; step < 600; step++) {
            Value key = random_key(), old;
            int at = model_find(&model, key);
            if (random_below(3)) {
                int64_t v = (int64_t)random_below(1000);
                mapv_put(map.map, value_ref(key), v_int(v));
                if (at < 0) {
                    at = model.n++;
                    model.key[at] = value_ref(key);
                }
                model.value[at] = v;
            } else {
                CHECK(mapv_remove(map.map, key, &old) == (at >= 0));
                if (at >= 0) {
                    CHECK_INT(old.i, model.value[at]);
                    value_drop(model.key[at]);
                    model.n--;
                    for (int i = at; i < model.n; i++) {
                        model.key[i] = model.key[i + 1];
                        model.value[i] = model.value[i + 1];
                    }
                }
            }
            value_drop(key);
            if (step % 37 == 0) same_as_model(map.map, &model);
        }
        same_as_model(map.map, &model);
        for (int i = 0; i < model.n; i++) value_drop(model.key[i]);
        value_drop(map);
    }
}

static void numbers(void) {
    CHECK(value_equal(v_int(1), v_float(1)) && value_equal(v_bool(true), v_int(1)));
    Value one = v_cstr("1");
    CHECK(!value_equal(v_int(1), one));
    value_drop(one);
    CHECK_INT(number_compare(v_int((1ll << 53) + 1), v_float(0x1p53)),
              1); /* as doubles they would be equal */
    CHECK_INT(number_compare(v_float(0x1p53), v_int((1ll << 53) + 1)), -1);
    CHECK_INT(number_compare(v_int(INT64_MAX), v_float(0x1p63)), -1);
    CHECK_INT(number_compare(v_int(INT64_MIN), v_float(-0x1p63)), 0);
    CHECK_INT(number_compare(v_int(3), v_float(3.5)), -1);
    CHECK_INT(number_compare(v_int(-3), v_float(-3.5)), 1);
    CHECK_INT(number_compare(v_int(0), v_float(INFINITY)), -1);
    CHECK_INT(number_compare(v_int(0), v_float(NAN)), 2);
    Value r = v_range(10, 0, -3);
    CHECK_INT(range_count(r.range), 4);
    CHECK_INT(range_at(r.range, 3), 1);
    value_drop(r);
    r = v_range(INT64_MIN, INT64_MAX, INT64_MAX);
    CHECK_INT(range_count(r.range), 3);
    value_drop(r);
}

static void strings(void) {
    Value s = v_cstr("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\xff");
    CHECK_INT(str_chars(s.str), 6);
    CHECK_INT(str_offset(s.str, 3), 6);
    CHECK_INT(str_offset(s.str, 5), 11);
    value_drop(s);
}

static void lifetimes(Interp *in) {
    cycles_collect(in);
    size_t before = in->n_containers;
    Value deep = v_list(in, 1);
    for (int i = 0; i < 1000000; i++) {
        Value outer = v_list(in, 1);
        list_push(outer.list, deep);
        deep = outer;
    }
    value_drop(deep); /* without a million C frames */
    CHECK_INT(in->n_containers, before);
    Value a = v_list(in, 1), b = v_map(in);
    list_push(a.list, value_ref(b));
    mapv_put(b.map, v_cstr("a"), value_ref(a));
    list_push(a.list, value_ref(a));
    value_drop(b);
    cycles_collect(in);
    CHECK_INT(in->n_containers, before + 2); /* the caller still owns a */
    value_drop(a);
    CHECK_INT(in->n_containers, before + 2);
    cycles_collect(in);
    CHECK_INT(in->n_containers, before);
}

static void equality(Interp *in) {
    Value a = v_list(in, 0), b = v_list(in, 0), r = v_range(0, 3, 1);
    for (int i = 0; i < 3; i++) {
        list_push(a.list, v_int(i));
        list_push(b.list, v_float(i));
    }
    CHECK(value_equal(a, b) && value_equal(a, r) && value_equal(r, b));
    CHECK(!value_same(a, b) && value_same(a, a));
    list_push(a.list, value_ref(a));
    list_push(b.list, value_ref(b));
    value_equal(a, b); /* ends */
    list_push(b.list, v_none());
    CHECK(!value_equal(a, b));
    value_drop(a);
    value_drop(b);
    value_drop(r);
    cycles_collect(in);
}

/* Ctrl-C while a large value is freed: the rest waits, and is freed in slices. */
static void interrupted(Interp *in) {
    enum { N = 100000 };
    size_t before = in->n_containers;
    Value list = v_list(in, 0), map = v_map(in);
    for (int i = 0; i < N; i++) {
        Value row = v_list(in, 1);
        list_push(row.list, v_cstr("x"));
        list_push(list.list, row);
        mapv_put(map.map, v_int(i), value_ref(row));
    }
    Value ring = v_list(in, 1);
    list_push(ring.list, value_ref(ring));
    value_drop(ring);
    interrupt_count = 1;
    cycles_collect(in);
    CHECK_INT(in->n_containers, before + N + 3); /* the ring waits for the next time */
    interrupt_count = 0;
    cycles_collect(in);
    CHECK_INT(in->n_containers, before + N + 2);
    interrupt_count = 1;
    value_drop(list);
    value_drop(map);
    CHECK_INT(in->n_containers, before + N); /* the rows are still there */
    cycles_collect(in);
    CHECK(!containers_free(in, N));
    CHECK_INT(in->n_containers, before + N);
    interrupt_count = 0;
    int slices = 1;
    for (; !containers_free(in, 1000); slices++) CHECK(in->n_containers <= before + N);
    CHECK_MSG(slices >= 2 * N / 1000 && slices < 8 * N / 1000, "%d slices", slices);
    CHECK_INT(in->n_containers, before);
    CHECK(in->dead == NULL && containers_free(in, 1));
}

int main(void) {
    InterpConfig config = {.stream = {.mode = STREAM_CHECK}};
    LangError e = {0};
    Interp *in = interp_new(&config, &e);
    maps(in);
    numbers();
    strings();
    lifetimes(in);
    equality(in);
    interrupted(in);
    interp_free(&in);
    return check_report("value");
}
