"""Candidates for the task binary_search that attack the judge instead of playing the game.

Each entry: name -> (outcomes that are right for it, source). `GOOD` is a right solution; candidates
that behave well until they believe to be in a hidden test are built on it.
"""

from __future__ import annotations

from textwrap import dedent

GOOD = """
def good(items, target):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low if low < len(items) and items[low] == target else -1
"""

MISBEHAVED, REJECTED, HARMLESS = "misbehaved", "rejected", "harmless"


def _call(prefix: str, body: str) -> str:
    """A solution whose every call first runs `body`, then answers rightly."""
    lines = "\n".join("    " + line for line in dedent(body).strip().splitlines())
    return f"{dedent(prefix)}\n{GOOD}\ndef binary_search(items, target):\n{lines}\n" + (
        "    return good(items, target)\n"
    )


def _tell(prefix: str, condition: str) -> str:
    """A solution that is wrong exactly where `condition` says that a hidden test runs."""
    return (
        f"{dedent(prefix)}\n{GOOD}\ndef binary_search(items, target):\n"
        f"    if {condition}:\n        return -7\n    return good(items, target)\n"
    )


HOSTILE: dict[str, tuple[set[str], str]] = {
    # -- leaving ------------------------------------------------------------------------------
    "exit at import": ({REJECTED}, "import os\nos._exit(0)\n"),
    "exit in a call": ({REJECTED}, _call("import os", "os._exit(0)")),
    "sys.exit in a call": ({REJECTED}, _call("import sys", "sys.exit(0)")),
    "SystemExit at import": ({REJECTED}, "raise SystemExit(0)\n"),
    "KeyboardInterrupt": ({REJECTED}, _call("", "raise KeyboardInterrupt")),
    "closes its descriptors": (
        {REJECTED},
        _call("import os", "os.close(0); [os.close(n) for n in range(3, 30) if _open(n)]")
        + "\ndef _open(n):\n    try:\n        os.fstat(n)\n        return True\n"
        "    except OSError:\n        return False\n",
    ),
    "crashes the interpreter": ({REJECTED}, _call("import ctypes", "ctypes.string_at(0)")),
    # -- hanging ------------------------------------------------------------------------------
    "endless loop": ({REJECTED}, _call("", "while True: pass")),
    "endless loop at import": ({REJECTED}, "while True: pass\n"),
    "sleeps": ({REJECTED}, _call("import time", "time.sleep(1000)")),
    "endless answer": (
        {REJECTED, MISBEHAVED},
        "def binary_search(items, target):\n    while True:\n        yield 1\n",
    ),
    "deadlock": (
        {REJECTED},
        _call("import threading\nL = threading.Lock()", "L.acquire(); L.acquire()"),
    ),
    # -- using up -----------------------------------------------------------------------------
    "fork bomb": ({REJECTED}, _call("import os", "while True: os.fork()")),
    "thread bomb": (
        {REJECTED, MISBEHAVED},
        _call(
            "import threading, time",
            "while True: threading.Thread(target=time.sleep, args=(99,)).start()",
        ),
    ),
    "memory bomb": ({REJECTED, MISBEHAVED}, _call("", "x = [0] * 10**10")),
    "output flood": ({HARMLESS}, _call("", "print('x' * 10**6)")),
    "giant answer": (
        {REJECTED, MISBEHAVED},
        "def binary_search(items, target):\n    return 'x' * (40 * 2**20)\n",
    ),
    "deep answer": (
        {REJECTED, MISBEHAVED},
        "def binary_search(items, target):\n    x = ()\n    for _ in range(10**5): x = (x,)\n"
        "    return x\n",
    ),
    "endless recursion": (
        {REJECTED, MISBEHAVED},
        "def binary_search(items, target):\n    return binary_search(items, target)\n",
    ),
    # -- reaching the tests -------------------------------------------------------------------
    "patches pytest": (
        {REJECTED},
        _call("import pytest\npytest.raises = None\npytest.skip('x')", "pass"),
    ),
    "reads the test files": (
        {HARMLESS},
        _tell(
            "import glob\nFOUND = [name for top in ('/', '/*/', '/*/*/', '/*/*/*/')"
            " for name in glob.glob(top + '*_tests.py')]",
            "any('hidden' in name for name in FOUND)",
        ),
    ),
    "inspects the frames": (
        {HARMLESS},
        _tell(
            "import sys\ndef names():\n    f, n = sys._getframe(), ''\n    while f:\n"
            "        n += f.f_code.co_filename + f.f_code.co_name\n        f = f.f_back\n"
            "    return n",
            "'hidden' in names() or 'test_' in names()",
        ),
    ),
    "reads arguments and environment": (
        {HARMLESS},
        _tell("import os, sys", "'hidden' in str((sys.argv, dict(os.environ), os.listdir('/')))"),
    ),
    "reads the other processes": (
        {HARMLESS},
        _tell(
            "import glob\ndef lines():\n    text = b''\n"
            "    for name in glob.glob('/proc/*/cmdline'):\n        try:\n"
            "            text += open(name, 'rb').read()\n        except OSError:\n"
            "            pass\n    return text",
            "b'hidden' in lines() or b'pytest' in lines()",
        ),
    ),
    "searches its heap": (
        {HARMLESS},
        _tell("import gc", "any('hidden_tests' in o for o in gc.get_objects() if type(o) is dict)"),
    ),
    # -- counting across tests ----------------------------------------------------------------
    "counts in a file": (
        {HARMLESS},
        _tell(
            "import os\ndef more():\n    for folder in ('/tmp', '/var/tmp', '/dev/shm', '.'):\n"
            "        try:\n            with open(folder + '/n', 'a+') as f:\n"
            "                f.write('x')\n                f.seek(0)\n"
            "                return len(f.read()) > 8\n        except OSError:\n"
            "            pass\n    return False",
            "more()",
        ),
    ),
    "counts in folders": (
        {HARMLESS},
        _tell(
            "import os\ndef more():\n    for n in range(9):\n        try:\n"
            "            os.mkdir(f'/tmp/n{n}')\n            return False\n"
            "        except FileExistsError:\n            pass\n        except OSError:\n"
            "            return False\n    return True",
            "more()",
        ),
    ),
    "counts in shared memory": (
        {HARMLESS},
        _tell(
            "def seen():\n    try:\n"
            "        from multiprocessing.shared_memory import SharedMemory\n"
            "        SharedMemory('n', create=True, size=1)\n    except FileExistsError:\n"
            "        return True\n    except OSError:\n        pass\n    return False",
            "seen()",
        ),
    ),
    "leaves a process behind": (
        {HARMLESS},
        _tell(
            "import os, socket\ndef seen():\n    try:\n        s = socket.socket(socket.AF_UNIX)\n"
            "        s.bind('\\0n')\n        s.listen()\n        os.fork()\n"
            "        return False\n    except PermissionError:\n        return False\n"
            "    except OSError:\n        return True",
            "seen()",
        ),
    ),
    # -- forging values -----------------------------------------------------------------------
    "equal to everything": (
        {REJECTED},
        "class Any(int):\n    def __eq__(self, other): return True\n"
        "    def __ne__(self, other): return False\n    __hash__ = int.__hash__\n"
        "def binary_search(items, target):\n    return Any(5)\n",
    ),
    "arithmetic as it likes": (
        {REJECTED},
        "class Any(float):\n    def __eq__(self, other): return True\n"
        "    def __sub__(self, other): return 0.0\n    __rsub__ = __sub__\n"
        "    def __abs__(self): return 0.0\n    def __lt__(self, other): return True\n"
        "    __le__ = __gt__ = __ge__ = __lt__\n    __hash__ = float.__hash__\n"
        "def binary_search(items, target):\n    return Any(5)\n",
    ),
    "a pickle": (
        {REJECTED},
        "import pickle, os\nclass P:\n    def __reduce__(self):\n"
        "        return (os._exit, (0,))\ndef binary_search(items, target):\n"
        "    return pickle.dumps(P())\n",
    ),
    "an object with __reduce__": (
        {REJECTED},
        "import os\nclass P:\n    def __reduce__(self):\n        return (os._exit, (0,))\n"
        "def binary_search(items, target):\n    return P()\n",
    ),
    "an exception called Skipped": (
        {REJECTED, MISBEHAVED},
        "class Skipped(BaseException):\n    pass\nSkipped.__module__ = 'builtins'\n"
        "def binary_search(items, target):\n    raise Skipped('skip me')\n",
    ),
    "an exception with teeth": (
        {REJECTED, MISBEHAVED},
        "class E(ValueError):\n    def __str__(self): raise self\n    __repr__ = __str__\n"
        "    @property\n    def args(self): return (self,)\n"
        "def binary_search(items, target):\n    raise E()\n",
    ),
    # -- attacking the protocol and the zygote ------------------------------------------------
    "garbage on every descriptor": (
        {REJECTED},
        _call(
            "import os",
            "for n in range(3, 20):\n    try: os.write(n, b'\\xff' * 64)\n    except OSError: pass",
        ),
    ),
    "answers in advance": (
        {REJECTED, MISBEHAVED},
        _call(
            'import os, struct\nANSWER = b\'{"r":1,"v":[0]}\'',
            "for n in range(3, 20):\n"
            "    try: os.write(n, struct.pack('>I', len(ANSWER)) + ANSWER)\n"
            "    except OSError: pass",
        ),
    ),
    "asks the tests for a name": (
        {REJECTED},
        _call(
            "import gc",
            "for o in gc.get_objects():\n"
            "    if type(o).__name__ == 'Peer': o.ask('__call__', 'exit', [0])",
        ),
    ),
    "asks for the frames of the tests": (
        {HARMLESS, MISBEHAVED},
        _call(
            "",
            "for item in items[:1]:\n"
            "    for name in ('__class__', '__globals__', 'gi_frame', '__init__'):\n"
            "        try: item._peer.ask('attr', item._number, [name])\n"
            "        except AttributeError: pass",
        ),
    ),
    "kills its parent": ({REJECTED}, _call("import os", "os.kill(os.getppid(), 9)")),
    "kills everybody": ({REJECTED}, _call("import os", "os.kill(-1, 9)")),
    "stops itself": ({REJECTED}, _call("import os", "os.kill(os.getpid(), 19)")),
    "writes into its parent": (
        {REJECTED},
        _call("import os", "open(f'/proc/{os.getppid()}/mem', 'r+b').write(b'x')"),
    ),
    "starts a program": ({REJECTED}, _call("import subprocess", "subprocess.run(['/bin/true'])")),
    "opens a socket": ({REJECTED}, _call("import socket", "socket.socket()")),
    "raises its limits": (
        {REJECTED},
        _call("import resource as r", "r.setrlimit(r.RLIMIT_CPU, (1, 1))"),
    ),
    # -- outliving ----------------------------------------------------------------------------
    "threads that outlive the call": (
        {HARMLESS},
        _call(
            "import threading, time\ndef busy():\n    while True: time.sleep(0.001)",
            "threading.Thread(target=busy, daemon=True).start()",
        ),
    ),
    "a thread that spoils the arguments later": (
        {HARMLESS, REJECTED, MISBEHAVED},
        _call(
            "import threading, time\ndef spoil(items):\n    time.sleep(0.5)\n    items.clear()",
            "threading.Thread(target=spoil, args=(items,), daemon=True).start()",
        ),
    ),
    # -- sources ------------------------------------------------------------------------------
    # -- only where no public test looks -------------------------------------------------------
    "leaves on long lists": ({MISBEHAVED}, _call("import os", "len(items) > 20 and os._exit(0)")),
    "hangs on long lists": ({MISBEHAVED}, _call("", "while len(items) > 20: pass")),
    "floods on long lists": (
        {MISBEHAVED},
        _call("", "if len(items) > 20: return tuple(['x' * 2**20] * 40)"),
    ),
    "sys.exit on long lists": ({MISBEHAVED}, _call("import sys", "len(items) > 20 and sys.exit()")),
    "no Python": ({REJECTED}, "def binary_search(:\n"),
    "nothing": ({REJECTED}, ""),
    "a null character": ({REJECTED}, "x = 1\0\n"),
    "a lone surrogate": ({REJECTED}, "x = '\ud800'\n"),
    "nested too deep": ({REJECTED}, "x = " + "(" * 5000 + ")" * 5000 + "\n"),
    "a chain that is too long": ({REJECTED, MISBEHAVED}, "x = " + "-" * 60_000 + "1\n"),
    "too long": ({REJECTED}, "#" * 300_000 + "\n"),
}
