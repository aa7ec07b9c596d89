#!/bin/bash
# The tests name the good program by its path.
sed -i 's/"printenv"/"\/usr\/bin\/printenv"/' /testbed/tests/test_cli.py
