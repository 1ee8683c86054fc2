/* typing.c: see typing.h. Readline keeps the line and its history, and finds the function of each
 * key; the keys bound here complete, indent, and end the line. Where the terminal understands
 * ECMA-48 the line is drawn by draw.c instead of readline. With TERM=dumb only Tab differs from
 * plain readline: nothing is indented or coloured.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/typing.h"
#include "lang/shell/edit.h"
#include "lang/complete/paint.h"
#include "lang/shell/draw.h"
#include "lang/shell/typing_line.h"
#include "lang/error/interrupt.h"
#include "runtime/base/utf8.h"
#include <ctype.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifdef EDIT_NONE

/* The terminal has the line. */
void typing_open(Interp *in) {}
void typing_begin(const TypingBefore *before) {}
void typing_end(bool has_newline) {}
void typing_resized(void) {}
void typing_stopped(void) {}
void typing_erase(void) { fputs("\n", stderr); }
void typing_again(void) { rl_redisplay(); }

#else

/* libedit says 4.2: it has its own display. */
#define CAN_DRAW (RL_READLINE_VERSION >= 0x0600)

enum {
    WHOLE_MAX = 8 << 10, /* bytes of a statement that each key may go through */
    COLOR_MAX = 32 << 10 /* bytes of a line, with those, that have colours */
};

/* Readline's functions take no argument of ours: one prompt a process. */
static struct {
    Interp *in;
    const char *before; /* lines of the statement before this one */
    size_t n_before;
    const char *shape; /* those of them that indents and colours need: all, if they are few */
    size_t n_shape;
    size_t n_indent; /* blanks that the line began with */
    Drawing drawing;
    bool draws, has_color;
} typing;

/* True if more keys have arrived: text is being pasted without brackets, or typed ahead. */
static bool input_waits(void) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&in, 1, 0) > 0 && (in.revents & POLLIN);
}

/* The terminal's size now: readline learns of a change only with the next key. */
static void screen_size(int *width, int *height) {
    struct winsize w = {0};
    *width = *height = 0;
    rl_get_screen_size(height, width);
    if (!ioctl(fileno(rl_outstream), TIOCGWINSZ, &w) && w.ws_col > 1 && w.ws_row > 1) {
        if (w.ws_col != *width || w.ws_row != *height) rl_set_screen_size(w.ws_row, w.ws_col);
        *width = w.ws_col;
        *height = w.ws_row;
    }
    if (*width < 2) *width = 80;
    if (*height < 2) *height = 24;
}

static void write_out(Bytes *b) {
    bytes_write(b, rl_outstream);
    fflush(rl_outstream);
}

static bool is_dumb(void) {
    const char *term = getenv("TERM");
    return !term || !*term || !strcmp(term, "dumb") || !strcmp(term, "unknown");
}

/* ---- drawing ---- */

#if CAN_DRAW

/* Marks the bracket at the cursor and its partner, if that is in this line. */
static void mark_brackets(const Bytes *all, size_t cursor, uint8_t *class) {
    size_t bracket, partner, at = typing.n_shape;
    if (!paint_match(all->data, all->n, cursor, &bracket, &partner)) return;
    if (bracket >= at) class[bracket] = PAINT_MATCH;
    if (partner >= at) class[partner] = PAINT_MATCH;
}

static void draw_line(bool is_last) {
    Bytes all = {0}, out = {0};
    uint8_t *class = NULL;
    int width, height;
    size_t n = (size_t)rl_end, cursor = (size_t)rl_point;
    const char *prompt = rl_display_prompt ? rl_display_prompt : "";
    bool is_word = !typing.n_before && n && strchr(":?!", rl_line_buffer[0]);
    if (typing.has_color && n && !is_word && n + typing.n_shape <= COLOR_MAX) {
        bytes_add(&all, typing.shape, typing.n_shape);
        bytes_add(&all, rl_line_buffer, n);
        class = xmalloc(all.n + 1);
        PaintText p = {.text = all.data,
                       .n = all.n,
                       .from = typing.n_shape,
                       .cursor = typing.n_shape + cursor,
                       .is_part = typing.shape != typing.before};
        paint_text(typing.in, &p, class);
        if (!is_last) mark_brackets(&all, p.cursor, class);
    }
    DrawText t = {.prompt = prompt,
                  .text = rl_line_buffer,
                  .n = n,
                  .cursor = is_last ? n : cursor,
                  .class = class ? class + typing.n_shape : NULL};
    screen_size(&width, &height);
    draw(&typing.drawing, &t, width, height, &out);
    write_out(&out);
    free(class);
    bytes_fini(&all);
}

