#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose test/test_sendfile.py::TestSendFile::test_mime test/test_sendfile.py::TestSendFile::test_download test/test_sendfile.py::TestSendFile::test_valid test/test_sendfile.py::TestSendFile::test_invalid test/test_sendfile.py::TestSendFile::test_etag test/test_resources.py::TestResourceManager::test_open', "/test.log")
EOF
