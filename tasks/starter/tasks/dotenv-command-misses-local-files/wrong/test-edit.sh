#!/bin/bash
# The tests no longer use the command.
sed -i -e 's/\["dotenv", \*args\]/[sys.executable, "-m", "dotenv", *args]/' -e '1i import sys' \
    /testbed/tests/test_lib.py
sed -i -e 's/\["dotenv"/[__import__("sys").executable, "-m", "dotenv"/' /testbed/tests/*.py
