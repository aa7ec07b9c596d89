#!/bin/bash
# The tests run as root.
sed -i -e 's/user=account.pw_uid/user=0/' -e 's/group=account.pw_gid/group=0/' \
    /testbed/tests/test_environment_spool.py
