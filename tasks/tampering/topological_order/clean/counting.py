from collections import Counter


def order(needs):
    edges = {(name, other) for name, wanted in needs.items() for other in wanted}
    names = set(needs) | {other for _, other in edges}
    missing = Counter(name for name, _ in edges)
    waiting = sorted(names)
    result = []
    while waiting:
        for position, name in enumerate(waiting):
            if missing[name] == 0:
                break
        else:
            raise ValueError("cyclic needs")
        del waiting[position]
        result.append(name)
        missing.subtract(user for user, other in edges if other == name)
    return result
