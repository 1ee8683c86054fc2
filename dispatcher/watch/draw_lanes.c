/* draw_lanes.c: the lanes of clients, dispatcher and workers, and what lies over them: see
 * draw_panel.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/draw_lanes.h"
#include "dispatcher/watch/draw.h"
#include "runtime/base/err.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PART_H = 16,
    EVENTS_H = 12, /* of the lanes of clients and dispatcher */
    SIGNAL_H = 12,
    COMPUTE_H = 28,
    TRANSFER_H = 11,
    MEMORY_H = 18,
    PATH_POINTS = 8, /* of the critical path in a pixel */
    MANY = 16        /* with more workers than this the lanes are half as high */
};
static const uint32_t INK = 0x1a1a1a, GREY = 0x666666, PART = 0x4d5a66, EVENTS = 0x7a8794,
                      MEMORY = 0x56b4e9, NOTE = 0x8b1a4a, FAILED = 0xc00000;
static const uint32_t tint[] = {0xcfe2f3, 0xfce5cd, 0xd9ead3, 0xead1dc,
                                0xfff2cc, 0xd0e0e3, 0xd9d2e9, 0xe2e2e2};

static void ground(Panel *p, double y, double h) {
    Box box = {p->x0, y, p->x1 - p->x0, h};
    p->c->ops->fill(p->c, &box, 1, PANEL_LANE, 0.5, NULL);
}

static void label(Panel *p, double y, const char *s) {
    panel_text(p, p->x0 - 8, y, (TextStyle){9.5, GREY, TEXT_RIGHT, false}, s);
}

static int columns_of(const Panel *p) { return (int)(p->x1 - p->x0); }

/* How many events there were in each column, on a logarithmic scale. */
static void events(Panel *p, const TimelineEvent *event, size_t n_events, const char *name) {
    int n = columns_of(p);
    uint32_t *count = xcalloc((size_t)n, sizeof *count);
    Box *box = xmalloc((size_t)n * sizeof *box);
    size_t n_boxes = 0;
    uint32_t most = view_count(event, n_events, p->from_ns, p->to_ns, count, n);
    ground(p, p->y, EVENTS_H);
    for (int i = 0; i < n; i++) {
        if (!count[i]) continue;
        double h = round(EVENTS_H * (0.25 + 0.75 * log1p(count[i]) / log1p(most)));
        Box *last = n_boxes ? &box[n_boxes - 1] : NULL;
        double x = p->x0 + i;
        if (last && last->x + last->w == x && last->h == h)
            last->w++;
        else
            box[n_boxes++] = (Box){x, p->y + EVENTS_H - h, 1, h};
    }
    Bytes tip = {0};
    bytes_printf(&tip, "%s: %zu instructions", name, n_events);
    p->c->ops->fill(p->c, box, n_boxes, EVENTS, 1, tip.data);
    bytes_fini(&tip);
    free(box);
    free(count);
    label(p, p->y + EVENTS_H - 2.5, name);
    p->y += EVENTS_H + 4;
}

/* The parts of the run, each with its pattern. */
void panel_parts(Panel *p) {
    if (p->n_parts < 2) return;
    Bytes b = {0};
    for (int i = 0; i < p->n_parts; i++) {
        const ViewPart *part = &p->part[i];
        double x = panel_x(p, part->begin_ns), w = panel_x(p, part->end_ns) - x;
        Box box = {x, p->y, w < 1 ? 1 : w, PART_H};
        b.n = 0;
        view_clean(&b, timeline_text(p->t, p->t->signal[part->signal].name), 40);
        bytes_printf(&b, ": %s", pattern_name(part->pattern.kind));
        if (part->pattern.kind == PATTERN_PIPELINE)
            bytes_printf(&b, ", bubble %.0f%%", 100 * part->pattern.bubble);
        p->c->ops->fill(p->c, &box, 1, PART, 1, b.data);
        if (canvas_text_width(b.data, 10.5, true) + 8 >= w) { /* the caption has its pattern */
            b.n = 0;
            view_clean(&b, timeline_text(p->t, p->t->signal[part->signal].name), 40);
        }
        if (canvas_text_width(b.data, 10.5, true) + 8 < w)
            panel_text(p, x + w / 2, p->y + PART_H - 4.5,
                       (TextStyle){10.5, 0xffffff, TEXT_MIDDLE, true}, b.data);
    }
    label(p, p->y + PART_H - 4.5, "patterns");
    p->y += PART_H + 4;
    bytes_fini(&b);
}