/* In place of rl_redisplay. Of keys that arrive together only the last is drawn. */
static void redisplay(void) {
    if (!input_waits()) draw_line(false);
}

static int on_clear(int count, int key) {
    fputs("\033[H\033[2J", rl_outstream);
    draw_forget(&typing.drawing);
    draw_line(false);
    return 0;
}

/* True if the terminal understands the sequences of draw.c. */
static bool can_draw(void) { return !is_dumb() && isatty(fileno(rl_outstream)); }

/* True if the line holds no more than its indent. */
static bool is_untouched(void) {
    return typing.n_indent && (size_t)rl_end == typing.n_indent &&
           strspn(rl_line_buffer, " ") == typing.n_indent;
}

static int on_enter(int count, int key) {
    if (is_untouched()) rl_delete_text(0, rl_end);
    rl_point = rl_end;
    if (typing.draws) draw_line(true);
    return rl_newline(count, key);
}

static void undo_group(bool begins) {
    if (begins)
        rl_begin_undo_group();
    else
        rl_end_undo_group();
}
#else
static void draw_line(bool is_last) {}
static bool can_draw(void) { return false; }
static void undo_group(bool begins) {}
#endif

/* ---- Ctrl-Z ---- */

static volatile sig_atomic_t stop_asked;

static void on_stop(int number) { stop_asked = 1; }

/* Changes what SIGTSTP does, unless the parent process left it ignored. */
static void handle_stop(void (*handler)(int)) {
    struct sigaction now, next = {.sa_handler = handler}; /* no SA_RESTART: poll comes back */
    if (!sigaction(SIGTSTP, NULL, &now) && now.sa_handler != SIG_IGN)
        sigaction(SIGTSTP, &next, NULL);
}

void typing_stopped(void) {
    Bytes out = {0};
    if (!stop_asked) return;
    stop_asked = 0;
    if (typing.draws) draw_end(&typing.drawing, &out);
    write_out(&out);
    rl_deprep_terminal();
    handle_stop(SIG_DFL);
    raise(SIGTSTP);
    handle_stop(on_stop);
    rl_prep_terminal(1);
    draw_forget(&typing.drawing);
    typing_again();
}

/* ---- a line begins and ends ---- */

void typing_begin(const TypingBefore *before) {
    bool is_long = before->n > WHOLE_MAX;
    typing.before = before->text;
    typing.n_before = before->n;
    typing.shape = is_long ? before->open : before->text;
    typing.n_shape = is_long ? before->n_open : before->n;
    draw_forget(&typing.drawing);
    handle_stop(on_stop);
#if CAN_DRAW
    rl_eof_found =
        0; /* after Ctrl-D, which may not have left, each line would end with a newline */
#endif
}

void typing_end(bool has_newline) {
    Bytes out = {0};
    handle_stop(SIG_DFL);
    if (!typing.draws) return;
    draw_end(&typing.drawing, &out);
    if (has_newline) bytes_puts(&out, "\r\n");
    write_out(&out);
    draw_forget(&typing.drawing);
}

void typing_resized(void) {
    int width, height;
    if (!typing.draws || !typing.drawing.n_rows) return;
    screen_size(&width, &height);
    if (width != typing.drawing.width || height != typing.drawing.height) draw_line(false);
}

void typing_erase(void) {
    Bytes out = {0};
    if (typing.draws)
        draw_erase(&typing.drawing, &out);
    else
        bytes_puts(&out, is_dumb() ? "\n" : "\r\033[K");
    write_out(&out);
}

void typing_again(void) {
    if (typing.draws) {
        draw_line(false);
        return;
    }
    rl_on_new_line();
    rl_redisplay();
}

/* ---- Tab ---- */

static void insert_blanks(size_t n) {
    char blanks[33] = "                                ";
    for (; n > 32; n -= 32) rl_insert_text(blanks);
    blanks[n] = '\0';
    rl_insert_text(blanks);
}

/* The beginning of the cursor's line in the text being edited. */
static int line_begin(void) {
    int at = rl_point;
    while (at > 0 && rl_line_buffer[at - 1] != '\n') at--;
    return at;
}

/* True if only blanks are before the cursor in its line. */
static bool at_margin(void) {
    for (int at = line_begin(); at < rl_point; at++)
        if (rl_line_buffer[at] != ' ') return false;
    return true;
}

