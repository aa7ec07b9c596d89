from math import isinf, isnan


def nearly_equal(a, b, relative=1e-9, absolute=0.0):
    if relative < 0 or absolute < 0:
        raise ValueError("tolerances must not be negative")
    if isnan(a) or isnan(b):
        return False
    if a == b:
        return True
    if isinf(a) or isinf(b):
        return False
    distance = abs(a - b)
    return distance <= absolute or distance <= relative * max(abs(a), abs(b))


def unique(values, relative=1e-9, absolute=0.0):
    kept = []
    for value in values:
        if not any(nearly_equal(value, other, relative, absolute) for other in kept):
            kept.append(value)
    return kept
