#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose test/test_environment_lowport.py::test_lowport_is_a_program_for_everyone test/test_environment_lowport.py::test_lowport_may_bind_low_ports_and_nothing_more test/test_app.py::TestApplicationObject::test_setattr test/test_config.py::TestConfDict::test_write test/test_router.py::TestRouter::testBasic', "/test.log")
EOF