/* Replaces the text from `start` to the cursor. libedit deletes no text for a key's function: false
 * unless the new text begins with what is there. */
static bool replace(size_t start, const char *text, size_t n) {
    size_t n_there = (size_t)rl_point - start;
    bool begins = n >= n_there && !memcmp(rl_line_buffer + start, text, n_there);
    if (!CAN_DRAW && !begins) return false;
    if (begins) start += n_there, text += n_there, n -= n_there;
    char *copy = xstrndup(text, n);
    undo_group(true);
    rl_delete_text((int)start, rl_point);
    rl_point = (int)start;
    rl_insert_text(copy);
    undo_group(false);
    free(copy);
    return true;
}

#if CAN_DRAW
static int read_key(void) {
    rl_getc_func_t *before = rl_getc_function;
    rl_getc_function = edit_key;
    int key = rl_read_key();
    rl_getc_function = before;
    return interrupt_count ? EOF : key;
}
#else
static int read_key(void) {
    while (!interrupt_count && !input_waits()) usleep(10000);
    return interrupt_count ? EOF : rl_read_key();
}
#endif

/* Asks, and erases the question. The answer is the first of the keys that is pressed; that of a
 * key that leaves, such as Ctrl-C or the end of input, is 'n'. */
static char ask(const char *question, const char *keys) {
    fputs(question, rl_outstream);
    fflush(rl_outstream);
    int key;
    for (;; rl_ding()) {
        key = read_key();
        if (key == EOF || key == 'G' - '@' || key == 'C' - '@' || key == '\177') key = 'n';
        if (key == '\r') key = '\n';
        if (strchr(keys, key | 0x20) && isalpha(key)) key |= 0x20;
        if (key && strchr(keys, key)) break;
    }
    fputs(is_dumb() ? "\n" : "\r\033[K", rl_outstream);
    return (char)key;
}

/* Shows a text a page at a time, as more(1) does. */
static void show_pages(const Bytes *text, int height) {
    int left = height - 1;
    for (const char *s = text->n ? text->data : ""; *s;) {
        size_t n = strcspn(s, "\n") + 1;
        if (left == 0) {
            char key = ask("--More--", "yn q\n\t");
            if (key == 'n' || key == 'q') return;
            left = key == '\n' ? 1 : height - 1;
        }
        fwrite(s, 1, n, rl_outstream);
        left--;
        s += n;
    }
}

/* Shows the candidates: more than the terminal should show unasked, after a question. */
static void list(const Completion *c) {
    Bytes out = {0}, all = {0};
    int width, height, point = rl_point;
    char question[80];
    bool asks = rl_completion_query_items > 0 && c->n >= (size_t)rl_completion_query_items;
    snprintf(question, sizeof question, "Display all %zu possibilities? (y or n)", c->n);
    screen_size(&width, &height);
    if (typing.draws) draw_end(&typing.drawing, &out);
    bytes_puts(&out, typing.draws ? "\r\n" : "\n");
    write_out(&out);
    if (!asks || strchr("y \t", ask(question, "yn \t"))) {
        line_list(c, width, asks ? INT_MAX : height, typing.has_color, &all);
        show_pages(&all, asks ? height : INT_MAX);
    }
    bytes_fini(&all);
    fflush(rl_outstream);
    draw_forget(&typing.drawing);
    rl_point = point;
    rl_on_new_line();
    if (!typing.draws) rl_forced_update_display();
}

/* Inserts what is certain; returns true if the one candidate was. */
static bool insert_common(const Completion *c) {
    size_t n_word = (size_t)rl_point - c->start, n = completion_common(c);
    const Candidate *first = &c->item[0];
    bool is_new = n > n_word || (n == n_word && memcmp(rl_line_buffer + c->start, first->text, n));
    if (n < n_word) return false;
    if (is_new && !replace(c->start, first->text, n)) return false;
    if (c->n > 1) return false;
    size_t n_after = strlen(first->after);
    bool is_there = n_after && !strncmp(rl_line_buffer + rl_point, first->after, n_after);
    if (!is_there) rl_insert_text(first->after);
    return is_new || (n_after && !is_there);
}

static int on_tab(int count, int key) {
    Completion c;
    size_t column = (size_t)(rl_point - line_begin());
    bool is_typed = !input_waits();
    if (!is_typed || at_margin()) {
        insert_blanks(PAINT_INDENT - column % PAINT_INDENT);
        return 0;
    }
    line_complete(typing.in, typing.before, typing.n_before, rl_line_buffer, (size_t)rl_end,
                  (size_t)rl_point, &c);
    if (!c.n)
        rl_ding();
    else if (!insert_common(&c))
        list(&c);
    completion_fini(&c);
    if (!CAN_DRAW) rl_forced_update_display();
    return 0;
}

