def variance(values):
    seen, mean, spread = 0, 0.0, 0.0
    for value in values:
        seen += 1
        step = value - mean
        mean += step / seen
        spread += step * (value - mean)
    if seen < 2:
        raise ValueError("not enough values")
    return spread / (seen - 1)
