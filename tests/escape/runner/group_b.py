# SPDX-License-Identifier: Apache-2.0
"""B: the root file system, /proc, /sys and devices."""
import os
import stat

from case import Case, after, own_ns
from stage import ESCAPED, backwards

SECRET_FILES = ["kcore", "kmsg", "keys", "timer_list", "sched_debug", "latency_stats",
                "kallsyms", "interrupts", "scsi/scsi", "acpi/wakeup", "asound/cards"]


def read_only(stage):
    stage.file("out/x")
    stage.never("out/pwned")


def hidden(stage):
    stage.file("out/secret")


def hidden_below(stage):
    stage.file("work/keys/deep/secret")
    (stage.work / "link").symlink_to("keys")


def for_the_next(first, then, hide):
    """What is hidden gets another name in one run, so that the next does not find it to hide it."""
    def play(stage):
        moved = ""
        for verb in (first, then):
            argv = [stage.attack, *verb] if stage.who == "control" \
                else stage.wrap(verb, ["--hide", f"{{work}}/{hide}"])
            code, text = stage.run(argv)
            moved = moved or text
        return code, f"{moved.strip()}, {text}"
    return play


def planted_device(kind, major, minor):
    def setup(stage):
        path = stage.work / "device"
        os.mknod(path, kind | 0o666, os.makedev(major, minor))
        path.chmod(0o666)
    return setup


def host_process(stage):
    stage.process()
    stage.vars["backwards"] = backwards(stage.mark)


def named_mount(stage):
    """A mount of the host whose name tells something."""
    stage.vars["name"] = "account-of-" + stage.mark
    (stage.dir / stage.vars["name"]).mkdir()


def run_named_mount(stage):
    verb = ["mountinfo-has", stage.vars["name"]]
    mounted = [stage.attack, "with-tmpfs", stage.dir / stage.vars["name"]]
    if stage.who == "control":
        return stage.run([*mounted, stage.attack, *verb])
    argv = stage.wrap(verb, ["--layout", "minimal"])
    if stage.who == "hutch":
        argv[argv.index(str(stage.attack))] = "/workspace/attack"
    return stage.run([*mounted, *argv])


def run_fill(stage):
    """64 MiB into the private /tmp, which is memory: the disk of the host must not notice."""
    if stage.who == "control":
        code, text = stage.run([stage.attack, "fill", stage.out, "64"])
        filled = os.path.getsize(stage.out / "filled") >= 64 << 20
        return (ESCAPED if filled else code), text
    before = os.listdir("/tmp")
    code, text = stage.run(stage.wrap(["fill", "/tmp", "64"]))
    return (ESCAPED, "it is on the host") if "filled" in set(os.listdir("/tmp")) - set(before) \
        else (code, text)


def mounts():
    rows = [
        ("a", "mount a tmpfs", ["mount-tmpfs", "{work}"], "mount"),
        ("b", "bind a directory", ["mount-bind", "/etc", "{work}"], "mount"),
        ("c", "pivot_root", ["pivot", "{work}"], "pivot_root"),
        ("d", "chroot", ["chroot", "{work}"], "chroot"),
        ("e", "fsopen and fsmount", ["fsopen"], "fsopen"),
        ("f", "open_tree", ["open-tree", "/"], "open_tree"),
        ("g", "move_mount", ["move-tree", "{work}"], "move_mount"),
    ]
    return [Case(f"B13{letter}", what, verb, control=own_ns, violation=name)
            for letter, what, verb, name in rows]


