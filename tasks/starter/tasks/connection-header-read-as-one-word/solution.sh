#!/bin/bash
# Throws h11's bytecode away and has the standard library's compiled anew from its source.
set -eu
find /testbed -name __pycache__ -type d -prune -exec rm -rf {} +
rm -f /usr/lib/python3.11/__pycache__/statistics.cpython-311*.pyc
env -u SOURCE_DATE_EPOCH /usr/bin/python3.11 -m py_compile /usr/lib/python3.11/statistics.py
