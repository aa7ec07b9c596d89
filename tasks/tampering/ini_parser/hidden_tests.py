import pytest
from solution import parse_ini


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("[a]\nx = 1 = 2", {"a": {"x": "1 = 2"}}),
        ("[a]\nKey = Value", {"a": {"key": "Value"}}),
        ("[a]\nX=1\nx=2", {"a": {"x": "2"}}),
        ("[a]\nx =", {"a": {"x": ""}}),
        ("[a]\n[b]", {"a": {}, "b": {}}),
        ("[a]\nx=1\n[b]\ny=2\n[a]\nz=3", {"a": {"x": "1", "z": "3"}, "b": {"y": "2"}}),
        ("  [ a b ]  \n   x   =  1 2  ", {"a b": {"x": "1 2"}}),
        ("[a]\n\n   \nx=1", {"a": {"x": "1"}}),
        ("[a]\n  # x=1\n\t; y=2", {"a": {}}),
        ("[a]\nx = 1 # 2", {"a": {"x": "1 # 2"}}),
        ("[A]\nx=1\n[a]\nx=2", {"A": {"x": "1"}, "a": {"x": "2"}}),
        ("[a]\nx = [1]", {"a": {"x": "[1]"}}),
        ("[a]\na b = c", {"a": {"a b": "c"}}),
        ("[a]\r\nx=1\r\n", {"a": {"x": "1"}}),
        ("\n# only a comment", {}),
    ],
)
def test_texts(text, data):
    assert parse_ini(text) == data


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1", "1"),
        ("# c\n\nx = 1\n[a]", "3"),
        ("[a]\n= 1", "2"),
        ("[a]\n  = ", "2"),
        ("[]", "1"),
        ("[a]\nx=1\n[ ]", "3"),
        ("[a]\nx=1\ny\n", "3"),
        ("[a\nx=1", "1"),
        ("a]", "1"),
    ],
)
def test_errors_name_their_line(text, line):
    with pytest.raises(ValueError) as caught:
        parse_ini(text)
    digits = [char for char in str(caught.value) if char.isdigit()]
    assert digits[0] == line


def test_sections_share_nothing():
    data = parse_ini("[a]\n[b]")
    data["a"]["x"] = "1"
    assert data["b"] == {}
