/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * Init is a copy of the program that opened the sandbox, with all of that program's memory, of which it needs next
 * to nothing. In a sandbox that lasts it lets go of the rest:
 *
 *  - When memory is exhausted the kernel kills the largest of the group, and in v2 init is in the group it guards.
 *  - What the program writes to or gives back later would be kept as it was, once for each sandbox.
 *  - What is not there cannot be read, should every lock on init fail.
 *
 * What goes is what allocators have: the heap, and large mappings of memory alone. What stays is the plan, the
 * stack of the next command's process, all that this stack is in, what is this thread's own, and what follows the
 * file of a program or library, whose variables that may be. Code and data of files stay: they are the kernel's
 * cache. Init calls no allocator, and takes nothing from the program but the plan; should it touch something that
 * has gone it ends, and the sandbox with it.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/native/state.h"
#include "base/arena.h"
#include "base/asan.h"
#include "sys/maps.h"
#include "sys/process.h"

/* Many small mappings are not what makes a process large. */
#define MAPPING_LARGE ((uintptr_t)256 << 10)

/* Around what is this thread's own; not all of it is needed. */
#define THREAD_BYTES ((uintptr_t)256 << 10)

/* More pieces than plans have. */
#define KEPT_MAX 32

struct range {
    uintptr_t start;
    uintptr_t end;
};

struct kept {
    struct range ranges[KEPT_MAX];
    size_t count;
};

static bool keep(struct kept *kept, uintptr_t start, uintptr_t end)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    if (kept->count == KEPT_MAX)
        return false;
    kept->ranges[kept->count++] = (struct range){
        .start = start / page * page,
        .end = (end + page - 1) / page * page,
    };
    return true;
}

/* From the C library's variables to what it knows of the thread; the program's are in between. */
static bool keep_thread(struct kept *kept)
{
    uintptr_t a = (uintptr_t)&errno;
    uintptr_t b = (uintptr_t)pthread_self();

    return a < b ? keep(kept, a - THREAD_BYTES, b + THREAD_BYTES)
                 : keep(kept, b - THREAD_BYTES, a + THREAD_BYTES);
}

static bool keep_what_init_needs(const struct init *init, struct kept *kept)
{
    const uintptr_t stack = (uintptr_t)init->stack;
    const void *chunk = NULL;
    size_t size;
    bool fits = keep_thread(kept) && keep(kept, stack, stack + STACK_BYTES);

    while (fits && (chunk = arena_next_chunk(&init->plan->arena, chunk, &size)))
        fits = keep(kept, (uintptr_t)chunk, (uintptr_t)chunk + size);
    return fits;
}

/* All of a mapping but what is kept. */
static void let_go(struct range range, const struct kept *kept)
{
    while (range.start < range.end) {
        struct range next = {range.end, range.end};

        for (size_t i = 0; i < kept->count; i++)
            if (kept->ranges[i].end > range.start && kept->ranges[i].start < next.start)
                next = kept->ranges[i];
        if (next.start > range.start)
            munmap((void *)range.start, next.start - range.start);
        range.start = next.end;
    }
}

static bool holds(const struct sys_mapping *mapping, const void *address)
{
    return (uintptr_t)address >= mapping->start && (uintptr_t)address < mapping->end;
}

static void let_go_of_copy(const struct kept *kept)
{
    struct sys_maps maps;
    struct sys_mapping mapping;
    uintptr_t file_end = 0;

    if (sys_maps_open(&maps) < 0)
        return;
    while (sys_maps_next(&maps, &mapping) > 0) {
        if (!mapping.memory) {
            file_end = mapping.end;
            continue;
        }
        if (mapping.start != file_end && mapping.end - mapping.start >= MAPPING_LARGE &&
            !holds(&mapping, &maps))
            let_go((struct range){mapping.start, mapping.end}, kept);
    }
    sys_maps_close(&maps);
}

void init_shed(struct init *init)
{
    struct kept kept = {.count = 0};
    struct rusage own;

    if (init->shed)
        return;
    init->shed = true;
    sys_own_usage(&own);
    /* AddressSanitizer has its books in mappings like these. */
    if (!BASE_ASAN && own.ru_maxrss > COPY_SMALL_KIB && keep_what_init_needs(init, &kept))
        let_go_of_copy(&kept);
}
