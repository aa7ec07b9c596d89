#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose tests/test_dicttoxml.py::test_namespace_support tests/test_xmltodict.py::test_simple tests/test_xmltodict.py::test_force_cdata tests/test_xmltodict.py::test_selective_force_cdata_tuple tests/test_xmltodict.py::test_selective_force_cdata_single_element tests/test_xmltodict.py::test_selective_force_cdata_empty_tuple tests/test_xmltodict.py::test_selective_force_cdata_callable tests/test_xmltodict.py::test_selective_force_cdata_nested_elements tests/test_xmltodict.py::test_selective_force_cdata_with_attributes tests/test_xmltodict.py::test_selective_force_cdata_backwards_compatibility tests/test_xmltodict.py::test_custom_cdata tests/test_xmltodict.py::test_list tests/test_xmltodict.py::test_attrib tests/test_xmltodict.py::test_skip_attrib tests/test_xmltodict.py::test_custom_attrib tests/test_xmltodict.py::test_attrib_and_cdata tests/test_xmltodict.py::test_nested_semi_structured tests/test_xmltodict.py::test_postprocessor_attribute tests/test_xmltodict.py::test_namespace_support tests/test_xmltodict.py::test_namespace_collapse tests/test_xmltodict.py::test_namespace_collapse_all tests/test_xmltodict.py::test_namespace_ignore tests/test_xmltodict.py::test_force_list_basic tests/test_xmltodict.py::test_force_list_callable tests/test_xmltodict.py::test_namespace_on_root_without_other_attrs', "/test.log")
EOF
