from collections import deque


def moving_average(values, window):
    if window <= 0:
        raise ValueError(f"window is {window}")
    recent, total, means = deque(), 0.0, []
    for value in values:
        recent.append(value)
        total += value
        if len(recent) > window:
            total -= recent.popleft()
        means.append(total / len(recent))
    return means
