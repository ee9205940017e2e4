/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/script.h"

#include "base/str.h"

static const char preludes[] = "cd\0"
                               "set\0";

/* The words in brackets, "" when there is no one command. */
static const char *read_script(const char *text, char *out, size_t size)
{
    struct script script;
    size_t len = 0;

    out[0] = '\0';
    if (!script_read(&script, text, preludes))
        return out;
    for (size_t i = 0; i < script.count; i++)
        len += (size_t)snprintf(out + len, size - len, "[%s]", script.words[i]);
    assert_null(script.words[script.count]);
    return out;
}

static void simple_scripts_have_one_command(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"make", "[make]"},
        {"  make\t-j8  ", "[make][-j8]"},
        {"make;", "[make]"},
        {"make ;\n ;\n", "[make]"},
        {"make # all of it", "[make]"},
        {"# first\nmake\n# last", "[make]"},
        {"make#x", "[make#x]"},
        {"pytest -k 'a or b'", "[pytest][-k][a or b]"},
        {"pytest -k \"a 'or' \\\"b\"", "[pytest][-k][a 'or' \"b]"},
        {"echo ''", "[echo][]"},
        {"echo a'b'\"c\"d", "[echo][abcd]"},
        {"ma\\\nke a\\ b", "[make][a b]"},
        {"A=1 make", "[A=1][make]"},
        {"echo $HOME ${x}", "[echo][$HOME][${x}]"},
        {"make >log 2>&1", "[make]"},
        {"make &> log -j8", "[make][-j8]"},
        {"make >> log < in 2>/dev/null", "[make]"},
        {"make >| log test", "[make][test]"},
        {"make 2 > log", "[make][2]"},
        {"cd x && make", "[make]"},
        {"cd 'a b'; set -e\n make test", "[make][test]"},
        {"cd x", "[cd][x]"},
        /* More than one command, or something that cannot be told. */
        {"", ""},
        {" \n ", ""},
        {"# nothing", ""},
        {"make; ls", ""},
        {"make && ls", ""},
        {"make || true", ""},
        {"make | tail", ""},
        {"make &", ""},
        {"make\nls", ""},
        {"(make)", ""},
        {"$(make)", ""},
        {"echo `make`", ""},
        {"echo \"$(make)\"", ""},
        {"echo \"`make`\"", ""},
        {"echo $'x'", ""},
        {"cat <<END\nx\nEND", ""},
        {"cat <(make)", ""},
        {"make 'x", ""},
        {"make \"x", ""},
        {"make \\", ""},
        {"case x in a) make;; esac", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[200];

        if (!str_eq(read_script(cases[i].text, got, sizeof(got)), cases[i].want))
            fail_msg("%s: %s, wanted %s", cases[i].text, got, cases[i].want);
    }
}

/* Of a long script the first words are kept, each of them whole, and all of it is looked at. */
static void long_scripts_are_cut_between_words(void **state)
{
    static const char *const pieces[] = {" x", " ''", " 'a b'", " >x", " abcdefghijklmnopqrst"};
    enum { REPEAT = 5000, SIZE = REPEAT * 24 };
    str_auto char *text = malloc(SIZE);

    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        struct script script;
        size_t piece = strlen(pieces[i]);

        strcpy(text, "make");
        for (size_t n = 0; n < REPEAT; n++)
            memcpy(text + 4 + n * piece, pieces[i], piece + 1);
        assert_true(script_read(&script, text, preludes));
        assert_string_equal(script.words[0], "make");
        assert_true(script.count <= SCRIPT_WORDS_MAX);
        assert_null(script.words[script.count]);
        strcat(text, " | sh");
        assert_false(script_read(&script, text, preludes));
    }
}

static void a_long_word_is_dropped(void **state)
{
    char text[3 * SCRIPT_TEXT_MAX] = "make ";
    struct script script;

    for (size_t len = SCRIPT_TEXT_MAX - 10; len < SCRIPT_TEXT_MAX + 10; len++) {
        memset(text + 5, 'x', len);
        strcpy(text + 5 + len, " test");
        assert_true(script_read(&script, text, preludes));
        assert_string_equal(script.words[0], "make");
        for (size_t i = 1; i < script.count; i++)
            assert_true(strlen(script.words[i]) == len || str_eq(script.words[i], "test"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_scripts_have_one_command),
        cmocka_unit_test(long_scripts_are_cut_between_words),
        cmocka_unit_test(a_long_word_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
