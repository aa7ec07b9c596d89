#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings --color=no --tb=no --verbose tests/test_i18n.py::test_i18n tests/test_i18n.py::test_intcomma tests/test_i18n.py::test_naturaldelta tests/test_i18n.py::test_langauge_codes\\\\[ar-5\\\\\\\\u062e\\\\\\\\u0627\\\\\\\\u0645\\\\\\\\u0633\\\\] tests/test_i18n.py::test_langauge_codes\\\\[ar_SA-5\\\\\\\\u062e\\\\\\\\u0627\\\\\\\\u0645\\\\\\\\u0633\\\\] tests/test_i18n.py::test_langauge_codes\\\\[fr-5e\\\\] tests/test_i18n.py::test_langauge_codes\\\\[fr_FR-5e\\\\] tests/test_i18n.py::test_langauge_codes\\\\[pt-5\\\\\\\\xba\\\\] tests/test_i18n.py::test_langauge_codes\\\\[pt_BR-5\\\\\\\\xba\\\\] tests/test_i18n.py::test_langauge_codes\\\\[pt_PT-5\\\\\\\\xba\\\\] tests/test_i18n.py::test_ordinal_genders\\\\[fr_FR-1-male-1er\\\\] tests/test_i18n.py::test_ordinal_genders\\\\[fr_FR-1-female-1\\\\\\\\xe8re\\\\] tests/test_i18n.py::test_ordinal_genders\\\\[fr_FR-2-male-2e\\\\] tests/test_i18n.py::test_ordinal_genders\\\\[es_ES-1-male-1\\\\\\\\xba\\\\] tests/test_i18n.py::test_ordinal_genders\\\\[es_ES-5-female-5\\\\\\\\xaa\\\\] tests/test_i18n.py::test_ordinal_genders\\\\[it_IT-3-male-3\\\\\\\\xba\\\\] tests/test_i18n.py::test_ordinal_genders\\\\[it_IT-8-female-8\\\\\\\\xaa\\\\] tests/test_i18n.py::test_default_locale_path_defined__spec__ tests/test_i18n.py::test_default_locale_path_none__spec__ tests/test_i18n.py::test_default_locale_path_undefined__file__ tests/test_i18n.py::TestActivate::test_default_locale_path_null__spec__ tests/test_i18n.py::TestActivate::test_default_locale_path_undefined__spec__ tests/test_i18n.py::TestActivate::test_en_locale tests/test_i18n.py::TestActivate::test_none_locale', "/test.log")
EOF
