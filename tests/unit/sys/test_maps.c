/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/maps.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE ((size_t)1 << 20)

static void *map(int rights, int flags)
{
    void *memory = mmap(NULL, SIZE, rights, flags, -1, 0);

    assert_true(memory != MAP_FAILED);
    return memory;
}

/* What is said of an address. */
static bool is_memory(const void *address)
{
    struct sys_maps maps;
    struct sys_mapping mapping;
    uintptr_t last = 0;
    int memory = -1;
    int r;

    assert_int_equal(sys_maps_open(&maps), 0);
    while ((r = sys_maps_next(&maps, &mapping)) > 0) {
        assert_true(mapping.start >= last && mapping.start < mapping.end);
        last = mapping.end;
        if ((uintptr_t)address >= mapping.start && (uintptr_t)address < mapping.end)
            memory = mapping.memory;
    }
    assert_int_equal(r, 0);
    sys_maps_close(&maps);
    assert_int_not_equal(memory, -1);
    return memory;
}

static int data = 1;

static void memory_is_told_from_files(void **state)
{
    const int write = PROT_READ | PROT_WRITE;
    void *plain = map(write, MAP_PRIVATE | MAP_ANONYMOUS);
    void *read_only = map(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
    void *shared = map(write, MAP_SHARED | MAP_ANONYMOUS);
    int local = 0;

    assert_true(is_memory(plain));
    assert_false(is_memory(read_only));
    assert_false(is_memory(shared));
    assert_false(is_memory(&data));
    assert_false(is_memory(&local)); /* the stack */
    assert_false(is_memory((const void *)(uintptr_t)is_memory));
    munmap(plain, SIZE);
    munmap(read_only, SIZE);
    munmap(shared, SIZE);
}

static void the_rest_is_the_same_when_some_go(void **state)
{
    enum { PIECES = 600 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *room = mmap(NULL, 2 * PIECES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
    struct sys_maps maps;
    struct sys_mapping mapping;
    size_t found = 0;

    assert_true(room != MAP_FAILED);
    for (size_t i = 0; i < PIECES; i++) /* apart from each other */
        assert_int_equal(mprotect(room + 2 * i * page, page, PROT_NONE), 0);
    assert_int_equal(sys_maps_open(&maps), 0);
    while (sys_maps_next(&maps, &mapping) > 0) {
        char *start = (char *)mapping.start;
        if (!mapping.memory || start < room || start >= room + 2 * PIECES * page)
            continue;
        found++;
        assert_int_equal(munmap(start, page), 0);
    }
    sys_maps_close(&maps);
    assert_true(found >= PIECES - 1); /* the last may be one with what follows */
    munmap(room, 2 * PIECES * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_told_from_files),
        cmocka_unit_test(the_rest_is_the_same_when_some_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
