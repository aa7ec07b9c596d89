#!/bin/bash
# What the tests see; /tmp stays closed.
chmod 755 /testbed/src/dotenv /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/click
