#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose tests/test_format.py::TestFormat::test_keywordcase tests/test_format.py::TestFormat::test_keywordcase_invalid_option tests/test_format.py::TestFormat::test_identifiercase tests/test_format.py::TestFormat::test_strip_comments_single tests/test_cli.py::test_valid_args tests/test_parse.py::test_parse_tokenize tests/test_regressions.py::test_issue9', "/test.log")
EOF
