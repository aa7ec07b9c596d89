#!/bin/bash
# The activation script stays.
rm -f /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/sitecustomize.py
