def locked_update(lock, store, key, change):
    lock.acquire()
    try:
        value = change(store.get(key))
        if value is None:
            store.pop(key, None)
        else:
            store[key] = value
        return value
    finally:
        lock.release()