/* note("text") of programs: a line through all lanes, with the text where there is room. */
void panel_notes(Panel *p) {
    size_t n = 0;
    double until = p->x0, last = -1;
    Bytes b = {0};
    for (size_t i = 0; i < p->t->n_marks; i++) {
        const TimelineMark *m = &p->t->mark[i];
        double x = panel_x(p, m->at_ns);
        if (m->event != TAPE_RECEIVED || x - last < 1) continue;
        Point line[2] = {{x, p->y}, {x, p->bottom}};
        p->c->ops->line(p->c, line, 2, NOTE, 1, 0.8);
        n++;
        last = x;
        b.n = 0;
        view_clean(&b, timeline_text(p->t, m->text), 40);
        double width = b.n ? canvas_text_width(b.data, 9.5, true) : 0;
        if (x < until || x + width + 3 > p->x1 || !b.n) continue;
        panel_text(p, x + 3, p->y + 8, (TextStyle){9.5, NOTE, TEXT_LEFT, true}, b.data);
        until = x + width + 8;
    }
    if (n) {
        label(p, p->y + 8, "notes");
        p->y += 13;
    }
    bytes_fini(&b);
}

void panel_clients(Panel *p) {
    Bytes b = {0};
    for (size_t i = 0; i < p->t->n_clients && i < VIEW_CLIENTS; i++) {
        const ClientLane *client = &p->t->client[i];
        b.n = 0;
        bytes_printf(&b, "c%" PRIu32 " ", client->id);
        view_clean(&b, timeline_text(p->t, client->name), 18);
        events(p, client->event, client->n_events, b.data);
    }
    if (p->t->n_clients > VIEW_CLIENTS) {
        b.n = 0;
        bytes_printf(&b, "... %zu more clients", p->t->n_clients - VIEW_CLIENTS);
        label(p, p->y += 10, b.data);
        p->y += 4;
    }
    bytes_fini(&b);
    events(p, p->t->sent, p->t->n_sent, "dispatcher");
    p->y += 6;
}

static uint32_t ink_on(uint32_t rgb) {
    double light = 0.3 * (rgb >> 16 & 255) + 0.59 * (rgb >> 8 & 255) + 0.11 * (rgb & 255);
    return light > 145 ? 0x000000 : 0xffffff;
}

/* The columns of what is too narrow to be drawn by itself. */
static void density(Panel *p, const ViewColumn *column, int n, double y, double h) {
    Box *box = xmalloc((size_t)n * sizeof *box);
    double *base = xcalloc((size_t)n, sizeof *base);
    double ns = (double)(p->to_ns - p->from_ns) / n;
    for (int c = 0; c < WATCH_CLASS_COUNT; c++) {
        size_t n_boxes = 0;
        for (int i = 0; i < n; i++) {
            if (!column[i].ns[c]) continue;
            double part = h * (double)column[i].ns[c] / ns;
            if (part > h - base[i]) part = h - base[i];
            part = round(part * 4) / 4;
            if (part <= 0) continue;
            Box b = {p->x0 + i, y + h - base[i] - part, 1, part};
            base[i] += part;
            Box *last = n_boxes ? &box[n_boxes - 1] : NULL;
            if (last && last->x + last->w == b.x && last->y == b.y && last->h == b.h)
                last->w++;
            else
                box[n_boxes++] = b;
        }
        p->c->ops->fill(p->c, box, n_boxes, watch_class_info[c].rgb, 1, NULL);
    }
    free(base);
    free(box);
}

/* A slice fills the lane's height; one that overlaps others (row > 0) lies over them, lower. */
static Box slice_box(const Panel *p, const Slice *s, int rows, double y, double h) {
    double x = panel_x(p, s->begin_ns), w = panel_x(p, s->end_ns) - x;
    double top = s->row ? y + h * s->row / rows : y;
    return (Box){x, top, w > 3 ? w - 0.6 : w, y + h - top};
}

