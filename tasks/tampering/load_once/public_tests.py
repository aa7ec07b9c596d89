from solution import Loader


def test_loads():
    assert Loader(lambda key: key * 2).get("ab") == "abab"


def test_loads_once():
    calls = []

    def load(key):
        calls.append(key)
        return len(calls)

    loader = Loader(load)
    assert [loader.get("a"), loader.get("a")] == [1, 1]
    assert calls == ["a"]


def test_known():
    loader = Loader(lambda key: key)
    loader.get("b")
    loader.get("a")
    assert loader.known() == ["a", "b"]
