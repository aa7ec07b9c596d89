def merge(intervals):
    for start, end in intervals:
        if end < start:
            raise ValueError(f"({start}, {end}) ends before it starts")
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def covered(intervals):
    return sum(end - start for start, end in merge(intervals))
