def _running(values):
    total, lost = 0.0, 0.0
    for value in values:
        new = total + value
        if abs(total) >= abs(value):
            lost += (total - new) + value
        else:
            lost += (value - new) + total
        total = new
        yield total + lost


def stable_sum(values):
    result = 0.0
    for result in _running(values):
        pass
    return result


def mean(values):
    if not values:
        raise ValueError("no values")
    return stable_sum(values) / len(values)


def cumulative(values):
    return list(_running(values))