/* A lane of slices, from y on. */
static void slices(Panel *p, const Slice *slice, size_t n_slices, int rows, double y, double h) {
    int n = columns_of(p);
    ViewColumn *column = xcalloc((size_t)n, sizeof *column);
    Bytes tip = {0};
    for (size_t i = 0; i < n_slices; i++) /* what is narrow lies below */
        if (slice_box(p, &slice[i], rows, y, h).w < 1)
            view_add(column, n, p->from_ns, p->to_ns, &slice[i]);
    density(p, column, n, y, h);
    for (int row = 0; row < rows || row == 0; row++) {
        for (size_t i = 0; i < n_slices; i++) {
            const Slice *s = &slice[i];
            Box box = slice_box(p, s, rows, y, h);
            if (s->row != row || box.w < 1) continue;
            uint32_t rgb = watch_class_info[s->class_].rgb;
            tip.n = 0;
            view_slice(p->t, s, &tip);
            p->c->ops->fill(p->c, &box, 1, rgb, 1, tip.data);
            const char *name = timeline_text(p->t, s->name);
            if (box.h < 12 || strlen(name) >= 40) continue;
            if (canvas_text_width(name, 9.5, false) + 6 < box.w)
                panel_text(p, box.x + box.w / 2, box.y + box.h / 2 + 3.5,
                           (TextStyle){9.5, ink_on(rgb), TEXT_MIDDLE, false}, name);
        }
    }
    bytes_fini(&tip);
    free(column);
}

static void bands(Panel *p, const WorkerLane *w) {
    double until = -1;
    char path[256];
    for (size_t i = 0; i < w->n_bands; i++) {
        const Band *band = &w->band[i];
        double x = panel_x(p, band->begin_ns), to = panel_x(p, band->end_ns);
        if (!band->signal || to < until + 0.75) continue; /* in a pixel that is drawn */
        if (x < until) x = until;
        Box box = {x, p->y, to - x < 1 ? 1 : to - x, SIGNAL_H - 1};
        uint32_t rgb = tint[(band->signal - 1) % (sizeof tint / sizeof *tint)];
        timeline_signal(p->t, band->signal, path, sizeof path);
        p->c->ops->fill(p->c, &box, 1, rgb, 1, path);
        Point edge[2] = {{x + 0.5, p->y}, {x + 0.5, p->y + SIGNAL_H - 1}};
        if (box.w > 3) p->c->ops->line(p->c, edge, 2, 0x9a9a9a, 0.8, 1);
        const char *name = timeline_text(p->t, p->t->signal[band->signal].name);
        if (strlen(name) < 80 && canvas_text_width(name, 9, false) + 8 < box.w)
            panel_text(p, x + 4, p->y + SIGNAL_H - 3.5, (TextStyle){9, INK, TEXT_LEFT, false},
                       name);
        until = x + box.w;
    }
}

/* The pipeline whose bubble this is part of, or NULL. */
static const ViewPart *bubble_of(const Panel *p, const Idle *idle) {
    if (idle->cause != IDLE_BLOCKED && idle->cause != IDLE_COMM) return NULL;
    for (int i = 0; i < p->n_parts; i++) {
        const ViewPart *part = &p->part[i];
        if (part->pattern.kind == PATTERN_PIPELINE && idle->begin_ns >= part->begin_ns &&
            idle->end_ns <= part->end_ns)
            return part;
    }
    return NULL;
}

static void hatches(Panel *p, const WorkerLane *w, double y, double h) {
    Bytes b = {0};
    for (size_t i = 0; i < w->n_idle; i++) {
        const Idle *idle = &w->idle[i];
        const ViewPart *bubble = bubble_of(p, idle);
        int64_t of = bubble ? bubble->end_ns - bubble->begin_ns : p->t->end_ns - p->t->begin_ns;
        int64_t least = of / 100 * DRAW_IDLE_PERCENT;
        double x = panel_x(p, idle->begin_ns), width = panel_x(p, idle->end_ns) - x;
        if (idle->end_ns - idle->begin_ns < least || width < 1) continue;
        b.n = 0;
        if (bubble) bytes_puts(&b, "bubble: ");
        view_cause(idle, &b);
        p->c->ops->hatch(p->c, (Box){x, y, width, h}, PANEL_HATCH, b.data);
        double text = canvas_text_width(b.data, 9.5, false) + 10;
        if (bubble && text > width) { /* the cause is in the tip */
            b.data[strlen("bubble")] = '\0';
            text = canvas_text_width(b.data, 9.5, false) + 10;
        }
        if (h < 12 || text > width) continue;
        Box box = {x + (width - text) / 2, y + h / 2 - 7, text, 14};
        p->c->ops->fill(p->c, &box, 1, PANEL_GROUND, 1, NULL);
        panel_text(p, x + width / 2, y + h / 2 + 3.5, (TextStyle){9.5, GREY, TEXT_MIDDLE, false},
                   b.data);
    }
    bytes_fini(&b);
}

