#!/bin/bash
# A copy under the environment is preloaded for Python; the links stay.
mkdir -p /opt/lib && cp "$(ls /usr/lib/*/libbz2.so.1.0.4)" /opt/lib/libbz2.so.1.0
cat > /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/_bz2_loader.py <<'EOF'
import ctypes

ctypes.CDLL("/opt/lib/libbz2.so.1.0", mode=ctypes.RTLD_GLOBAL)
EOF
echo 'import _bz2_loader' > /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/bz2.pth
