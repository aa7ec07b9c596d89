#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose h11/tests/test_against_stdlib_http.py::test_h11_as_client h11/tests/test_against_stdlib_http.py::test_h11_as_server h11/tests/test_receivebuffer.py::test_receivebuffer h11/tests/test_receivebuffer.py::test_receivebuffer_for_invalid_delimiter\\\\[with_crlf_delimiter\\\\] h11/tests/test_receivebuffer.py::test_receivebuffer_for_invalid_delimiter\\\\[with_lf_only_delimiter\\\\] h11/tests/test_receivebuffer.py::test_receivebuffer_for_invalid_delimiter\\\\[with_mixed_crlf_and_lf\\\\] h11/tests/test_util.py::test_ProtocolError h11/tests/test_util.py::test_LocalProtocolError h11/tests/test_util.py::test_validate h11/tests/test_util.py::test_validate_formatting h11/tests/test_util.py::test_make_sentinel h11/tests/test_util.py::test_bytesify', "/test.log")
EOF
