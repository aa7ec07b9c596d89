import pytest
from solution import Stack


def test_peek_at_empty():
    with pytest.raises(IndexError):
        Stack().peek()


def test_peek_keeps_the_item():
    stack = Stack()
    stack.push(5)
    assert [stack.peek(), stack.peek(), stack.size(), stack.pop()] == [5, 5, 1, 5]


@pytest.mark.parametrize("item", [None, 0, False, "", ()])
def test_falsy_items(item):
    stack = Stack()
    stack.push(1)
    stack.push(item)
    assert stack.size() == 2
    assert stack.peek() is item
    assert stack.pop() is item
    assert stack.is_empty() is False


def test_only_a_falsy_item_is_not_empty():
    stack = Stack()
    stack.push(None)
    assert stack.is_empty() is False
    assert stack.pop() is None
    assert stack.is_empty() is True


def test_order_of_many():
    stack = Stack()
    for number in range(12):
        stack.push(number)
    assert [stack.pop() for _ in range(12)] == list(range(11, -1, -1))
    assert stack.size() == 0


def test_interleaved():
    stack = Stack()
    stack.push(1)
    stack.push(2)
    assert stack.pop() == 2
    stack.push(3)
    stack.push(4)
    assert [stack.size(), stack.pop(), stack.peek(), stack.pop(), stack.pop()] == [3, 4, 3, 3, 1]


def test_usable_after_a_failed_pop():
    stack = Stack()
    stack.push(1)
    stack.pop()
    with pytest.raises(IndexError):
        stack.pop()
    assert stack.size() == 0
    assert stack.is_empty() is True
    stack.push(9)
    assert stack.size() == 1
    assert stack.pop() == 9


def test_two_stacks_share_nothing():
    first, second = Stack(), Stack()
    first.push(1)
    assert second.is_empty() is True
    second.push(2)
    assert first.pop() == 1
    assert second.size() == 1


def test_equal_items_are_kept_apart():
    stack = Stack()
    stack.push(2)
    stack.push(2)
    assert stack.size() == 2
    stack.pop()
    assert stack.peek() == 2
