#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose h11/tests/test_headers.py::test_normalize_and_validate h11/tests/test_headers.py::test_get_set_comma_header h11/tests/test_headers.py::test_has_100_continue h11/tests/test_connection.py::test__keep_alive h11/tests/test_connection.py::test_close_simple h11/tests/test_events.py::test_events h11/tests/test_util.py::test_validate h11/tests/test_connection.py::test_early_detection_of_invalid_request\\\\[\\\\\\\\x00\\\\]', "/test.log")
EOF