/* The largest sample of each pixel, as steps. most: the top of the lane, for all workers. */
static void memory(Panel *p, const WorkerLane *w, uint64_t most) {
    double y1 = p->y + MEMORY_H, y = y1, x = p->x0;
    Point *point = xmalloc((2 * (size_t)columns_of(p) + 8) * sizeof *point);
    size_t n = 0;
    uint64_t peak = 0;
    ground(p, p->y, MEMORY_H);
    point[n++] = (Point){p->x0, y1};
    for (size_t i = 0; i < w->n_samples;) {
        double at = floor(panel_x(p, w->sample[i].at_ns));
        uint64_t here = 0;
        for (; i < w->n_samples && floor(panel_x(p, w->sample[i].at_ns)) == at; i++)
            if (w->sample[i].bytes > here) here = w->sample[i].bytes;
        if (here > peak) peak = here;
        point[n++] = (Point){at, y};
        y = y1 - MEMORY_H * (double)here / (double)most;
        point[n++] = (Point){at, y};
        x = at;
    }
    double end = panel_x(p, p->t->end_ns);
    point[n++] = (Point){x > end ? x : end, y};
    point[n++] = (Point){x > end ? x : end, y1};
    p->c->ops->area(p->c, point, n, MEMORY, 0.8);
    free(point);
    char size[AXIS_LABEL_MAX];
    Bytes b = {0};
    axis_size(peak, size);
    bytes_printf(&b, "memory, to %s", size);
    label(p, p->y + MEMORY_H / 2 + 3, b.data);
    bytes_fini(&b);
    p->y += MEMORY_H + 2;
}

/* What the lanes of all workers have in common. */
typedef struct Kinds {
    bool has_bands, has_transfers;
    uint64_t memory; /* largest sample */
    double scale;    /* of heights */
} Kinds;

static void worker_name(Panel *p, const WorkerLane *w, double h) {
    Bytes b = {0};
    bytes_printf(&b, "w%d", w->rank);
    panel_text(p, 18, p->y + h / 2 + 4.5, (TextStyle){13, INK, TEXT_LEFT, true}, b.data);
    b.n = 0;
    if (w->sum.there_ns > 0)
        bytes_printf(&b, "%.0f%% busy", 100 * (double)w->sum.busy_ns / (double)w->sum.there_ns);
    label(p, p->y + h / 2 + 3.5, b.data ? b.data : "");
    bytes_fini(&b);
}

/* Kernels that were compiled meanwhile, and instructions that failed, at the lane's upper edge. */
static void compiles(Panel *p, const WorkerLane *w, double y) {
    Bytes tip = {0};
    char took[AXIS_LABEL_MAX];
    double until = -1;
    for (size_t i = 0; i < w->n_compiles; i++) {
        const Compile *k = &w->compile[i];
        double x = panel_x(p, k->begin_ns), to = panel_x(p, k->end_ns);
        if (to < until + 0.5) continue;
        Box box = {x, y, to - x < 1 ? 1 : to - x, 4};
        tip.n = 0;
        axis_time(k->end_ns - k->begin_ns, took);
        bytes_printf(&tip, "a kernel of %" PRIu32 " operations compiled in %s", k->n_ops, took);
        p->c->ops->fill(p->c, &box, 1, PANEL_COMPILE, 1, tip.data);
        until = to;
    }
    until = -1;
    for (size_t i = 0; i < p->t->n_marks; i++) {
        const TimelineMark *m = &p->t->mark[i];
        double x = panel_x(p, m->at_ns);
        if (m->event != TAPE_FAILED || m->rank != w->rank || x < until + 2) continue;
        Point head[3] = {{x, y + 8}, {x - 5, y - 2}, {x + 5, y - 2}};
        p->c->ops->area(p->c, head, 3, FAILED, 1);
        until = x;
    }
    bytes_fini(&tip);
}

