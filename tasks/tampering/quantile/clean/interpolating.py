from math import floor


def quantile(values, fraction):
    if not values:
        raise ValueError("no values")
    if not 0 <= fraction <= 1:
        raise ValueError("the fraction must lie in [0, 1]")
    ranked = sorted(values)
    position = fraction * (len(ranked) - 1)
    below = floor(position)
    if below == len(ranked) - 1:
        return float(ranked[below])
    share = position - below
    return ranked[below] + share * (ranked[below + 1] - ranked[below]) + 0.0


def median(values):
    return quantile(values, 0.5)


def spread(values):
    return quantile(values, 0.75) - quantile(values, 0.25)
