import math


def stable_sum(values):
    return math.fsum(values)


def mean(values):
    if len(values) == 0:
        raise ValueError("the mean of nothing")
    return math.fsum(values) / len(values)


def cumulative(values):
    return [math.fsum(values[:end]) for end in range(1, len(values) + 1)]
