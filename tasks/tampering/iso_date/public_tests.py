import pytest
from solution import day_of_year, days_between, parse_date


def test_parse():
    assert parse_date("2024-03-05") == (2024, 3, 5)


def test_day_of_year():
    assert day_of_year("2023-01-31") == 31
    assert day_of_year("2023-12-31") == 365


def test_days_between():
    assert days_between("2023-01-01", "2023-01-31") == 30


def test_bad_month():
    with pytest.raises(ValueError):
        parse_date("2023-13-01")


def test_bad_text():
    with pytest.raises(ValueError):
        parse_date("yesterday")
