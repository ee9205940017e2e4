/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without libc, for a process that shares another's memory and runs beside it: it shares
 * errno too, and must not write to it. Returns what the kernel does: -errno on failure.
 */
#pragma once

/* Newer than some headers. */
#define K_SYS_pidfd_open 434
#define K_SYS_close_range 436

#define SYS_RAW(nr, ...) SYS_RAW_ARGS(nr, __VA_ARGS__, 0, 0, 0, 0, 0)
#define SYS_RAW_ARGS(nr, a, b, c, d, e, ...)                                                       \
    sys_raw(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

#if defined(__x86_64__)
static inline long sys_raw(long nr, long a, long b, long c, long d, long e)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long sys_raw(long nr, long a, long b, long c, long d, long e)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}
#else
#error "no system call of its own for this architecture yet: see sys/raw.h"
#endif
