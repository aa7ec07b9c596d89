#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose tests/test_cli.py::test_encoding_stdout\\\\[encoding_utf8.sql-utf-8\\\\] tests/test_cli.py::test_encoding_stdout\\\\[encoding_gbk.sql-gbk\\\\] tests/test_cli.py::test_encoding_output_file\\\\[encoding_utf8.sql-utf-8\\\\] tests/test_cli.py::test_encoding_output_file\\\\[encoding_gbk.sql-gbk\\\\] tests/test_cli.py::test_encoding_stdin\\\\[encoding_utf8.sql-utf-8\\\\] tests/test_cli.py::test_encoding_stdin\\\\[encoding_gbk.sql-gbk\\\\] tests/test_cli.py::test_encoding tests/test_regressions.py::test_format_accepts_encoding', "/test.log")
EOF
