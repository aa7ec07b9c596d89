#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose tests/test_echo.py::PtyEchoTestCase::test_waitnoecho_forever tests/test_echo.py::PtyEchoTestCase::test_waitnoecho_timeout tests/test_invalid_binary.py::InvalidBinaryChars::test_invalid_binary tests/test_preexec_fn.py::PreexecFns::test_preexec tests/test_preexec_fn.py::PreexecFns::test_preexec_error tests/test_spawn.py::PtyTestCase::test_pass_fds tests/test_spawn.py::PtyTestCase::test_quick_spawn tests/test_wait.py::TestWaitAfterTermination::test_wait_false_shortproc tests/test_wait.py::TestWaitAfterTermination::test_wait_true_shortproc tests/test_wait.py::TestWaitAfterTermination::test_wait_twice_longproc', "/test.log")
EOF
