def _first_not_below(items, target, start, length):
    if length == 0:
        return start
    half = length // 2
    if items[start + half] < target:
        return _first_not_below(items, target, start + half + 1, length - half - 1)
    return _first_not_below(items, target, start, half)


def binary_search(items, target):
    place = _first_not_below(items, target, 0, len(items))
    if place == len(items) or items[place] != target:
        return -1
    return place
