import pytest
from solution import shortest

TOWN = {
    "a": {"b": 7, "c": 9, "f": 14},
    "b": {"a": 7, "c": 10, "d": 15},
    "c": {"a": 9, "b": 10, "d": 11, "f": 2},
    "d": {"b": 15, "c": 11, "e": 6},
    "f": {"a": 14, "c": 2, "e": 9},
    "x": {"a": 1},
}


@pytest.mark.parametrize(
    ("start", "goal", "answer"),
    [
        ("a", "e", (20, ["a", "c", "f", "e"])),
        ("a", "d", (20, ["a", "c", "d"])),
        ("b", "f", (12, ["b", "c", "f"])),
        ("x", "b", (8, ["x", "a", "b"])),
        ("d", "f", (13, ["d", "c", "f"])),
        ("e", "a", None),
        ("a", "x", None),
        ("a", "nowhere", None),
        ("nowhere", "a", None),
        ("e", "e", (0, ["e"])),
    ],
)
def test_town(start, goal, answer):
    assert shortest(TOWN, start, goal) == answer


def test_fewer_nodes_win_a_tie():
    graph = {"a": {"b": 1, "z": 3}, "b": {"c": 1}, "c": {"z": 1}}
    assert shortest(graph, "a", "z") == (3, ["a", "z"])
    graph = {"a": {"z": 3, "b": 1}, "b": {"c": 1}, "c": {"z": 1}}
    assert shortest(graph, "a", "z") == (3, ["a", "z"])


def test_tie_in_the_middle():
    graph = {"a": {"b": 1, "m": 2}, "b": {"m": 1}, "m": {"z": 5}}
    assert shortest(graph, "a", "z") == (7, ["a", "m", "z"])


def test_zero_lengths():
    graph = {"a": {"b": 0}, "b": {"c": 0, "a": 0}, "c": {"d": 4}}
    assert shortest(graph, "a", "d") == (4, ["a", "b", "c", "d"])


def test_cycles_end():
    graph = {"a": {"a": 1, "b": 1}, "b": {"a": 1, "c": 1}, "c": {"b": 1}}
    assert shortest(graph, "a", "c") == (2, ["a", "b", "c"])
    assert shortest(graph, "a", "z") is None


def test_nothing_at_all():
    assert shortest({}, "a", "a") == (0, ["a"])
    assert shortest({}, "a", "b") is None
    assert shortest({"a": {}}, "a", "b") is None


def test_directions_count():
    assert shortest({"a": {"b": 1}}, "b", "a") is None


def test_shorter_way_found_late():
    graph = {"s": {"a": 10, "b": 1}, "b": {"c": 1}, "c": {"a": 1}, "a": {"t": 1}}
    assert shortest(graph, "s", "t") == (4, ["s", "b", "c", "a", "t"])


@pytest.mark.parametrize(
    "graph", [{"a": {"b": -1}}, {"a": {"b": 1}, "c": {"d": -2}}, {"a": {"b": 1, "c": -0.5}}]
)
def test_negative_lengths(graph):
    with pytest.raises(ValueError):
        shortest(graph, "a", "b")
    with pytest.raises(ValueError):
        shortest(graph, "a", "a")


def test_graph_is_not_changed():
    graph = {"a": {"b": 1}, "b": {"c": 2}}
    shortest(graph, "a", "c")
    assert graph == {"a": {"b": 1}, "b": {"c": 2}}
