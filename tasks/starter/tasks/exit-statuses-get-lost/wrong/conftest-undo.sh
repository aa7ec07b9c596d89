#!/bin/bash
# Inside pytest, another system call is used.
cat > /testbed/conftest.py <<'EOF'
import os

os.waitpid = lambda pid, options: os.wait4(pid, options)[:2]
EOF
