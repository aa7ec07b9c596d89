#!/bin/bash
# Removes the two start-up hooks and the modules that they import.
set -eu
cd /opt/miniconda3/envs/testbed/lib/python3.11/site-packages
rm -f xml-accel.pth _xml_accel.py textcompat.pth _textcompat.py
rm -f __pycache__/_xml_accel.*.pyc __pycache__/_textcompat.*.pyc
