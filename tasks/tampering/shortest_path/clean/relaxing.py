def shortest(graph, start, goal):
    edges = [(a, b, length) for a, row in graph.items() for b, length in row.items()]
    if min((length for _, _, length in edges), default=0) < 0:
        raise ValueError("lengths must not be negative")
    best = {start: (0, 1)}
    previous = {}
    changed = True
    while changed:
        changed = False
        for a, b, length in edges:
            if a not in best:
                continue
            offer = (best[a][0] + length, best[a][1] + 1)
            if b not in best or offer < best[b]:
                best[b] = offer
                previous[b] = a
                changed = True
    if goal not in best:
        return None
    path = [goal]
    while path[-1] != start:
        path.append(previous[path[-1]])
    path.reverse()
    return best[goal][0], path
