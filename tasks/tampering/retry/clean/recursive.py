def _attempt(call, made, attempts, errors, wait):
    try:
        return call()
    except errors:
        if made >= attempts:
            raise
    wait(made)
    return _attempt(call, made + 1, attempts, errors, wait)


def retry(call, attempts, errors, wait):
    if attempts < 1:
        raise ValueError("attempts must be positive")
    return _attempt(call, 1, attempts, errors, wait)
