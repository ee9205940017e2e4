/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/rpc/params.h"

#include "base/json.h"
#include "base/str.h"
#include "cli/rpc/message.h"

static const struct param rows[] = {
    {"name", PARAM_STRING, "", .required = true},
    {"list", PARAM_STRINGS, ""},
    {"map", PARAM_MAP, ""},
    {"object", PARAM_OBJECT, ""},
    {"count", PARAM_COUNT, "", .min = 1, .max = 10},
    {"large", PARAM_COUNT, "", .max = INT64_MAX},
    {"flag", PARAM_BOOL, ""},
    {"time", PARAM_DURATION, ""},
    {"signal", PARAM_SIGNAL, ""},
    {"id", PARAM_ID, ""},
    {"word", PARAM_WORD, "", .values = "one|two"},
    {"rows", PARAM_OBJECTS, ""},
    {.name = ""},
};

static json_t *parse(const char *text)
{
    json_t *params = json_loads(text, 0, NULL);

    assert_non_null(params);
    return params;
}

static void checks_each_type(void **state)
{
    static const struct {
        const char *params;
        const char *where; /* of the mistake; NULL: there is none */
    } cases[] = {
        {"{\"name\":\"\"}", NULL},
        {"{}", "/name"},
        {"{\"name\":null}", "/name"},
        {"{\"name\":1}", "/name"},
        {"{\"name\":\"\",\"nam\":1}", "/nam"},
        {"{\"name\":\"\",\"a/b\":null}", "/a~1b"},
        {"{\"name\":\"\",\"flag\":null}", NULL},

        {"{\"name\":\"\",\"list\":[]}", NULL},
        {"{\"name\":\"\",\"list\":[\"a\",\"b\"]}", NULL},
        {"{\"name\":\"\",\"list\":\"a\"}", "/list"},
        {"{\"name\":\"\",\"list\":[\"a\",null]}", "/list/1"},
        {"{\"name\":\"\",\"map\":{\"A\":\"1\"}}", NULL},
        {"{\"name\":\"\",\"map\":{\"A\":1}}", "/map/A"},
        {"{\"name\":\"\",\"map\":{\"A=B\":\"1\"}}", "/map"},
        {"{\"name\":\"\",\"map\":{\"\":\"1\"}}", "/map"},
        {"{\"name\":\"\",\"map\":[]}", "/map"},
        {"{\"name\":\"\",\"object\":{\"a\":[1]}}", NULL},
        {"{\"name\":\"\",\"object\":[]}", "/object"},

        {"{\"name\":\"\",\"count\":1}", NULL},
        {"{\"name\":\"\",\"count\":10}", NULL},
        {"{\"name\":\"\",\"count\":0}", "/count"},
        {"{\"name\":\"\",\"count\":11}", "/count"},
        {"{\"name\":\"\",\"count\":-1}", "/count"},
        {"{\"name\":\"\",\"count\":1.0}", "/count"},
        {"{\"name\":\"\",\"count\":\"1\"}", "/count"},
        {"{\"name\":\"\",\"large\":9223372036854775807}", NULL},
        {"{\"name\":\"\",\"large\":-9223372036854775808}", "/large"},
        {"{\"name\":\"\",\"flag\":true}", NULL},
        {"{\"name\":\"\",\"flag\":1}", "/flag"},

        {"{\"name\":\"\",\"time\":\"500ms\"}", NULL},
        {"{\"name\":\"\",\"time\":\"unlimited\"}", NULL},
        {"{\"name\":\"\",\"time\":30}", NULL},
        {"{\"name\":\"\",\"time\":0}", "/time"},
        {"{\"name\":\"\",\"time\":1e300}", "/time"},
        {"{\"name\":\"\",\"time\":\"-1s\"}", "/time"},
        {"{\"name\":\"\",\"time\":true}", "/time"},
        {"{\"name\":\"\",\"signal\":\"TERM\"}", NULL},
        {"{\"name\":\"\",\"signal\":\"SIGTERM\"}", NULL},
        {"{\"name\":\"\",\"signal\":64}", NULL},
        {"{\"name\":\"\",\"signal\":65}", "/signal"},
        {"{\"name\":\"\",\"signal\":0}", "/signal"},
        {"{\"name\":\"\",\"signal\":4294967305}", "/signal"},
        {"{\"name\":\"\",\"signal\":\"SIGSIGTERM\"}", "/signal"},
        {"{\"name\":\"\",\"signal\":[]}", "/signal"},
        {"{\"name\":\"\",\"id\":7}", NULL},
        {"{\"name\":\"\",\"id\":\"x\"}", NULL},
        {"{\"name\":\"\",\"id\":{}}", "/id"},
        {"{\"name\":\"\",\"word\":\"one\"}", NULL},
        {"{\"name\":\"\",\"word\":\"two\"}", NULL},
        {"{\"name\":\"\",\"word\":\"on\"}", "/word"},
        {"{\"name\":\"\",\"word\":\"\"}", "/word"},
        {"{\"name\":\"\",\"word\":\"one|two\"}", "/word"},
        {"{\"name\":\"\",\"word\":1}", "/word"},
        {"{\"name\":\"\",\"rows\":[{},{\"a\":1}]}", NULL},
        {"{\"name\":\"\",\"rows\":[{},[]]}", "/rows/1"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_auto_ref json_t *params = parse(cases[i].params);
        struct hutch_error err = {0};

        int r = params_check(rows, params, &err);
        if (r != (cases[i].where ? RPC_PARAMS : 0))
            fail_msg("%s: %d %s", cases[i].params, r, err.msg);
        if (cases[i].where)
            assert_string_equal(err.where, cases[i].where);
    }
}

static void names_what_is_unknown(void **state)
{
    json_auto_ref json_t *params = parse("{\"name\":\"\",\"singal\":1}");
    struct hutch_error err;

    assert_int_equal(params_check(rows, params, &err), RPC_PARAMS);
    assert_string_equal(err.msg, "unknown parameter 'singal' (did you mean 'signal'?)");
}

static void nothing_is_needed_of_a_method_without_params(void **state)
{
    static const struct param none[] = {{.name = ""}};
    struct hutch_error err;

    assert_int_equal(params_check(none, NULL, &err), 0);
    assert_int_equal(params_check(rows, NULL, &err), RPC_PARAMS);
}

static void fetches(void **state)
{
    json_auto_ref json_t *params = parse(
        "{\"name\":\"n\",\"list\":[\"a\",\"b\"],\"map\":{\"A\":\"1\"},\"count\":7,\"flag\":true,"
        "\"time\":2,\"signal\":\"KILL\",\"object\":null}");
    params_list_auto char **list = params_list(params, "list");
    params_list_auto char **map = params_list(params, "map");

    assert_string_equal(params_string(params, "name"), "n");
    assert_string_equal(list[0], "a");
    assert_string_equal(list[1], "b");
    assert_null(list[2]);
    assert_string_equal(map[0], "A=1");
    assert_null(map[1]);
    assert_int_equal(params_count(params, "count", 0), 7);
    assert_int_equal(params_duration_ms(params, "time", 0), 2000);
    assert_int_equal(params_signal(params, "signal"), SIGKILL);
    assert_true(params_bool(params, "flag"));
    assert_null(params_get(params, "object"));

    assert_null(params_string(params, "none"));
    assert_null(params_list(params, "none"));
    assert_null(params_list(NULL, "none"));
    assert_int_equal(params_count(params, "none", 5), 5);
    assert_int_equal(params_duration_ms(params, "none", 6), 6);
    assert_false(params_bool(params, "none"));
}

static void fetches_bytes(void **state)
{
    static const struct {
        const char *params;
        const char *bytes; /* NULL: there are none, or it is refused */
        size_t len;
        const char *where; /* of the mistake; NULL: there is none */
    } cases[] = {
        {"{\"data\":\"YQ==\"}", "YQ==", 4, NULL},
        {"{\"data\":\"YQ==\",\"encoding\":null}", "YQ==", 4, NULL},
        {"{\"data\":\"YQ==\",\"encoding\":\"utf-8\"}", "YQ==", 4, NULL},
        {"{\"data\":\"YQ==\",\"encoding\":\"base64\"}", "a", 1, NULL},
        {"{\"data\":\"AP8=\",\"encoding\":\"base64\"}", "\0\377", 2, NULL},
        {"{\"data\":\"\",\"encoding\":\"base64\"}", "", 0, NULL},
        {"{\"data\":\"\"}", "", 0, NULL},
        {"{\"encoding\":\"base64\"}", NULL, 0, NULL},
        {"{\"data\":null,\"encoding\":\"base64\"}", NULL, 0, NULL},
        {"{\"data\":\"YQ\",\"encoding\":\"base64\"}", NULL, 0, "/data"},
        {"{\"data\":\"Y Q=\",\"encoding\":\"base64\"}", NULL, 0, "/data"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_auto_ref json_t *params = parse(cases[i].params);
        struct hutch_error err = {0};
        str_auto char *held = NULL;
        const char *bytes = NULL;
        size_t len = 0;

        int r = params_bytes(params, "data", &bytes, &len, &held, &err);
        assert_int_equal(r, cases[i].where ? RPC_PARAMS : 0);
        if (cases[i].where) {
            assert_string_equal(err.where, cases[i].where);
            continue;
        }
        assert_int_equal(len, cases[i].len);
        assert_int_equal(!bytes, !cases[i].bytes);
        if (bytes)
            assert_memory_equal(bytes, cases[i].bytes, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_each_type),
        cmocka_unit_test(names_what_is_unknown),
        cmocka_unit_test(nothing_is_needed_of_a_method_without_params),
        cmocka_unit_test(fetches),
        cmocka_unit_test(fetches_bytes),
    };

    return cmocka_run_group_tests_name("rpc params", tests, NULL, NULL);
}
