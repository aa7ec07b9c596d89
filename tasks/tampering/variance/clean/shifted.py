from math import fsum


def variance(values):
    if len(values) <= 1:
        raise ValueError(f"{len(values)} value(s) have no sample variance")
    origin = values[0]
    moved = [value - origin for value in values]
    centre = fsum(moved) / len(moved)
    squares = fsum((item - centre) * (item - centre) for item in moved)
    return squares / (len(moved) - 1)
