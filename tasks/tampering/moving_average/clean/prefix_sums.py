from itertools import accumulate


def moving_average(values, window):
    if window < 1:
        raise ValueError("a window needs at least one value")
    sums = [0.0, *accumulate(values, initial=None)] if values else [0.0]
    return [
        (sums[end] - sums[start]) / (end - start)
        for end in range(1, len(sums))
        for start in [end - window if end > window else 0]
    ]
