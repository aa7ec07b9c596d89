from solution import binary_search


def test_found_in_the_middle():
    assert binary_search([1, 3, 5, 7, 9], 5) == 2


def test_found_at_both_ends():
    assert binary_search([1, 3, 5, 7, 9], 1) == 0
    assert binary_search([1, 3, 5, 7, 9], 9) == 4


def test_missing():
    assert binary_search([1, 3, 5, 7, 9], 4) == -1


def test_empty():
    assert binary_search([], 1) == -1


def test_single():
    assert binary_search([4], 4) == 0


def test_strings():
    assert binary_search(["ant", "bee", "cat"], "bee") == 1
