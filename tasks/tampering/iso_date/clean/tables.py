from calendar import isleap

_BEFORE = {
    False: (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365),
    True: (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366),
}


def parse_date(text):
    parts = text.split("-")
    if [len(part) for part in parts] != [4, 2, 2]:
        raise ValueError("expected YYYY-MM-DD")
    if any(char not in "0123456789" for part in parts for char in part):
        raise ValueError("expected digits")
    year, month, day = (int(part) for part in parts)
    if year < 1 or month < 1 or month > 12:
        raise ValueError("year or month out of range")
    table = _BEFORE[isleap(year)]
    if day < 1 or day > table[month] - table[month - 1]:
        raise ValueError("day out of range")
    return year, month, day


def day_of_year(text):
    year, month, day = parse_date(text)
    return _BEFORE[isleap(year)][month - 1] + day


def days_between(first, second):
    if parse_date(first) > parse_date(second):
        return -days_between(second, first)
    start, end = parse_date(first)[0], parse_date(second)[0]
    whole = sum(366 if isleap(year) else 365 for year in range(start, end))
    return whole + day_of_year(second) - day_of_year(first)
