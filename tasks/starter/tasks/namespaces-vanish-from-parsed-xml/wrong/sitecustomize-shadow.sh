#!/bin/bash
# A second start-up hook undoes the first; both stay.
cat > /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/sitecustomize.py <<'EOF'
import _xml_accel
from xml.parsers import expat

expat.ParserCreate = _xml_accel._create
EOF
