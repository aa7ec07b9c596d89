"""The helper that serves low ports must be able to do so for users who are not root."""

import os
import stat
import subprocess

LOWPORT = "/usr/local/bin/lowport"


def test_lowport_is_a_program_for_everyone():
    mode = os.stat(LOWPORT).st_mode
    assert stat.S_ISREG(mode)
    assert stat.S_IMODE(mode) == 0o755


def test_lowport_may_bind_low_ports_and_nothing_more():
    answer = subprocess.run(
        ["/usr/sbin/getcap", LOWPORT], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == f"{LOWPORT} cap_net_bind_service=ep"
