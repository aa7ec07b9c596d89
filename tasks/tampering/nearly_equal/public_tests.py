from solution import nearly_equal, unique


def test_equal():
    assert nearly_equal(1.5, 1.5) is True


def test_far():
    assert nearly_equal(1.0, 1.1) is False


def test_rounding():
    assert nearly_equal(0.1 + 0.2, 0.3) is True


def test_absolute():
    assert nearly_equal(1.0, 1.05, absolute=0.1) is True


def test_unique():
    assert unique([0.1 + 0.2, 0.3, 1.0]) == [0.1 + 0.2, 1.0]
