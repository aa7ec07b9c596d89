from bisect import bisect_left


def binary_search(items, target):
    position = bisect_left(items, target)
    found = position < len(items) and items[position] == target
    return position if found else -1
