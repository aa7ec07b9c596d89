def _apply(store, key, change):
    result = change(store.get(key, None))
    if result is not None:
        store.update({key: result})
        return result
    if key in store:
        store.pop(key)
    return None


def locked_update(lock, store, key, change):
    lock.acquire()
    try:
        result = _apply(store, key, change)
    except BaseException:
        lock.release()
        raise
    lock.release()
    return result
