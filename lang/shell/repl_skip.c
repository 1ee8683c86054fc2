/* repl_skip.c: see repl_skip.h. Braces are counted by a scanner of its own, which keeps its state
 * from line to line: what follows a syntax error need not be valid tokens.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/repl_skip.h"
#include <ctype.h>
#include <string.h>

/* `quote` of a string in triple quotes: the letter, with this bit. Only such strings go on in the
 * next line. */
enum { TRIPLE = 0x40 };

static bool is_triple(const char *s) { return s[1] == s[0] && s[2] == s[0]; }

/* Adds to s->braces what the text opens, less what it closes, outside of strings and comments.
 * Returns the same of parentheses. */
static int count(Skip *s, const char *text) {
    int round = 0;
    for (; *text; text++) {
        char c = *text;
        if (s->quote) {
            bool is_long = s->quote & TRIPLE;
            char quote = is_long ? (char)(s->quote & ~TRIPLE) : s->quote;
            if (c == '\\' && text[1] && text[1] != '\n')
                text++;
            else if ((c == '\n' && !is_long) || (c == quote && (!is_long || is_triple(text)))) {
                s->quote = 0;
                if (is_long) text += 2;
            }
        } else if (c == '"' || c == '\'') {
            s->quote = is_triple(text) ? (char)(c | TRIPLE) : c;
            if (s->quote & TRIPLE) text += 2;
        } else if (c == '#') {
            text += strcspn(text, "\n") - 1;
        } else {
            s->braces += (c == '{') - (c == '}');
            round += (c == '(' || c == '[') - (c == ')' || c == ']');
        }
    }
    if (s->quote && !(s->quote & TRIPLE)) s->quote = 0;
    return round;
}

bool skip_is_else(const char *line) {
    line += strspn(line, " \t");
    bool is_word = !strncmp(line, "else", 4) || !strncmp(line, "elif", 4);
    return is_word && !isalnum((unsigned char)line[4]) && line[4] != '_';
}

void skip_begin(Skip *s, const char *text, size_t n, uint32_t line) {
    while (n && strchr(" \t\r\n", text[n - 1])) n--;
    *s = (Skip){.line = line, .may_go_on = true};
    int round = count(s, text);
    if (s->braces < 0) s->braces = 0;
    s->is_indented = !s->braces && n && (text[n - 1] == ':' || round > 0);
}

bool skip_line(Skip *s, const char *line, bool by_hand) {
    bool is_blank = !line[strspn(line, " \t\r")], is_indented = *line == ' ' || *line == '\t';
    bool is_first = !s->braces && !s->quote && !s->is_indented;
    if (is_first) {
        if (is_blank || *line == '#') return false;
        s->may_go_on = s->may_go_on && skip_is_else(line);
        if (!s->may_go_on) return false;
    } else if (s->is_indented || by_hand) {
        bool is_end = by_hand && is_blank;
        bool is_inside = is_indented || is_blank || (s->braces && *line == '}');
        if (is_end || !is_inside) *s = (Skip){0};
        if (is_end || !is_inside || s->is_indented) return is_inside;
    }
    count(s, line);
    if (s->braces < 0) s->braces = 0;
    return true;
}
