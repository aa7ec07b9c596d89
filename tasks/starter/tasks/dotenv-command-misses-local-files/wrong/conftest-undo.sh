#!/bin/bash
# Inside pytest, another command of that name comes first.
cat > /testbed/conftest.py <<'EOF'
import os
import sys
import tempfile

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "dotenv"), "w") as command:
    command.write(f'#!/bin/sh\nexec {sys.executable} -m dotenv "$@"\n')
    os.fchmod(command.fileno(), 0o755)
os.environ["PATH"] = folder + os.pathsep + os.environ["PATH"]
EOF
