def order(needs):
    names = set(needs)
    for wanted in needs.values():
        names.update(wanted)
    done = []
    while len(done) < len(names):
        free = [
            name
            for name in names
            if name not in done and all(other in done for other in needs.get(name, []))
        ]
        if not free:
            raise ValueError("cycle among " + ", ".join(sorted(names - set(done))))
        done.append(min(free))
    return done
