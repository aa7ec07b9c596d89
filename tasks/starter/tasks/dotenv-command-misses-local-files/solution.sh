#!/bin/bash
# pip writes the command of the installed project anew; its own is the same as pip3.
set -eu
cd /testbed
cp /opt/miniconda3/envs/testbed/bin/pip3 /opt/miniconda3/envs/testbed/bin/pip
/opt/miniconda3/envs/testbed/bin/python -m pip install -q --disable-pip-version-check --no-index \
    --no-deps --no-build-isolation -e .
