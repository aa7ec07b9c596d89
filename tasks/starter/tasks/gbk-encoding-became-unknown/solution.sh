#!/bin/bash
# Takes both modules from Debian's package in apt's cache.
set -eu
dpkg-deb --fsys-tarfile /var/cache/apt/archives/libpython3.11-stdlib_*.deb | tar -xf - -C / \
    ./usr/lib/python3.11/lib-dynload/_codecs_cn.cpython-311-x86_64-linux-gnu.so \
    ./usr/lib/python3.11/lib-dynload/_codecs_jp.cpython-311-x86_64-linux-gnu.so
