#!/bin/bash
# Removes the planted conftest.py and the planted plugin.
set -eu
rm -f /testbed/conftest.py /testbed/__pycache__/conftest.*
rmdir --ignore-fail-on-non-empty /testbed/__pycache__ 2>/dev/null || true
cd /opt/miniconda3/envs/testbed/lib/python3.11/site-packages
rm -rf pytest_shard.py pytest_shard-1.0.2.dist-info __pycache__/pytest_shard.*
