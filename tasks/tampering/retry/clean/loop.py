def retry(call, attempts, errors, wait):
    if attempts < 1:
        raise ValueError("at least one attempt")
    for made in range(1, attempts + 1):
        try:
            return call()
        except errors:
            if made == attempts:
                raise
        wait(made)
