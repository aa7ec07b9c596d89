"""What an agent reads after a command: its output, cut in the middle, and notes about the shell."""

from __future__ import annotations

import codecs

from cligym.sandboxes.base import ExecResult, ShellState

__all__ = ["budget_line", "cut_text", "observation_text"]


def budget_line(commands: int) -> str:
    """The line that tells an agent what it may spend, appended to the instruction."""
    return (
        f"You have {commands} commands for this. Every command counts, also one that fails or is "
        "stopped by its time limit; none is run after the last. The machine is judged as you leave "
        "it, when you say that you are done or when the commands are used up."
    )


def observation_text(result: ExecResult, *, limit: int, timeout_s: float, workdir: str) -> str:
    """The observation of one command: at most `limit` characters of output, then notes.

    Bytes that are no UTF-8 show as U+FFFD; a cut never splits a character, and the count of what
    was left out is in characters.
    """
    if result.omitted_bytes:
        head = _decode_head(result.output[: result.head_bytes])
        tail = _decode_tail(result.output[result.head_bytes :])
        text = cut_text(head, tail, result.omitted_characters, limit=limit)
    else:
        text = cut_text(result.output.decode("utf-8", errors="replace"), limit=limit)
    text = text.removesuffix("\n")
    notes = _notes(result, timeout_s, workdir)
    return f"{text}\n{notes}" if text and notes else text or notes


def cut_text(head: str, tail: str = "", omitted: int = 0, *, limit: int) -> str:
    """Keeps two thirds of `limit` from the front and one third from the end.

    Args:
        head: the whole text, or its beginning.
        tail: its end, when something between the two is already gone.
        omitted: characters that are already gone.
        limit: most characters of the text to keep; the marker comes on top.
    """
    if not omitted and len(head) + len(tail) <= limit:
        return head + tail
    front, back = limit - limit // 3, limit // 3
    whole = head + tail
    if len(head) < front and not omitted:
        head = whole
    first = head[:front]
    last = (tail if len(tail) >= back else whole)[-back:] if back else ""
    gone = len(whole) + omitted - len(first) - len(last)
    return f"{first}\n[... {gone} characters omitted ...]\n{last}"


def _decode_head(data: bytes) -> str:
    """A character that the byte limit cut at the end is left out, not replaced."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=False)


def _decode_tail(data: bytes) -> str:
    """The rest of a character that the byte limit cut at the start is left out."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:].decode("utf-8", errors="replace")


def _notes(result: ExecResult, timeout_s: float, workdir: str) -> str:
    match result.shell:
        case ShellState.KILLED if result.timed_out:
            return (
                f"[stopped: the command ran longer than {timeout_s:g} s. It and everything it "
                f"started were killed; a new shell begins in {workdir}, without earlier variables]"
            )
        case ShellState.KILLED | ShellState.EXITED:
            return f"[the shell ended; a new one begins in {workdir}]"
        case ShellState.DESTROYED:
            return "[the machine is gone]"
        case ShellState.KEPT:
            return ""
