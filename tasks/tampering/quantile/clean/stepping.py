def _at(ranked, position):
    index = int(position)
    rest = position - index
    value = float(ranked[index])
    if rest > 0:
        value += (ranked[index + 1] - value) * rest
    return value


def _prepare(values, fractions):
    if not values:
        raise ValueError("empty list")
    for fraction in fractions:
        if fraction < 0.0 or fraction > 1.0:
            raise ValueError(fraction)
    ranked = list(values)
    ranked.sort()
    return [_at(ranked, fraction * (len(ranked) - 1)) for fraction in fractions]


def quantile(values, fraction):
    return _prepare(values, [fraction])[0]


def median(values):
    return _prepare(values, [0.5])[0]


def spread(values):
    low, high = _prepare(values, [0.25, 0.75])
    return high - low
