#!/bin/bash
# Each link names the library whose soname it is, in the same folder.
set -eu
cd "$(dirname "$(ls /usr/lib/*/libbz2.so.1.0.4)")"
for link in libbz2.so.1.0 libbz2.so.1 libsqlite3.so.0; do
    stem="${link%%.so.*}"
    file="$(find . -maxdepth 1 -type f -name "$stem.so.*" -printf '%f\n')"
    ln -sfn "$file" "$link"
done
