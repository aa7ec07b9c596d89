from fractions import Fraction


def _exact(values):
    return sum((Fraction(value) for value in values), Fraction(0))


def stable_sum(values):
    return float(_exact(values))


def mean(values):
    if len(values) < 1:
        raise ValueError("empty")
    return float(_exact(values) / len(values))


def cumulative(values):
    total, sums = Fraction(0), []
    for value in values:
        total += Fraction(value)
        sums.append(float(total))
    return sums
