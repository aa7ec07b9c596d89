_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_length(year, month):
    return 29 if month == 2 and _is_leap(year) else _LENGTHS[month - 1]


def parse_date(text):
    digits = text[0:4] + text[5:7] + text[8:10]
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        raise ValueError(f"not a date: {text!r}")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"not a date: {text!r}")
    year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
    if year == 0 or not 1 <= month <= 12 or not 1 <= day <= _month_length(year, month):
        raise ValueError(f"no such day: {text!r}")
    return year, month, day


def day_of_year(text):
    year, month, day = parse_date(text)
    return day + sum(_month_length(year, earlier) for earlier in range(1, month))


def _ordinal(text):
    before = parse_date(text)[0] - 1
    return before * 365 + before // 4 - before // 100 + before // 400 + day_of_year(text)


def days_between(first, second):
    return _ordinal(second) - _ordinal(first)