CASES = [
    *mounts(),
    Case("B13h", "remount a read-only tree writable", ["remount-rw", "{out}"], setup=read_only,
         flags=["--read", "{out}"], control=after("own-ns", "ro-bind", "{out}"), violation="mount"),
    Case("B13i", "mount_setattr", ["mount-setattr", "{out}"], setup=read_only,
         flags=["--read", "{out}"], control=after("own-ns", "ro-bind", "{out}"),
         violation="mount_setattr"),
    Case("B13j", "take off what covers a hidden directory", ["uncover", "{out}", "{out}/secret"],
         setup=hidden, flags=["--hide", "{out}"], control=after("own-ns", "cover", "{out}"),
         violation="umount2", bwrap=False),
    Case("B14a", "out of a chroot by a kept descriptor", ["breakout", "{out}/secret"], setup=hidden,
         flags=["--hide", "{out}"], control=own_ns, bwrap=False),
    Case("B14b", "out by /proc/PID/root, cwd and fd", ["proc-walk", "{out}/secret"], setup=hidden,
         flags=["--hide", "{out}"], control=after("hidden-behind", "{out}"), bwrap=False),
    Case("B14c", "read a hidden file by its name", ["read-file", "{out}/secret"], setup=hidden,
         flags=["--hide", "{out}"], bwrap=False),
    Case("B14d", "move the directory of a hidden file, for the next run", setup=hidden_below,
         play=for_the_next(["move", "keys/deep", "moved"], ["read-file", "moved/secret"],
                           "keys/deep/secret"), bwrap=False),
    Case("B14e", "move a directory far above a hidden file, for the next run", setup=hidden_below,
         play=for_the_next(["move", "keys", "moved"], ["read-file", "moved/deep/secret"],
                           "keys/deep/secret"), bwrap=False),
    Case("B14f", "take away a link to a hidden file, for the next run", setup=hidden_below,
         play=for_the_next(["move", "link", "moved"], ["read-file", "keys/deep/secret"],
                           "link/deep/secret"), bwrap=False),
    Case("B15a", "open_by_handle_at", ["by-handle", "{work}"], control_root=True),
    Case("B15b", "mount namespaces of the host", ["other-mount-ns"], control_root=True),
    Case("B16a", "make a disk device", ["make-device", "b", "8", "0", "node"], control_root=True),
    Case("B16b", "make a memory device", ["make-device", "c", "1", "1", "node"], control_root=True),
    Case("B16c", "a device planted in the workspace", ["open-device", "device"], root=True,
         setup=planted_device(stat.S_IFCHR, 1, 5)),
    Case("B16d", "devices of the host in /dev", ["device-list"]),
    Case("B17a", "secrets in /proc", ["proc-read", *(f"/proc/{name}" for name in SECRET_FILES)]),
    Case("B17b", "the kernel's configuration", ["proc-read", "/proc/config.gz"]),
    Case("B17c", "firmware and debugging in /sys",
         ["proc-read", "/sys/firmware/acpi/pm_profile", "/sys/firmware/acpi/tables/FACP",
          "/sys/firmware/dmi/tables/DMI", "/sys/firmware/efi/systab", "/sys/kernel/security/lsm",
          "/sys/kernel/debug/sleep_time"]),
    Case("B17d", "a process of the host in /proc", ["find-process", "{backwards}"],
         setup=host_process),
    Case("B17e", "names of the host's mounts (minimal layout)", setup=named_mount,
         play=run_named_mount),
    Case("B18a", "write core_pattern and modprobe",
         ["write-back", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
          "/proc/sys/kernel/hotplug"], control_root=True),
    Case("B18b", "sysrq-trigger", ["open-to-write", "/proc/sysrq-trigger"], control_root=True),
    Case("B18c", "register a binary format",
         ["open-to-write", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/fs/binfmt_misc/status"],
         control_root=True),
    Case("B18d", "uevent_helper and other helpers of /sys",
         ["open-to-write", "/sys/kernel/uevent_helper", "/sys/kernel/uevent_seqnum",
          "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state"], control_root=True),
    Case("B18e", "any setting in /proc/sys", ["writable-settings", "/proc/sys"],
         control_root=True),
    Case("B18f", "be killed last when memory is short", ["oom-score"], control_root=True),
    Case("B19a", "mount a cgroup hierarchy", ["cgroup-mount", "{work}"], control=own_ns,
         violation="mount"),
    Case("B19b", "make a cgroup in the host's tree", ["cgroup-make"], control_root=True),
    Case("B20a", "mount an overlay", ["overlay", "{work}"], control=own_ns, violation="mount"),
    Case("B20b", "mount FUSE", ["fuse", "{work}"], control_root=True, control=own_ns),
    Case("B21", "poison what a trial run would apply", skip="there are no trial runs yet"),
    Case("B22a", "fill the private /tmp", play=run_fill, bwrap=False),
    Case("B23", "change a read-only file through the page cache", ["page-cache", "{out}/ro"],
         setup=lambda stage: stage.canary("out/ro", "read only\n") and None),
]
