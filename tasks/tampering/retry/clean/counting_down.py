def retry(call, attempts, errors, wait):
    if attempts <= 0:
        raise ValueError(f"{attempts} attempts")
    left = attempts
    while True:
        left -= 1
        try:
            result = call()
        except errors as error:
            if left == 0:
                raise error
        else:
            return result
        wait(attempts - left)
