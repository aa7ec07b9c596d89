#!/bin/bash
# Takes both files of the standard library from Debian's own package, which apt still has in its cache.
set -eu
dpkg-deb --fsys-tarfile /var/cache/apt/archives/libpython3.11-stdlib_*.deb > /tmp/stdlib.tar
dpkg-deb --fsys-tarfile /var/cache/apt/archives/libpython3.11-minimal_*.deb > /tmp/minimal.tar
for name in http/client.py urllib/parse.py; do
    for archive in /tmp/stdlib.tar /tmp/minimal.tar; do
        tar -xf "$archive" -C / "./usr/lib/python3.11/$name" 2> /tmp/error && break
    done
done
rm -f /tmp/stdlib.tar /tmp/minimal.tar /tmp/error
