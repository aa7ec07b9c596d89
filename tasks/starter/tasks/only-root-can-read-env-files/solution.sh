#!/bin/bash
set -eu
chmod 755 /testbed/src/dotenv /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/click
chmod 1777 /tmp
