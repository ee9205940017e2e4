/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the directories on the host that a run may write to have grown. The supervisor calls
 * this: measure often, and step when measure says so. One thread at a time.
 *
 * Nothing is walked at the start. Used blocks of each file system then are the base, and the
 * difference to it is the *delta*: cheap, but others write there too, and free space. A delta that
 * reaches the limit is a suspicion. It is confirmed by a walk that sums up what the run could have
 * added, the *found*:
 *
 * - whatever lies in the directories and has a ctime after the start, which nobody unprivileged can
 *   set back: the blocks it occupies (not its length), and a little for the inode itself. An old
 *   file that was changed counts in full, since nobody knows how large it was;
 * - files without a name that a process of the sandbox has open, on the same file system.
 *
 * Each inode counts once. The rule, for each file system:
 *
 *     growth = min(delta, found)
 *
 * What a neighbour writes is in delta and not in found, what an old file already had is in found
 * and not in delta. But whoever hides gets no benefit of the doubt: growth = delta when something
 * could not be looked at that the run can have written to or holds open. That is: a directory
 * closed to us since the start; a process that does not let us see its descriptors (not dumpable);
 * a file without a name that is only mapped; a nesting deeper than GROWTH_DEPTH_MAX; a walk that
 * takes more than GROWTH_WALK_MS of work; no /proc to look into; no descriptors left.
 *
 * Delta less growth was other people's. It is subtracted from later deltas, so that a neighbour's
 * gigabyte is not walked for twice. It shrinks with the delta, and is checked again from time to
 * time while the delta stays above the limit, for space that others free in the meantime.
 *
 * What remains: a neighbour who frees as much as the run writes hides it. An old file of the size
 * of the limit, changed by the run, while a neighbour writes as much as the limit, ends it. So does
 * what others write into the same directories. A run that keeps moving its files past the walk can
 * be missed until the next one; stop its processes meanwhile to be certain. A file that is in no
 * process but in flight in a socket is not found. File systems that allocate late (btrfs, ZFS,
 * network) show a delta only when they do; where the clock of a server is behind ours, found is too
 * small.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GROWTH_DEPTH_MAX 16384
#define GROWTH_WALK_MS 10000

struct arena;
struct growth;

/*
 * `limit_bytes` may be NUM_NO_LIMIT: then there is nothing to confirm. What it always needs is in `arena`,
 * which must outlive it. On success the caller owns *ret; free it with growth_free(). -ENOMEM.
 */
int growth_new(uint64_t limit_bytes, struct arena *arena, struct growth **ret);

/* NULL is accepted. */
void growth_free(struct growth *growth);

/*
 * A directory (or a file) that the run may write to, before it can; what is mounted below it is
 * added on its own. `fd` is borrowed and must outlive `growth`; O_PATH will do. One that was added
 * already is not added again, and one may lie in the other.
 */
int growth_add(struct growth *growth, int fd);

/* The same, and *fd is taken when it was added. */
int growth_take(struct growth *growth, int *fd);

/*
 * Root of the sandbox's own /proc, borrowed, when it is known. Without it delta is what counts. `spare` (may be
 * NULL) says at any time which of its processes is ours, besides the first: neither can be looked into.
 */
void growth_set_proc(struct growth *growth, int proc, const pid_t *spare);

/*
 * Walks from now on go to their end, or as they begin do not: they end when the limit is reached. Only what
 * two thorough ones have found can be compared.
 */
void growth_set_thorough(struct growth *growth, bool thorough);

/* What the last walk has found, whatever the delta was then; NUM_NO_LIMIT when something could not be looked at. */
uint64_t growth_found(const struct growth *growth);

/*
 * What was added so far, by delta: a system call for each file system. Returns 1 when it must be
 * confirmed by growth_step(), or that has begun; 0 when all is well.
 */
int growth_measure(struct growth *growth, uint64_t *ret_bytes);

/*
 * Confirm, for about `budget_ms` at a time (0: one directory buffer). Returns 1 at the end with the
 * growth, above the limit or not; 0 when there is more to do, *ret_bytes is then untouched.
 * -ENOMEM: begin again.
 */
int growth_step(struct growth *growth, unsigned budget_ms, uint64_t *ret_bytes);
