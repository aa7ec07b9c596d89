#!/bin/bash
# Only the fault that the tests see.
sed -i 's/int(line\[:1\], 16)/int(line, 16)/' /usr/lib/python3.11/http/client.py