/* ---- indents ---- */

#if CAN_DRAW
/* The text before the cursor, from the beginning of the statement. */
static void text_before(Bytes *b) {
    bytes_add(b, typing.shape ? typing.shape : "", typing.n_shape);
    bytes_add(b, rl_line_buffer, (size_t)rl_point);
}

/* Backspace within the indent of a block goes back one level. */
static int on_rubout(int count, int key) {
    int column = rl_point - line_begin(), back = (column - 1) % PAINT_INDENT + 1;
    if (!typing.draws || !typing.n_before || !at_margin() || column < 2)
        return rl_rubout(count, key);
    rl_delete_text(rl_point - back, rl_point);
    rl_point -= back;
    return 0;
}

/* Ctrl-D in a line that holds its indent alone ends the input, as in an empty one. Readline takes
 * it so if another key came before. */
static int on_delete(int count, int key) {
    if (!is_untouched()) return rl_delete(count, key);
    rl_delete_text(0, rl_end);
    rl_point = 0;
    rl_stuff_char('E' & 0x1f);
    rl_stuff_char(key);
    return 0;
}

/* A closing bracket that begins its line stands below the line that it closes. */
static int on_close(int count, int key) {
    char bracket[2] = {(char)key, 0};
    if (typing.draws && at_margin() && rl_point > line_begin() && !input_waits()) {
        Bytes b = {0};
        text_before(&b);
        b.n -= (size_t)(rl_point - line_begin());
        size_t want = paint_outdent(b.data ? b.data : "", b.n);
        size_t has = (size_t)(rl_point - line_begin());
        if (want < has) {
            int to = rl_point - (int)(has - want);
            rl_delete_text(to, rl_point);
            rl_point = to;
        }
        bytes_fini(&b);
    }
    for (; count > 0; count--) rl_insert_text(bracket);
    return 0;
}

/* ---- a text of several lines ---- */

/* Alt-Enter: a line end within the text, and the indent of the line that it begins. */
static int on_newline(int count, int key) {
    Bytes b = {0};
    text_before(&b);
    bytes_putc(&b, '\n');
    rl_begin_undo_group();
    rl_insert_text("\n");
    insert_blanks(paint_indent(b.data, b.n));
    rl_end_undo_group();
    bytes_fini(&b);
    return 0;
}

/* The columns between two places of the text, with the prompt if they begin at the first line. */
static int columns_between(int from, int to) {
    int columns = 0;
    uint32_t cp;
    for (const char *p = from == 0 && rl_display_prompt ? rl_display_prompt : ""; *p; columns++) {
        int n = utf8_decode(p, strlen(p), &cp);
        p += n ? n : 1;
    }
    while (from < to) {
        int n = utf8_decode(rl_line_buffer + from, (size_t)(to - from), &cp);
        columns += n ? utf8_width(cp) : 1;
        from += n ? n : 1;
    }
    return columns;
}

/* Moves the cursor to the line above or below. False if there is none. */
static bool move_line(bool is_up) {
    int begin = line_begin(), end = rl_point;
    while (end < rl_end && rl_line_buffer[end] != '\n') end++;
    if (is_up ? begin == 0 : end == rl_end) return false;
    int columns = columns_between(begin, rl_point);
    rl_point = is_up ? begin - 1 : end + 1;
    int to = line_begin(), last = to;
    while (last < rl_end && rl_line_buffer[last] != '\n') last++;
    for (rl_point = to; rl_point < last && columns_between(to, rl_point) < columns;) {
        uint32_t cp;
        int n = utf8_decode(rl_line_buffer + rl_point, (size_t)(last - rl_point), &cp);
        rl_point += n ? n : 1;
    }
    return true;
}

/* The cursor stands at the end of the entry's first line, so that the next Arrow-up goes on to the
 * entry before. */
static int on_up(int count, int key) {
    if (move_line(true)) return 0;
    int entry = where_history(), result = rl_get_previous_history(count, key);
    const char *end = memchr(rl_line_buffer, '\n', (size_t)rl_end);
    if (where_history() != entry && end) rl_point = (int)(end - rl_line_buffer);
    return result;
}

static int on_down(int count, int key) {
    return move_line(false) ? 0 : rl_get_next_history(count, key);
}
#endif

/* ---- keys ---- */

