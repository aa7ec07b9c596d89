import re
from datetime import date

_SHAPE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _date(text):
    if not _SHAPE.fullmatch(text):
        raise ValueError(f"{text!r} is not YYYY-MM-DD")
    year, month, day = text.split("-")
    return date(int(year), int(month), int(day))


def parse_date(text):
    found = _date(text)
    return (found.year, found.month, found.day)


def day_of_year(text):
    return _date(text).timetuple().tm_yday


def days_between(first, second):
    return (_date(second) - _date(first)).days
