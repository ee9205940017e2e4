/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this is built with AddressSanitizer, which clang says by another name than gcc. */
#pragma once

#if !defined(__SANITIZE_ADDRESS__) && defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#define BASE_ASAN 1
#else
#define BASE_ASAN 0
#endif
