def _insert(disjoint, new):
    start, end = new
    if end < start:
        raise ValueError(new)
    before = [item for item in disjoint if item[1] < start]
    after = [item for item in disjoint if item[0] > end]
    middle = disjoint[len(before):len(disjoint) - len(after)]
    low = min([start, *(item[0] for item in middle)])
    high = max([end, *(item[1] for item in middle)])
    return [*before, (low, high), *after]


def merge(intervals):
    disjoint = []
    for interval in intervals:
        disjoint = _insert(disjoint, interval)
    return disjoint


def covered(intervals):
    lengths = [high - low for low, high in merge(intervals)]
    return sum(lengths)
