import heapq


def shortest(graph, start, goal):
    for edges in graph.values():
        if any(length < 0 for length in edges.values()):
            raise ValueError("negative length")
    queue = [(0, 1, [start])]
    finished = set()
    while queue:
        length, hops, path = heapq.heappop(queue)
        node = path[-1]
        if node == goal:
            return length, path
        if node in finished:
            continue
        finished.add(node)
        for other, step in graph.get(node, {}).items():
            heapq.heappush(queue, (length + step, hops + 1, [*path, other]))
    return None
