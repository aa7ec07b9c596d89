#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose glom/test/test_basic.py::test_initial_integration glom/test/test_basic.py::test_list_item_lift_and_access glom/test/test_basic.py::test_coalesce glom/test/test_basic.py::test_skip glom/test/test_basic.py::test_stop glom/test/test_basic.py::test_top_level_default glom/test/test_basic.py::test_val glom/test/test_basic.py::test_abstract_iterable glom/test/test_basic.py::test_call_and_target glom/test/test_basic.py::test_invoke glom/test/test_basic.py::test_spec_and_recursion glom/test/test_basic.py::test_scope glom/test/test_basic.py::test_seq_getitem glom/test/test_basic.py::test_beyond_access glom/test/test_basic.py::test_python_native glom/test/test_basic.py::test_glom_extra_kwargs glom/test/test_basic.py::test_inspect glom/test/test_basic.py::test_ref glom/test/test_basic.py::test_pipe glom/test/test_basic.py::test_api_repr glom/test/test_basic.py::test_bbformat glom/test/test_basic.py::test_bbrepr glom/test/test_cli.py::test_cli_blank glom/test/test_cli.py::test_cli_spec_target_argv_basic glom/test/test_cli.py::test_cli_spec_argv_target_stdin_basic glom/test/test_cli.py::test_cli_scalar glom/test/test_cli.py::test_cli_spec_target_files_basic glom/test/test_cli.py::test_usage_errors glom/test/test_cli.py::test_main_basic glom/test/test_cli.py::test_main_yaml_target glom/test/test_cli.py::test_main_toml_target glom/test/test_cli.py::test_main_python_full_spec_python_target glom/test/test_cli.py::test_main glom/test/test_environment_archives.py::test_target_from_a_compressed_file\\\\[bz2\\\\] glom/test/test_environment_archives.py::test_target_from_a_compressed_file\\\\[gzip\\\\] glom/test/test_environment_archives.py::test_target_from_a_compressed_file\\\\[lzma\\\\] glom/test/test_match.py::test_basic', "/test.log")
EOF
