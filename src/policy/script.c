/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of a small part of the shell's language. What it does not know (substitutions, pipes,
 * groups, here-documents) makes the script one that cannot be told, never one that is misread.
 */
#include "policy/script.h"

#include <string.h>

#include "base/str.h"

enum token {
    TOKEN_WORD,
    TOKEN_NEXT, /* ";", "&&" or a new line: another command may follow */
    TOKEN_END,
    TOKEN_OTHER, /* something that makes it no simple script */
};

struct reader {
    const char *at;
    struct script *script;
    bool full; /* no more words are kept; those that are tell what the command is */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* One character of a word that is being kept; the last place is for its NUL. */
static void keep(struct reader *reader, char c)
{
    struct script *script = reader->script;

    if (!reader->full && script->len < SCRIPT_TEXT_MAX - 1)
        script->text[script->len++] = c;
    else
        reader->full = true;
}

/* The rest of a quoted part, with its end. False for one that has none, or runs a command. */
static bool read_quoted(struct reader *reader, char quote)
{
    while (*reader->at != quote) {
        char c = *reader->at;

        if (c == '\0' || (quote == '"' && (c == '`' || str_starts(reader->at, "$("))))
            return false;
        if (quote == '"' && c == '\\' && reader->at[1])
            c = *++reader->at;
        keep(reader, c);
        reader->at++;
    }
    reader->at++;
    return true;
}

/* One character outside of quotes, or one quoted part. */
static bool read_piece(struct reader *reader)
{
    char c = *reader->at++;

    if (c == '\'' || c == '"')
        return read_quoted(reader, c);
    if (c == '`' || (c == '$' && (*reader->at == '(' || *reader->at == '\'')))
        return false;
    if (c == '\\') {
        c = *reader->at;
        if (c == '\0')
            return false;
        reader->at++;
        if (c == '\n')
            return true;
    }
    keep(reader, c);
    return true;
}

static enum token read_word(struct reader *reader)
{
    struct script *script = reader->script;
    size_t start = script->len;

    reader->full = reader->full || script->count == SCRIPT_WORDS_MAX;
    while (*reader->at && !strchr(" \t\n;&|<>()", *reader->at)) {
        if (!read_piece(reader))
            return TOKEN_OTHER;
    }
    if (reader->full) {
        script->len = start; /* a part of a word is none */
        return TOKEN_WORD;
    }
    script->text[script->len++] = '\0';
    script->words[script->count++] = script->text + start;
    reader->full = script->len == SCRIPT_TEXT_MAX;
    return TOKEN_WORD;
}

static void drop_last(struct reader *reader)
{
    struct script *script = reader->script;

    script->len = (size_t)(script->words[--script->count] - script->text);
    reader->full = false;
}

/* ">file", "2>&1", "<file", "&>file": at its first sign. What follows it belongs to it. */
static bool read_redirection(struct reader *reader)
{
    size_t before = reader->script->count;
    bool full = reader->full;

    if (str_starts(reader->at, "<<") || str_starts(reader->at, "<(") ||
        str_starts(reader->at, ">("))
        return false;
    reader->at += strspn(reader->at, "&<>");
    reader->at += *reader->at == '|';
    while (is_blank(*reader->at))
        reader->at++;
    if (read_word(reader) != TOKEN_WORD)
        return false;
    if (reader->script->count > before)
        drop_last(reader);
    reader->full = full;
    return true;
}

/* Whether a word that ends here is the number of a redirection: the 2 of "2>&1". */
static bool is_descriptor(const char *at)
{
    size_t digits = strspn(at, "0123456789");

    return digits > 0 && (at[digits] == '<' || at[digits] == '>');
}

static enum token read_sign(struct reader *reader)
{
    const char *at = reader->at;
    size_t len = *at == ';' || *at == '\n' ? 1 : str_starts(at, "&&") ? 2 : 0;

    if (*at == '\0')
        return TOKEN_END;
    if (len == 0 || str_starts(at, ";;"))
        return TOKEN_OTHER;
    reader->at += len;
    return TOKEN_NEXT;
}

static enum token read_token(struct reader *reader)
{
    for (;;) {
        while (is_blank(*reader->at))
            reader->at++;
        if (*reader->at == '#')
            reader->at += strcspn(reader->at, "\n");
        if (is_descriptor(reader->at))
            reader->at += strspn(reader->at, "0123456789");
        if (*reader->at != '<' && *reader->at != '>' && !str_starts(reader->at, "&>"))
            break;
        if (!read_redirection(reader))
            return TOKEN_OTHER;
    }
    return *reader->at && !strchr("\n;&|()", *reader->at) ? read_word(reader) : read_sign(reader);
}

/* The words up to the end of one command; tells what ended it. */
static enum token read_command(struct reader *reader)
{
    enum token token;

    reader->script->count = 0;
    reader->script->len = 0;
    reader->full = false;
    do {
        token = read_token(reader);
    } while (token == TOKEN_WORD);
    reader->script->words[reader->script->count] = NULL;
    return token;
}

static bool is_one_of(const char *word, const char *list)
{
    for (; *list; list += strlen(list) + 1) {
        if (str_eq(list, word))
            return true;
    }
    return false;
}

bool script_read(struct script *script, const char *text, const char *preludes)
{
    struct reader reader = {.at = text, .script = script};
    enum token token;

    do {
        token = read_command(&reader);
    } while (token == TOKEN_NEXT && (script->count == 0 || is_one_of(script->words[0], preludes)));
    /* Signs and comments may follow, but no second command: it would not be the one that was read. */
    while (token == TOKEN_NEXT) {
        reader.at += strspn(reader.at, " \t\n;");
        if (*reader.at == '#')
            reader.at += strcspn(reader.at, "\n");
        else
            token = *reader.at ? TOKEN_OTHER : TOKEN_END;
    }
    return token == TOKEN_END && script->count > 0;
}
