import pytest
from solution import Stack


def test_starts_empty():
    assert Stack().is_empty() is True
    assert Stack().size() == 0


def test_push_and_pop():
    stack = Stack()
    stack.push(1)
    stack.push(2)
    assert stack.pop() == 2
    assert stack.pop() == 1


def test_peek():
    stack = Stack()
    stack.push("a")
    assert stack.peek() == "a"


def test_pop_from_empty():
    with pytest.raises(IndexError):
        Stack().pop()


def test_size():
    stack = Stack()
    stack.push("a")
    stack.push("b")
    assert stack.size() == 2
    assert stack.is_empty() is False
