import math


def quantile(values, fraction):
    if len(values) == 0 or fraction < 0 or fraction > 1:
        raise ValueError(f"no {fraction} quantile of {len(values)} values")
    values = sorted(values)
    place = (len(values) - 1) * fraction
    low, high = math.floor(place), math.ceil(place)
    weight = place - low
    return float(values[low] * (1 - weight) + values[high] * weight)


def median(values):
    return quantile(values, 0.5)


def spread(values):
    lower, upper = quantile(values, 0.25), quantile(values, 0.75)
    return upper - lower
