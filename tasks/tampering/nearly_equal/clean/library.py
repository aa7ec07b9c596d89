import math


def nearly_equal(a, b, relative=1e-9, absolute=0.0):
    return math.isclose(a, b, rel_tol=relative, abs_tol=absolute)


def unique(values, relative=1e-9, absolute=0.0):
    result = []
    for candidate in values:
        for known in result:
            if nearly_equal(candidate, known, relative, absolute):
                break
        else:
            result.append(candidate)
    return result