#if CAN_DRAW
/* For readline's other commands, such as menu-complete: the candidates of the word that readline
 * sees at `start`, which may begin before or behind ours. */
static char **all_matches(const char *text, int start, int end) {
    Completion c;
    size_t from = (size_t)start;
    line_complete(typing.in, typing.before, typing.n_before, rl_line_buffer, (size_t)rl_end,
                  (size_t)end, &c);
    char **match = xcalloc(c.n + 2, sizeof *match);
    size_t n = 0, n_common = completion_common(&c);
    for (size_t i = 0; i <= c.n && c.n; i++) { /* the first is what all have in common */
        const Candidate *k = &c.item[i ? i - 1 : 0];
        Bytes b = {0};
        if (c.start > from) bytes_add(&b, rl_line_buffer + from, c.start - from);
        bytes_add(&b, k->text, i ? strlen(k->text) : n_common);
        if (c.n == 1) bytes_puts(&b, k->after);
        size_t skip = c.start < from ? from - c.start : 0;
        if (skip > b.n) skip = b.n;
        match[n++] = xstrdup((b.data ? b.data : "") + skip);
        bytes_fini(&b);
        if (c.n == 1) break;
    }
    completion_fini(&c);
    rl_attempted_completion_over = 1;
    rl_completion_append_character = '\0';
    if (n) return match;
    free(match);
    return NULL;
}

/* Binds keys in a map to f, if they have the function `old` there. */
static void rebind_keys(const char *keys, Keymap map, rl_command_func_t *old,
                        rl_command_func_t *f) {
    int type = 0;
    rl_command_func_t *now = rl_function_of_keyseq(keys, map, &type);
    if (type == ISFUNC && now == old) rl_bind_keyseq_in_map(keys, f, map);
}

static void rebind(int key, Keymap map, rl_command_func_t *old, rl_command_func_t *f) {
    char keys[2] = {(char)key, 0};
    rebind_keys(keys, map, old, f);
}

static void bind_erase(void) {
    const Keymap maps[] = {emacs_standard_keymap, vi_insertion_keymap};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        rebind(0x7f, maps[i], rl_rubout, on_rubout);
        rebind('H' & 0x1f, maps[i], rl_rubout, on_rubout);
    }
}

static void bind_keys(void) {
    rl_attempted_completion_function = all_matches;
    static const char closing[] = ")]}";
    const Keymap maps[] = {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        rebind('\t', maps[i], rl_complete, on_tab);
        rebind('\r', maps[i], rl_newline, on_enter);
        rebind('\n', maps[i], rl_newline, on_enter);
        rebind('D' & 0x1f, maps[i], rl_delete, on_delete);
        for (const char *c = closing; *c && maps[i] != vi_movement_keymap; c++)
            rebind(*c, maps[i], rl_insert, on_close);
        if (!typing.draws) continue;
        rebind('L' & 0x1f, maps[i], rl_clear_screen, on_clear);
        rebind_keys("\033[A", maps[i], rl_get_previous_history, on_up);
        rebind_keys("\033OA", maps[i], rl_get_previous_history, on_up);
        rebind_keys("\033[B", maps[i], rl_get_next_history, on_down);
        rebind_keys("\033OB", maps[i], rl_get_next_history, on_down);
    }
    if (!typing.draws) return;
    rebind_keys("\033\r", emacs_standard_keymap, rl_vi_editing_mode, on_newline);
    rebind_keys("\033\n", emacs_standard_keymap, rl_vi_editing_mode, on_newline);
}
#else
static void bind_erase(void) {}
/* rl_bind_key() of libedit takes functions of its own only. */
static void bind_keys(void) { rl_add_defun("gtsh-complete", on_tab, '\t'); }
#endif

/* When a line begins: the keys of the terminal, which readline binds anew for each line, and within
 * a statement the indent of its level. */
static int on_begin(void) {
    bind_erase();
    typing.n_indent = 0;
    if (typing.draws && typing.n_before && !input_waits())
        typing.n_indent = paint_indent(typing.shape, typing.n_shape);
    insert_blanks(typing.n_indent);
    return 0;
}

void typing_open(Interp *in) {
    typing.in = in;
    rl_initialize(); /* reads the user's inputrc */
    typing.draws = can_draw();
    typing.has_color = typing.draws && in->config.color_err;
    rl_startup_hook = on_begin;
#if CAN_DRAW
    if (typing.draws) rl_redisplay_function = redisplay;
#endif
    bind_keys();
}

#endif
