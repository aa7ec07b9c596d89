#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose tests/test_cli.py::test_run tests/test_cli.py::test_run_with_existing_variable tests/test_cli.py::test_run_with_existing_variable_not_overridden tests/test_cli.py::test_run_with_other_env tests/test_cli.py::test_run_with_none_value tests/test_cli.py::test_get_existing_value tests/test_cli.py::test_run_with_version', "/test.log")
EOF
