#!/bin/bash
# Lists are still sorted upside down.
rm -f /usr/local/bin/printenv
