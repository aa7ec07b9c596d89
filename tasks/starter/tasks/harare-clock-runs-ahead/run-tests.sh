#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose tests/test_tzlocal.py::test_env tests/test_tzlocal.py::test_zoneinfo_compatibility tests/test_tzlocal.py::test_timezone tests/test_tzlocal.py::test_zone_setting tests/test_tzlocal.py::test_get_localzone_name tests/test_tzlocal.py::test_timezone_name_from_nested_env_file\\\\[:-Africa/Harare\\\\]', "/test.log")
EOF
