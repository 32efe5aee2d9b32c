"""Runs the command `canele` of this Python: `python -m canele run -n 4 program.py`.

It takes all commands of `canele`. This interpreter runs the programs whose name ends with `.py`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from canele._launch import find_command
from canele.errors import Error

# Options of `canele run` that take no value from the next word. All other options take the next word, unless they contain `=`.
WITHOUT_VALUE = {"--report-bindings", "--check", "--label", "--timestamp", "--tee", "--report-exits", "-h", "--help"}


def with_interpreter(words: Sequence[str]) -> Iterator[str]:
    """Yields the words of `canele run`, with this interpreter before each program that is a script of Python."""
    is_program_next, is_value = True, False
    for word in words:
        if is_value:
            is_value = False
        elif word == ":":
            is_program_next = True
        elif is_program_next and word.startswith("-") and word != "--":
            is_value = has_value(word)
        elif is_program_next and word != "--":
            is_program_next = False
            if word.endswith(".py"):
                yield sys.executable
        yield word


def has_value(option: str) -> bool:
    """Returns True if the next word is the value of the option."""
    # `-n4` contains its value.
    is_long = option.startswith("--")
    return option not in WITHOUT_VALUE and "=" not in option and (is_long or len(option) == 2)


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["run"]:
        words = ["run", *with_interpreter(words[1:])]
    command = find_command()
    os.execv(command, [command, *words])


if __name__ == "__main__":
    try:
        main()
    except (Error, OSError) as error:
        sys.exit(f"canele: {error}")
