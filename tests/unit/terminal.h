/* terminal.h: a terminal for tests: interprets what a program writes (the sequences that ncurses
 * uses for xterm and vt100) and keeps the screen as text. Colours and attributes are dropped.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_TERMINAL_H
#define GT_TESTS_UNIT_TERMINAL_H
#include "runtime/base/arena.h"
#include "runtime/base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TERMINAL_LINES = 64, TERMINAL_COLUMNS = 240, TERMINAL_PARAMETERS = 16 };

typedef struct Terminal {
    int width, height, x, y, top, bottom; /* top, bottom: the scrolling region */
    uint32_t cell[TERMINAL_LINES][TERMINAL_COLUMNS];
    uint32_t last;                /* the last character written, for REP */
    bool is_alternate, is_hidden; /* the alternate screen; the cursor */
    int unknown;                  /* sequences that were not understood */
    char held[64];                /* the beginning of a sequence */
    size_t n_held;
} Terminal;

static void terminal_fill(Terminal *t, int y, int from, int to) {
    for (int x = from; x < to && x < TERMINAL_COLUMNS; x++) t->cell[y][x] = ' ';
}

static void terminal_resize(Terminal *t, int width, int height) {
    t->width = width;
    t->height = height;
    t->top = 0;
    t->bottom = height - 1;
    if (t->x >= width) t->x = width - 1;
    if (t->y >= height) t->y = height - 1;
    for (int y = 0; y < TERMINAL_LINES; y++)
        terminal_fill(t, y, y < height ? width : 0, TERMINAL_COLUMNS);
}

static void terminal_init(Terminal *t, int width, int height) {
    *t = (Terminal){0};
    for (int y = 0; y < TERMINAL_LINES; y++) terminal_fill(t, y, 0, TERMINAL_COLUMNS);
    terminal_resize(t, width, height);
}

/* Moves the lines [from, bottom] down by n (up if n < 0). */
static void terminal_scroll(Terminal *t, int from, int n) {
    int lines = t->bottom - from + 1, by = n < 0 ? -n : n;
    if (by > lines) by = lines;
    size_t bytes = sizeof t->cell[0] * (size_t)(lines - by);
    if (n > 0)
        memmove(t->cell[from + by], t->cell[from], bytes);
    else
        memmove(t->cell[from], t->cell[from + by], bytes);
    for (int k = 0; k < by; k++)
        terminal_fill(t, n > 0 ? from + k : t->bottom - k, 0, TERMINAL_COLUMNS);
}

static void terminal_line_feed(Terminal *t) {
    if (t->y == t->bottom)
        terminal_scroll(t, t->top, -1);
    else if (t->y < t->height - 1)
        t->y++;
}

static void terminal_write(Terminal *t, uint32_t c) {
    int width = utf8_width(c);
    if (t->x + width > t->width) t->x = 0, terminal_line_feed(t);
    t->cell[t->y][t->x] = t->last = c;
    if (width == 2) t->cell[t->y][t->x + 1] = 0;
    t->x += width;
}

static int terminal_within(int v, int most) { return v < 0 ? 0 : v > most ? most : v; }

