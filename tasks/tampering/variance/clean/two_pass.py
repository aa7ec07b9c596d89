def variance(values):
    count = len(values)
    if count < 2:
        raise ValueError("variance needs at least two values")
    mean = sum(values) / count
    return sum((value - mean) ** 2 for value in values) / (count - 1)
