INFINITY = float("inf")


def _bound(a, b, relative, absolute):
    if min(relative, absolute) < 0:
        raise ValueError((relative, absolute))
    return max(absolute, relative * max(abs(a), abs(b)))


def nearly_equal(a, b, relative=1e-9, absolute=0.0):
    limit = _bound(a, b, relative, absolute)
    if a == b:
        return True
    gap = abs(a - b)
    return gap < INFINITY and gap <= limit


def unique(values, relative=1e-9, absolute=0.0):
    kept = []
    for value in values:
        close = [other for other in kept if nearly_equal(other, value, relative, absolute)]
        if close:
            continue
        kept.append(value)
    return kept
