"""Both sides of the rule for account files."""

from __future__ import annotations

import pytest

from cligym.graders.accounts import account_difference

PASSWD = b"root:x:0:0:root:/root:/bin/bash\napp:x:1000:1000::/home/app:/bin/sh\n"
SHADOW = b"root:*:19000:0:99999:7:::\napp:!:19000:0:99999:7:::\n"


@pytest.mark.parametrize(
    "extra",
    [b"", b"redis:x:105:110::/var/lib/redis:/usr/sbin/nologin\n", b"\n"],
    ids=["same", "system user", "empty line"],
)
def test_accepted(extra: bytes) -> None:
    assert account_difference(b"etc/passwd", PASSWD + extra, PASSWD) == ""


@pytest.mark.parametrize(
    ("final", "why"),
    [
        (PASSWD.replace(b"/bin/sh", b"/bin/false"), "app"),
        (PASSWD.splitlines(keepends=True)[0], "app"),
        (PASSWD + b"toor:x:0:0::/root:/bin/bash\n", "toor"),
        (PASSWD + b"eve:x:1001:1001::/home/eve:/bin/sh\n", "eve"),
        (PASSWD + b"app2:x:1000:1000::/home/app:/bin/sh\n", "app2"),
        (b"app:x:105:105::/:/bin/false\n" + PASSWD, "app"),
        (PASSWD + PASSWD.splitlines(keepends=True)[1], "order"),
        (b"".join(reversed(PASSWD.splitlines(keepends=True))), "order"),
        (PASSWD + b"redis:x:105\n:::\n", ""),
    ],
    ids=["shell", "gone", "second root", "person", "same id", "shadowed", "twice", "order", "bad"],
)
def test_refused(final: bytes, why: str) -> None:
    found = account_difference(b"etc/passwd", final, PASSWD)
    assert found and why in found


def test_the_day_of_the_last_change_is_free() -> None:
    assert account_difference(b"etc/shadow", SHADOW.replace(b"19000", b"20500"), SHADOW) == ""
    assert account_difference(b"etc/shadow", SHADOW.replace(b"app:!", b"app:"), SHADOW)


def test_extra_shadow_lines_must_be_locked() -> None:
    assert account_difference(b"etc/shadow", SHADOW + b"redis:!:1::::::\n", SHADOW) == ""
    assert account_difference(b"etc/shadow", SHADOW + b"redis:$6$x:1::::::\n", SHADOW)


def test_more_id_ranges_are_no_difference() -> None:
    gold = b"app:100000:65536\n"
    assert account_difference(b"etc/subuid", gold + b"redis:165536:65536\n", gold) == ""
    assert account_difference(b"etc/subuid", b"app:200000:65536\n", gold)


@pytest.mark.parametrize("name", [b" svc", b"\tsvc", b"+", b"-svc", b"", b"s vc"])
def test_a_name_that_the_c_library_reads_in_its_own_way_is_no_system_user(name: bytes) -> None:
    gold = b"root:x:0:0::/root:/bin/sh\nsvc:x:500:500::/:/bin/sh\n"
    line = name + b":x:501:501::/:/bin/sh\n"
    assert account_difference(b"etc/passwd", line + gold, gold)


def test_an_id_is_a_number_however_it_is_written() -> None:
    gold = b"svc:x:500:500::/:/bin/sh\n"
    assert account_difference(b"etc/passwd", b"aaa:x:0500:1::/:/bin/sh\n" + gold, gold)
