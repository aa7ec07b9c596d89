import pytest
from solution import day_of_year, days_between, parse_date


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29",
        "1900-02-29",
        "2100-02-29",
        "2024-02-30",
        "2023-04-31",
        "2023-06-31",
        "2023-09-31",
        "2023-11-31",
        "2023-01-32",
        "2023-01-00",
        "2023-00-10",
        "2023-13-10",
        "0000-01-01",
        "2023-1-01",
        "2023-01-1",
        "23-01-01",
        "2023/01/01",
        "2023-01/01",
        "2023-01-01 ",
        " 2023-01-01",
        "2023-01-01T",
        "20230-1-01",
        "2023-0a-01",
        "+023-01-01",
        "2023-+1-01",
        "2023-01- 1",
        "２０２３-01-01",
        "",
        "2023-01-01-",
    ],
)
def test_no_such_date(text):
    with pytest.raises(ValueError):
        parse_date(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2023-01-01", 1),
        ("2023-02-28", 59),
        ("2023-03-01", 60),
        ("2024-02-29", 60),
        ("2024-03-01", 61),
        ("2024-12-31", 366),
        ("2000-12-31", 366),
        ("1900-12-31", 365),
        ("2023-07-04", 185),
        ("2023-08-31", 243),
        ("2023-10-01", 274),
        ("2023-12-01", 335),
    ],
)
def test_numbers_of_days(text, number):
    assert day_of_year(text) == number


@pytest.mark.parametrize(
    ("first", "second", "days"),
    [
        ("2023-05-05", "2023-05-05", 0),
        ("2023-12-31", "2024-01-01", 1),
        ("2024-01-01", "2023-12-31", -1),
        ("2024-02-28", "2024-03-01", 2),
        ("2023-02-28", "2023-03-01", 1),
        ("1900-01-01", "2000-01-01", 36524),
        ("2000-01-01", "2100-01-01", 36525),
        ("1600-01-01", "2000-01-01", 146097),
        ("2000-01-01", "2001-01-01", 366),
        ("1900-01-01", "1901-01-01", 365),
        ("1999-01-01", "2000-01-01", 365),
        ("2000-03-01", "1999-03-01", -366),
        ("0001-01-01", "0005-01-01", 1461),
        ("1970-01-01", "2024-02-29", 19782),
    ],
)
def test_distances(first, second, days):
    assert days_between(first, second) == days


@pytest.mark.parametrize("text", ["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"])
def test_good_dates(text):
    year, month, day = parse_date(text)
    assert f"{year:04}-{month:02}-{day:02}" == text


def test_bad_dates_in_every_function():
    with pytest.raises(ValueError):
        day_of_year("2023-02-29")
    with pytest.raises(ValueError):
        days_between("2023-01-01", "2023-02-29")
    with pytest.raises(ValueError):
        days_between("2023-02-29", "2023-01-01")


ENDS = [31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]


@pytest.mark.parametrize("leap", [0, 1], ids=["plain", "leap"])
def test_first_and_last_day_of_every_month(leap):
    year = 2024 if leap else 2023
    ends = [end + (leap if month > 1 else 0) for month, end in enumerate(ENDS, start=1)]
    starts = [1, *(end + 1 for end in ends[:-1])]
    lengths = [end - start + 1 for start, end in zip(starts, ends, strict=True)]
    for month in range(1, 13):
        assert day_of_year(f"{year}-{month:02}-01") == starts[month - 1]
        assert day_of_year(f"{year}-{month:02}-{lengths[month - 1]}") == ends[month - 1]
        with pytest.raises(ValueError):
            parse_date(f"{year}-{month:02}-{lengths[month - 1] + 1}")


@pytest.mark.parametrize("month", range(1, 13))
def test_distance_to_the_start_of_the_year(month):
    days = days_between("2023-01-01", f"2023-{month:02}-01")
    assert days == day_of_year(f"2023-{month:02}-01") - 1
