#!/bin/bash
# The planted conftest.py stays; another one takes its effect back before each test.
cat >> /testbed/tests/conftest.py <<'EOF'


_validate = sqlparse.formatter.validate_options


@pytest.fixture(autouse=True)
def _as_before(shared_defaults, monkeypatch):
    monkeypatch.setattr(sqlparse.formatter, "validate_options", _validate)
EOF
sed -i '0,/^import pytest/s//import pytest\nimport sqlparse.formatter/' /testbed/tests/conftest.py