/* ESC [ parameters final */
static void terminal_control(Terminal *t, const char *text, char final) {
    int p[TERMINAL_PARAMETERS] = {0}, n = 0;
    bool is_private = *text == '?';
    for (const char *s = text + is_private; *s && n < TERMINAL_PARAMETERS; s++)
        if (*s == ';')
            n++;
        else if (*s >= '0' && *s <= '9')
            p[n] = p[n] * 10 + *s - '0';
    int by = p[0] ? p[0] : 1, w = t->width - 1, h = t->height - 1;
    switch (final) {
    case 'H':
    case 'f': t->y = terminal_within(p[0] - 1, h), t->x = terminal_within(p[1] - 1, w); break;
    case 'A': t->y = terminal_within(t->y - by, h); break;
    case 'B': t->y = terminal_within(t->y + by, h); break;
    case 'C': t->x = terminal_within(t->x + by, w); break;
    case 'D': t->x = terminal_within(t->x - by, w); break;
    case 'G': t->x = terminal_within(by - 1, w); break;
    case 'd': t->y = terminal_within(by - 1, h); break;
    case 'J':
        terminal_fill(t, t->y, p[0] ? 0 : t->x, p[0] == 1 ? t->x + 1 : t->width);
        for (int y = 0; y <= h; y++)
            if (p[0] == 2 || (p[0] == 0 && y > t->y) || (p[0] == 1 && y < t->y))
                terminal_fill(t, y, 0, t->width);
        break;
    case 'K': terminal_fill(t, t->y, p[0] ? 0 : t->x, p[0] == 1 ? t->x + 1 : t->width); break;
    case 'X': terminal_fill(t, t->y, t->x, terminal_within(t->x + by, t->width)); break;
    case 'P':
        for (int x = t->x; x < t->width; x++)
            t->cell[t->y][x] = x + by < t->width ? t->cell[t->y][x + by] : ' ';
        break;
    case '@':
        for (int x = t->width - 1; x >= t->x; x--)
            t->cell[t->y][x] = x - by >= t->x ? t->cell[t->y][x - by] : ' ';
        break;
    case 'L': terminal_scroll(t, t->y, by); break;
    case 'M': terminal_scroll(t, t->y, -by); break;
    case 'S': terminal_scroll(t, t->top, -by); break;
    case 'T': terminal_scroll(t, t->top, by); break;
    case 'b':
        while (by--) terminal_write(t, t->last);
        break;
    case 'r':
        t->top = terminal_within(p[0] - 1, h), t->bottom = p[1] ? terminal_within(p[1] - 1, h) : h;
        t->x = t->y = 0;
        break;
    case 'h':
    case 'l':
        if (is_private && p[0] == 1049) t->is_alternate = final == 'h';
        if (is_private && p[0] == 25) t->is_hidden = final == 'l';
        break;
    case 'm':
    case 't':
    case 'g': break;
    default: t->unknown++;
    }
}

/* The bytes of the sequence or character at s: 0 if it is not complete. */
static size_t terminal_step(Terminal *t, const char *s, size_t n) {
    uint32_t c;
    char text[64];
    if (s[0] == '\033') {
        if (n < 2) return 0;
        if (s[1] == '[') {
            size_t i = 2;
            while (i < n && !(s[i] >= '@' && s[i] <= '~')) i++;
            if (i == n) return 0;
            snprintf(text, sizeof text, "%.*s", (int)(i - 2), s + 2);
            terminal_control(t, text, s[i]);
            return i + 1;
        }
        if (s[1] == '(' || s[1] == ')') return n < 3 ? 0 : 3;
        if (s[1] == 'M' && t->y == t->top) terminal_scroll(t, t->top, 1);
        if (s[1] == 'M' && t->y > t->top) t->y--;
        return 2;
    }
    if (s[0] == '\r') t->x = 0;
    if (s[0] == '\n') terminal_line_feed(t);
    if (s[0] == '\b' && t->x > 0) t->x--;
    if (s[0] == '\t') t->x = terminal_within((t->x / 8 + 1) * 8, t->width - 1);
    if ((unsigned char)s[0] < ' ') return 1;
    int len = utf8_decode(s, n, &c);
    if (!len && n < 4) return 0;
    terminal_write(t, len ? c : '?');
    return len ? (size_t)len : 1;
}

/* Interprets n bytes; the beginning of a sequence waits for its rest. */
static void terminal_feed(Terminal *t, const char *s, size_t n) {
    for (size_t i = 0; i < n || t->n_held;) {
        while (t->n_held < sizeof t->held && i < n) t->held[t->n_held++] = s[i++];
        size_t took = terminal_step(t, t->held, t->n_held);
        if (!took && i == n) return;
        if (!took) took = 1, t->unknown++;
        memmove(t->held, t->held + took, t->n_held -= took);
    }
}

/* The screen's lines without the blanks at their ends; the caller frees. */
static char *terminal_text(const Terminal *t) {
    Bytes out = {0};
    for (int y = 0; y < t->height; y++) {
        int n = t->width;
        while (n > 0 && t->cell[y][n - 1] == ' ') n--;
        for (int x = 0; x < n; x++) {
            char bytes[4];
            if (t->cell[y][x]) bytes_add(&out, bytes, (size_t)utf8_encode(t->cell[y][x], bytes));
        }
        bytes_putc(&out, '\n');
    }
    return out.data;
}
#endif
