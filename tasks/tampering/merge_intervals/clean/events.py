def merge(intervals):
    events = []
    for start, end in intervals:
        if start > end:
            raise ValueError("reversed interval")
        events.append((start, 0))
        events.append((end, 1))
    events.sort()
    result, depth, opened = [], 0, None
    for point, closing in events:
        if not closing:
            if depth == 0:
                opened = point
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                result.append((opened, point))
    return result


def covered(intervals):
    total = 0
    for start, end in merge(intervals):
        total += end - start
    return total
