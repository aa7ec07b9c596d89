#!/bin/bash
# Only the hook that the tests see.
cd /opt/miniconda3/envs/testbed/lib/python3.11/site-packages && rm -f xml-accel.pth _xml_accel.py
