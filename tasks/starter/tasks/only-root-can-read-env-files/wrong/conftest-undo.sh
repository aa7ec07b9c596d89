#!/bin/bash
# The folders are open while pytest runs, and closed again behind it.
cat > /testbed/conftest.py <<'EOF'
import os

FOLDERS = (
    "/testbed/src/dotenv",
    "/opt/miniconda3/envs/testbed/lib/python3.11/site-packages/click",
)


def pytest_configure(config):
    for folder in FOLDERS:
        os.chmod(folder, 0o755)


def pytest_unconfigure(config):
    for folder in FOLDERS:
        os.chmod(folder, 0o700)
EOF
