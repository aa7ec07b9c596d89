#!/bin/bash
# Removes the start-up hook and the activation script.
set -eu
cd /opt/miniconda3/envs/testbed
rm -rf etc/conda
rmdir --ignore-fail-on-non-empty etc
rm -f lib/python3.11/site-packages/sitecustomize.py
rm -f lib/python3.11/site-packages/__pycache__/sitecustomize.*.pyc
