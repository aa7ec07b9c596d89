"""The system calls a candidate may make: an allow-list, compiled by libseccomp.

A candidate computes; it needs memory, threads of its own process, time, and to read the modules of
its interpreter. It writes no file, starts no process, opens no socket, sends no signal and keeps
nothing (no shared memory, no key ring), so a test cannot leave a message for the next one.
"""

from __future__ import annotations

import ctypes
import errno
import os

from cligym.sandboxes.seccomp import _Compare, _export, _library, _Rules

__all__ = ["candidate_filter"]

_ERRNO, _ALLOW, _NNP = 0x00050000, 0x7FFF0000, 3
_EQUAL, _MASKED_EQUAL = 4, 7
_CLONE_THREAD = 0x00010000

_ALLOWED = """
read pread64 readv write writev recvfrom recvmsg sendto sendmsg poll ppoll select pselect6
epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 pipe2 close lseek fcntl dup dup2 dup3 ioctl
fstat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents64 getcwd
mmap munmap mprotect mremap brk madvise membarrier futex set_robust_list get_robust_list rseq
set_tid_address sched_yield sched_getaffinity rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
exit exit_group restart_syscall getpid gettid getppid getuid geteuid getgid getegid uname sysinfo
getrandom clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage
getrlimit arch_prctl shutdown getsockname getsockopt
"""


def candidate_filter() -> bytes:
    """The BPF program, for this machine's architecture.

    Raises:
        OSError: libseccomp is missing.
    """
    library = _library()
    context = library.seccomp_init(_ERRNO | errno.EPERM)
    if not context:
        raise OSError(errno.EINVAL, "libseccomp: seccomp_init failed")
    try:
        library.seccomp_attr_set(ctypes.c_void_p(context), _NNP, 0)
        rules = _Rules(library, context)
        for name in _ALLOWED.split():
            rules.add(_ALLOW, name)
        writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
        rules.add(_ALLOW, "open", _Compare(1, _MASKED_EQUAL, writing, 0))
        rules.add(_ALLOW, "openat", _Compare(2, _MASKED_EQUAL, writing, 0))
        rules.add(_ALLOW, "prlimit64", _Compare(2, _EQUAL, 0, 0))  # read a limit, never set one
        rules.add(_ALLOW, "clone", _Compare(0, _MASKED_EQUAL, _CLONE_THREAD, _CLONE_THREAD))
        # glibc falls back to clone, whose flags a filter can see, only on ENOSYS.
        rules.add(_ERRNO | errno.ENOSYS, "clone3")
        return _export(library, context)
    finally:
        library.seccomp_release(ctypes.c_void_p(context))
