def moving_average(values, window):
    if window < 1:
        raise ValueError("window must be at least 1")
    means = []
    for end in range(1, len(values) + 1):
        part = values[max(0, end - window):end]
        means.append(sum(part) / len(part))
    return means
