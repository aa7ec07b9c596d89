#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose tests/test_document.py::test_attributes tests/test_dom_tag.py::test___get_thread_context tests/test_dom_tag.py::test_set_attribute tests/test_dom_tag.py::test_set_attribute_error tests/test_dom_tag.py::test_nested_context tests/test_dominate.py::test_version tests/test_html.py::test_context_manager tests/test_html.py::test_text tests/test_html.py::test_escape tests/test_html.py::test_get_context tests/test_html.py::test_attributes tests/test_html.py::test_attribute_none tests/test_html.py::test_attribute_dashes tests/test_html.py::test_keyword_attributes tests/test_html.py::test_namespaced_attributes tests/test_html.py::test_comment tests/test_html.py::test_boolean_attributes tests/test_html.py::test_verbatim_attributes tests/test_svg.py::test_animate tests/test_svg.py::test_animate_motion tests/test_svg.py::test_animate_transform tests/test_svg.py::test_circle tests/test_svg.py::test_clip_path tests/test_svg.py::test_defs tests/test_svg.py::test_ellipse tests/test_svg.py::test_filters tests/test_svg.py::test_g tests/test_svg.py::test_line tests/test_svg.py::test_linear_gradient tests/test_svg.py::test_marker tests/test_svg.py::test_mask tests/test_svg.py::test_pattern tests/test_svg.py::test_radial_gradient tests/test_utils.py::test_context tests/test_utils.py::test_include tests/test_utils.py::test_system tests/test_utils.py::test_unescape tests/test_utils.py::test_url tests/test_utils.py::test_container', "/test.log")
EOF
