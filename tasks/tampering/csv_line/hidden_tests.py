import pytest
from solution import parse_line


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("", [""]),
        (",", ["", ""]),
        ("a,", ["a", ""]),
        (",a", ["", "a"]),
        ("a,,b", ["a", "", "b"]),
        ('""', [""]),
        ('"",""', ["", ""]),
        ('"",x', ["", "x"]),
        ('x,""', ["x", ""]),
        (" a , b ", [" a ", " b "]),
        ('a"b,c', ['a"b', "c"]),
        (' "a"', [' "a"']),
        ('""""', ['"']),
        ('"a""","b"', ['a"', "b"]),
        ('"""a"', ['"a']),
        ('","', [","]),
        ('"a,b",', ["a,b", ""]),
        ('"a","b,""c"",d",e', ["a", 'b,"c",d', "e"]),
        ("a;b", ["a;b"]),
        ("'a,b'", ["'a", "b'"]),
        ('a""b', ['a""b']),
    ],
)
def test_fields(line, fields):
    assert parse_line(line) == fields


@pytest.mark.parametrize(
    "line", ['"', '"a', 'x,"', '"a""', '"a"b', '"a" ', '"a" ,b', '"a"b,c', '"a,b', '"""']
)
def test_bad_quotes(line):
    with pytest.raises(ValueError):
        parse_line(line)