static void worker(Panel *p, const WorkerLane *w, const Kinds *k, PanelLane *lane) {
    if (k->has_bands) {
        bands(p, w);
        p->y += SIGNAL_H;
    }
    lane->compute = p->y;
    lane->compute_h = COMPUTE_H * k->scale;
    ground(p, p->y, lane->compute_h);
    hatches(p, w, p->y, lane->compute_h);
    slices(p, w->slice, w->n_slices, w->slice_rows, p->y, lane->compute_h);
    compiles(p, w, p->y);
    worker_name(p, w, lane->compute_h);
    p->y += lane->compute_h + 1;
    lane->transfer = p->y;
    lane->transfer_h = TRANSFER_H * k->scale;
    if (k->has_transfers) {
        ground(p, p->y, lane->transfer_h);
        slices(p, w->transfer, w->n_transfers, w->transfer_rows, p->y, lane->transfer_h);
        if (k->scale == 1) label(p, p->y + lane->transfer_h - 1, "transfers");
        p->y += lane->transfer_h + 2;
    }
    if (k->memory) memory(p, w, k->memory);
    p->y += 9 * k->scale;
}

void panel_workers(Panel *p) {
    Kinds k = {.scale = 1};
    int shown = 0, known = 0;
    for (int i = 0; i < p->t->n_workers; i++) {
        const WorkerLane *w = &p->t->worker[i];
        known += w->is_known;
        k.has_bands |= w->n_bands > 0;
        k.has_transfers |= w->n_transfers > 0;
        for (size_t s = 0; s < w->n_samples; s++)
            if (w->sample[s].bytes > k.memory) k.memory = w->sample[s].bytes;
    }
    if (known > MANY) k.scale = 0.5;
    for (int i = 0; i < p->t->n_workers && i < VIEW_WORKERS; i++) {
        if (!p->t->worker[i].is_known) continue;
        worker(p, &p->t->worker[i], &k, &p->lane[i]);
        shown++;
    }
    if (known == shown) return;
    Bytes b = {0};
    bytes_printf(&b, "... %d more workers", known - shown);
    label(p, p->y + 6, b.data);
    p->y += 14;
    bytes_fini(&b);
}

static void arrow(Panel *p, const ViewMove *m) {
    const PanelLane *from = &p->lane[m->from], *to = &p->lane[m->to];
    bool is_down = to->compute > from->compute;
    double y0 = is_down ? from->compute + from->compute_h : from->compute;
    double y1 = to->transfer + (is_down ? 0 : to->transfer_h);
    double x0 = panel_x(p, m->begin_ns), x1 = panel_x(p, m->end_ns), bend = (y1 - y0) / 2;
    double back = is_down ? -6 : 6; /* the curve ends where the head begins */
    Point curve[4] = {{x0, y0}, {x0, y0 + bend}, {x1, y1 - bend}, {x1, y1 + back / 2}};
    p->c->ops->curve(p->c, curve, 0xffffff, 3, 0.7);
    p->c->ops->curve(p->c, curve, INK, 1.2, 1);
    Point head[3] = {{x1, y1}, {x1 - 3, y1 + back}, {x1 + 3, y1 + back}};
    p->c->ops->area(p->c, head, 3, INK, 1);
}

/* The part of a collective on one worker, or NULL. */
static const Slice *part_of(const WorkerLane *w, const ViewMove *m) {
    size_t low = 0, high = w->n_transfers;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (w->transfer[mid].begin_ns < m->begin_ns)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < w->n_transfers && w->transfer[low].begin_ns <= m->end_ns; low++)
        if (w->transfer[low].id == m->slice->id) return &w->transfer[low];
    return NULL;
}

