/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/json.h"

#include <stdlib.h>

#include "base/str.h"

static void documents_that_are_refused(void **state)
{
    static const struct {
        const char *text, *where, *msg; /* parts of what is said */
    } cases[] = {
        {"", "f:1:0", "not valid JSON"},
        {"{", "f:1:1", "not valid JSON"},
        {"{\"a\":1,}", "f:1:8", "not valid JSON"},
        {"{\n  \"a\": x\n}", "f:2:8", "not valid JSON"},
        {"{\"a\":1} x", "f:1:9", "end of file expected"},
        {"{\"a\":1}{}", "f:1:8", "end of file expected"},
        {"{\"a\":1,\"a\":2}", "f:1:10", "duplicate object key"},
        {"{\"a\":{\"b\":1,\"b\":2}}", "f:1:15", "duplicate object key"},
        {"{\"a\":\"x\\u0000y\"}", "f:1:", "a string contains NUL"},
        {"{\"a\\u0000b\":1}", "f:1:", "a key contains NUL"},
        {"{\"a\":\"\xff\"}", "f:1:", "unable to decode byte 0xff"},
        {"{\"a\":\"\xed\xa0\x80\"}", "f:1:", "unable to decode"},
        {"{\"a\":99999999999999999999}", "f:1:", "too big integer"},
        {"{\"a\":1e999}", "f:1:", "real number overflow"},
        {"[1]", "f", "must be a JSON object, not an array"},
        {"\xef\xbb\xbf{}", "f:1:", "not valid JSON"},
        {"{\"a\":\"\033[2J\"}", "f:1:", "control character 0x1b"},
        {"// {}", "f:1:", "not valid JSON"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        json_t *root = NULL;

        int r = json_parse_object(cases[i].text, strlen(cases[i].text), 1000, "f", &root, &err);
        if (r != HUTCH_EPOLICY || err.code != r || root || !str_starts(err.where, cases[i].where) ||
            !strstr(err.msg, cases[i].msg) || strchr(err.msg, '\n'))
            fail_msg("case %zu: %d at '%s': %s", i, r, err.where, err.msg);
    }
}

static void raw_nul_is_refused(void **state)
{
    struct hutch_error err;
    json_t *root = NULL;

    assert_int_equal(json_parse_object("{\"a\":\"x\0y\"}", 11, 1000, "f", &root, &err),
                     HUTCH_EPOLICY);
    assert_int_equal(json_parse_object("{}\0", 3, 1000, "f", &root, &err), HUTCH_EPOLICY);
    assert_null(root);
}

static void good_documents_are_read(void **state)
{
    json_auto_ref json_t *root = NULL;

    static const char text[] = "{\"b\":[1],\"a\":\"[[{{\\\"[\"}";
    size_t len = strlen(text);

    assert_int_equal(json_parse_object(text, len, len, "f", &root, NULL), 0);
    assert_int_equal(json_object_size(root), 2);
    assert_string_equal(json_string_value(json_object_get(root, "a")), "[[{{\"[");
}

static void size_and_depth_are_limited(void **state)
{
    struct hutch_error err;
    json_t *root = NULL;
    char text[200];

    assert_int_equal(json_parse_object("{   }", 5, 4, "f", &root, &err), HUTCH_EPOLICY);
    assert_string_equal(err.msg, "5 bytes of JSON are too many: at most 4");

    for (size_t depth = 60; depth < 70; depth++) {
        size_t len = (size_t)snprintf(text, sizeof(text), "{\"a\":");

        memset(text + len, '[', depth - 1);
        memset(text + len + depth - 1, ']', depth - 1);
        strcpy(text + len + 2 * (depth - 1), "}");
        int r = json_parse_object(text, strlen(text), 1000, "f", &root, &err);
        assert_int_equal(r, depth <= 64 ? 0 : HUTCH_EPOLICY);
        if (r == 0)
            json_decref(root);
        else
            assert_non_null(strstr(err.msg, "nested deeper"));
    }
}

static void pointers(void **state)
{
    char pointer[12] = "";

    json_pointer_push(pointer, sizeof(pointer), "a");
    assert_string_equal(pointer, "/a");
    json_pointer_push(pointer, sizeof(pointer), "b/c~");
    assert_string_equal(pointer, "/a/b~1c~0");
    json_pointer_push(pointer, sizeof(pointer), "~x");
    assert_string_equal(pointer, "/a/b~1c~0/");
    json_pointer_push(pointer, sizeof(pointer), "xyz");
    assert_string_equal(pointer, "/a/b~1c~0//");
    json_pointer_push(pointer, sizeof(pointer), "xyz");
    assert_string_equal(pointer, "/a/b~1c~0//");
}

static void lossy_strings(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        const char *want;
    } cases[] = {
        {"plain", 5, "\"plain\""},
        {"", 0, "\"\""},
        {"a\0b", 3, "\"a\\u0000b\""},
        {"\xff", 1, "\"\xef\xbf\xbd\""},
        {"a\xc3", 2, "\"a\xef\xbf\xbd\""},
        {"\xc3\xbc\x80x", 4, "\"\xc3\xbc\xef\xbf\xbdx\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_auto_ref json_t *string = json_string_lossy(cases[i].data, cases[i].len);
        str_auto char *text = json_dumps(string, JSON_ENCODE_ANY);

        assert_string_equal(text, cases[i].want);
    }
}

static void base64(void **state)
{
    static const struct {
        const char *data, *want;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xef\xbe", "/+++"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_auto_ref json_t *string = json_string_base64(cases[i].data, strlen(cases[i].data));

        assert_string_equal(json_string_value(string), cases[i].want);
    }
}

static void base64_is_read_back(void **state)
{
    static const struct {
        const char *text;
        const char *want; /* NULL: it is not base64 */
    } cases[] = {
        {"", ""},        {"YQ==", "a"},        {"YWI=", "ab"},
        {"YWJj", "abc"}, {"YWJjZA==", "abcd"}, {"/+8=", "\xff\xef"},
        {"Y", NULL},     {"YQ", NULL},         {"YQ=", NULL},
        {"Y===", NULL},  {"====", NULL},       {"YQ==YQ==", NULL},
        {"YW=j", NULL},  {"YW j", NULL},       {"YWJ\n", NULL},
        {"YWJ-", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_auto_ref json_t *string = json_string(cases[i].text);
        char *data = NULL;
        size_t len = 0;

        assert_int_equal(json_base64_bytes(string, &data, &len), cases[i].want != NULL);
        if (cases[i].want) {
            assert_int_equal(len, strlen(cases[i].want));
            assert_string_equal(data, cases[i].want);
        }
        free(data);
    }
}

static void base64_there_and_back(void **state)
{
    char data[256];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)i;
    for (size_t size = 0; size <= sizeof data; size++) {
        json_auto_ref json_t *string = json_string_base64(data, size);
        char *back;
        size_t len;

        assert_true(json_base64_bytes(string, &back, &len));
        assert_int_equal(len, size);
        assert_memory_equal(back, data, size);
        free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_is_read_back),
        cmocka_unit_test(base64_there_and_back),
        cmocka_unit_test(documents_that_are_refused),
        cmocka_unit_test(raw_nul_is_refused),
        cmocka_unit_test(good_documents_are_read),
        cmocka_unit_test(size_and_depth_are_limited),
        cmocka_unit_test(pointers),
        cmocka_unit_test(lossy_strings),
        cmocka_unit_test(base64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
