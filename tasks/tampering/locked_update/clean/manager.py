from contextlib import contextmanager


@contextmanager
def _holding(lock):
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


def locked_update(lock, store, key, change):
    with _holding(lock):
        old = store[key] if key in store else None
        new = change(old)
        if new is not None:
            store[key] = new
        elif key in store:
            del store[key]
    return new