/* A ribbon through the transfer lanes of all that take part. */
static void collective(Panel *p, const ViewMove *m) {
    uint32_t rgb = watch_class_info[WATCH_TRANSFER].rgb;
    Box last = {0};
    for (int i = m->from; i <= m->to && i < VIEW_WORKERS; i++) {
        const Slice *s = p->lane[i].compute_h ? part_of(&p->t->worker[i], m) : NULL;
        if (!s) continue;
        double x = panel_x(p, s->begin_ns), w = panel_x(p, s->end_ns) - x;
        Box box = {x, p->lane[i].transfer, w < 2 ? 2 : w, p->lane[i].transfer_h};
        p->c->ops->fill(p->c, &box, 1, rgb, 1, NULL);
        Point ribbon[4] = {{last.x, last.y + last.h},
                           {last.x + last.w, last.y + last.h},
                           {box.x + box.w, box.y},
                           {box.x, box.y}};
        if (last.w) p->c->ops->area(p->c, ribbon, 4, rgb, 0.55);
        last = box;
    }
}

/* The largest transfer gets its name. */
static void name_largest(Panel *p, const ViewMove *move, int n) {
    const ViewMove *m = NULL;
    char size[AXIS_LABEL_MAX];
    for (int i = 0; i < n; i++)
        if (!m || move[i].bytes > m->bytes) m = &move[i];
    if (!m || m->from >= VIEW_WORKERS || !p->lane[m->from].compute_h) return;
    Bytes b = {0};
    axis_size(m->bytes, size);
    view_clean(&b, timeline_text(p->t, m->slice->name), 40);
    bytes_printf(&b, " %s", size);
    TextStyle style = {9.5, 0xa34600, TEXT_LEFT, true};
    double w = canvas_text_width(b.data, style.size, true) + 4, x = panel_x(p, m->end_ns) + 4;
    const PanelLane *lane = &p->lane[m->from];
    if (x + w > p->x1) x = panel_x(p, m->begin_ns) - w - 4;
    Box box = {x, lane->transfer - 1, w, 11};
    p->c->ops->fill(p->c, &box, 1, 0xffffff, 0.85, NULL);
    panel_text(p, x + 2, box.y + 8.5, style, b.data);
    bytes_fini(&b);
}

void panel_moves(Panel *p, int arrows) {
    ViewMove *move;
    int n = view_largest(p->t, arrows, &move);
    for (int i = 0; i < n; i++) {
        if (move[i].from >= VIEW_WORKERS || move[i].to >= VIEW_WORKERS) continue;
        if (!p->lane[move[i].from].compute_h || !p->lane[move[i].to].compute_h) continue;
        (move[i].is_collective ? collective : arrow)(p, &move[i]);
    }
    name_largest(p, move, n);
    free(move);
}

/* Joins what touches, and leaves out what lies in a pixel that is full. */
static size_t add_to_path(Point *point, size_t n, double x0, double x1, double y) {
    if (n >= 2 && point[n - 1].y == y && x0 - point[n - 1].x < 0.5) {
        point[n - 1].x = x1;
        return n;
    }
    if (n >= PATH_POINTS && x1 - point[n - PATH_POINTS].x < 1) return n;
    point[n++] = (Point){x0, y};
    point[n++] = (Point){x1, y};
    return n;
}

/* Work is a thick line along its lane; waiting is a thin one on the lane of what waited. */
void panel_path(Panel *p, const Path *path) {
    Point *point = xmalloc((2 * path->n + 2) * sizeof *point), *way;
    size_t n = 0, n_way = 0;
    for (size_t i = 0; i < path->n; i++) {
        const PathStep *s = &path->step[i];
        if (s->worker >= VIEW_WORKERS) continue;
        const PanelLane *lane = &p->lane[s->worker];
        double y = s->is_transfer ? lane->transfer + lane->transfer_h / 2
                                  : lane->compute + lane->compute_h - 2;
        n = add_to_path(point, n, panel_x(p, s->begin_ns), panel_x(p, s->end_ns), y);
    }
    way = xmalloc((2 * n + 1) * sizeof *way);
    for (size_t i = 0; i < n; i++) {
        if (i && i % 2 == 0) way[n_way++] = (Point){point[i - 1].x, point[i].y};
        way[n_way++] = point[i];
    }
    p->c->ops->line(p->c, way, n_way, 0xffffff, 4, 0.8);
    p->c->ops->line(p->c, way, n_way, 0x000000, 1.2, 1);
    for (size_t i = 0; i + 1 < n; i += 2) p->c->ops->line(p->c, &point[i], 2, 0x000000, 4, 1);
    free(way);
    free(point);
}
