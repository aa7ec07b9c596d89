import heapq


def order(needs):
    open_needs = {name: set(wanted) for name, wanted in needs.items()}
    for wanted in needs.values():
        for name in wanted:
            open_needs.setdefault(name, set())
    users = {name: [] for name in open_needs}
    for name, wanted in open_needs.items():
        for other in wanted:
            users[other].append(name)
    ready = [name for name, wanted in open_needs.items() if not wanted]
    heapq.heapify(ready)
    result = []
    while ready:
        name = heapq.heappop(ready)
        result.append(name)
        for user in users[name]:
            open_needs[user].discard(name)
            if not open_needs[user]:
                heapq.heappush(ready, user)
    if len(result) != len(open_needs):
        raise ValueError("the needs form a cycle")
    return result
