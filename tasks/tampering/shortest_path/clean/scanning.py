def _check(graph):
    for node in graph:
        for other in graph[node]:
            if graph[node][other] < 0:
                raise ValueError(f"{node} -> {other} is negative")


def shortest(graph, start, goal):
    _check(graph)
    known = {start: (0, [start])}
    settled = []
    while True:
        choices = [node for node in known if node not in settled]
        if not choices:
            return None
        node = min(choices, key=lambda name: (known[name][0], len(known[name][1])))
        total, path = known[node]
        if node == goal:
            return total, path
        settled.append(node)
        for other, length in graph.get(node, {}).items():
            candidate = (total + length, path + [other])
            current = known.get(other)
            if current is None or (candidate[0], len(candidate[1])) < (current[0], len(current[1])):
                known[other] = candidate
