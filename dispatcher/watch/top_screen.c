/* top_screen.c: see top_screen.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_screen.h"
#include "dispatcher/watch/top_keys.h"
#include <curses.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAIR_CLASS = 1, PAIR_WARN = PAIR_CLASS + WATCH_CLASS_COUNT, ESCAPE_MS = 25 };

static SCREEN *screen;
static bool has_pairs;

/* After an assertion or panic: its message is already written. */
static void on_abort(int number) {
    if (screen) endwin();
    signal(number, SIG_DFL);
    raise(number);
}

/* Colours of the classes: of 256, else the nearest of eight. */
static void make_pairs(void) {
    static const short eight[WATCH_CLASS_COUNT] = {COLOR_BLUE, COLOR_GREEN, COLOR_YELLOW,
                                                   COLOR_MAGENTA, COLOR_RED};
    if (!has_colors() || start_color() == ERR) return;
    use_default_colors();
    for (int c = 0; c < WATCH_CLASS_COUNT; c++)
        init_pair((short)(PAIR_CLASS + c), COLORS >= 256 ? watch_class_info[c].xterm : eight[c],
                  -1);
    init_pair(PAIR_WARN, COLOR_RED, -1);
    has_pairs = true;
}

bool top_screen_open(bool is_colored, Err *err) {
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        err_set(err, ERR_ARG, "standard input or output is not a terminal");
        return err_hint(err, "--once prints one page, --batch prints page after page");
    }
    if (!term || !*term || !(screen = newterm(NULL, stdout, stdin))) {
        err_set(err, ERR_ARG, "the terminal is unknown: TERM='%.40s'", term ? term : "");
        return err_hint(err, "TERM=vt100 suits nearly all; or --batch");
    }
    signal(SIGABRT, on_abort);
    set_escdelay(ESCAPE_MS);
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    if (is_colored) make_pairs();
    return true;
}

void top_screen_close(void) {
    if (!screen) return;
    curs_set(1);
    move(LINES - 1, 0); /* the shell goes on here, where the terminal has no second screen */
    clrtoeol();
    refresh();
    endwin();
    delscreen(screen);
    screen = NULL;
}

void top_screen_size(int *width, int *height) {
    *width = COLS;
    *height = LINES;
}

/* ---- Showing ---- */

static attr_t attributes(const TopCell *cell, short *pair) {
    int style = cell->style;
    attr_t a = A_NORMAL;
    *pair = 0;
    if (style >= STYLE_CLASS && has_pairs) *pair = (short)(PAIR_CLASS + style - STYLE_CLASS);
    if (style == STYLE_WARN && has_pairs) *pair = PAIR_WARN;
    if (style == STYLE_BOLD || style == STYLE_WARN || style == STYLE_KEY) a = A_BOLD;
    if (style == STYLE_TITLE) a = A_UNDERLINE;
    if (style == STYLE_SORT) a = A_UNDERLINE | A_BOLD;
    if (style == STYLE_DIM) a = A_DIM;
    if (cell->is_selected && style < STYLE_CLASS) a |= A_BOLD;
    return a;
}

void top_screen_show(const TopGrid *g) {
    erase();
    for (int y = 0; y < g->height; y++)
        for (int x = 0; x < g->width; x++) {
            const TopCell *cell = &g->cell[(size_t)y * (size_t)g->width + (size_t)x];
            wchar_t text[2] = {(wchar_t)cell->cp, 0};
            cchar_t c;
            short pair;
            attr_t a = attributes(cell, &pair);
            bool is_plain_blank = cell->cp == ' ' && !(a & A_UNDERLINE);
            if (!cell->cp || is_plain_blank || setcchar(&c, text, a, pair, NULL) == ERR) continue;
            mvadd_wch(y, x, &c);
        }
    refresh();
}

/* ---- Keys ---- */

int top_screen_key(void) {
    static const struct {
        int curses, key;
    } names[] = {{KEY_UP, TOP_KEY_UP},         {KEY_DOWN, TOP_KEY_DOWN},
                 {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
                 {KEY_HOME, TOP_KEY_HOME},     {KEY_END, TOP_KEY_END},
                 {KEY_LEFT, TOP_KEY_LEFT},     {KEY_RIGHT, TOP_KEY_RIGHT},
                 {KEY_RESIZE, TOP_KEY_RESIZE}, {KEY_BACKSPACE, TOP_KEY_BACKSPACE},
                 {KEY_DC, TOP_KEY_BACKSPACE},  {KEY_ENTER, '\n'}};
    wint_t c = 0;
    int r = get_wch(&c);
    if (r == ERR) return 0;
    if (r == OK) return c == 127 || c == 8 ? TOP_KEY_BACKSPACE : c < TOP_KEY_UP ? (int)c : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((wint_t)names[i].curses == c) return names[i].key;
    return 0;
}
