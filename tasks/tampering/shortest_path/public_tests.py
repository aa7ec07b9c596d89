from solution import shortest


def test_direct():
    assert shortest({"a": {"b": 3}}, "a", "b") == (3, ["a", "b"])


def test_detour_is_shorter():
    graph = {"a": {"b": 9, "c": 2}, "c": {"b": 3}}
    assert shortest(graph, "a", "b") == (5, ["a", "c", "b"])


def test_no_path():
    assert shortest({"a": {"b": 1}, "c": {}}, "a", "c") is None


def test_same_node():
    assert shortest({"a": {"b": 1}}, "a", "a") == (0, ["a"])
