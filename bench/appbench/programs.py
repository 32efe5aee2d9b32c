"""The programs of the table. Owns the fields of a description and their meaning for a number of ranks."""

import dataclasses
import hashlib
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "programs.toml"


@dataclasses.dataclass(frozen=True)
class Program:
    """One program; the head of programs.toml explains the fields."""

    name: str
    title: str
    version: str
    tree: str
    source: str
    build: str
    command: list
    figures: list
    verify: list
    sha256: str = ""
    debian: str = ""
    ranks: tuple = ()
    sizes: dict = dataclasses.field(default_factory=dict)
    quick: dict = dataclasses.field(default_factory=dict)
    near: list = dataclasses.field(default_factory=list)
    input: dict = dataclasses.field(default_factory=dict)
    output: str = ""
    seconds: int = 60

    def values(self, ranks, quick):
        """Returns the values of the words in braces in commands, input and verification."""
        x, y, z = factors(ranks, 3)
        columns, rows = factors(ranks, 2)
        shape = {"ranks": ranks, "x": x, "y": y, "z": z, "rows": rows, "columns": columns}
        return shape | self.sizes | (self.quick if quick else {})

    def heading(self, quick):
        """Returns the title with the sizes of this run."""
        return filled(self.title, self.sizes | (self.quick if quick else {}))

    def mark(self):
        """Returns a word that differs between descriptions that build different programs."""
        used = [path for path in sorted(HERE.glob("*.c")) if path.name in self.build]
        built = [self.sha256, self.source, self.build, *(path.read_text(encoding="utf-8") for path in used)]
        return hashlib.sha256("\0".join(built).encode()).hexdigest()[:16]


def load(path):
    """Returns {name: program} of a file."""
    with open(path, "rb") as file:
        entries = {entry["name"]: entry for entry in tomllib.load(file)["program"]}
    found = [Program(**inherited(entry, entries)) for entry in entries.values()]
    for program in found:
        for pattern in [*program.verify, *(entry[0] for entry in program.near), *(entry[2] for entry in program.figures)]:
            re.compile(pattern)
    return {program.name: program for program in found}


def inherited(entry, entries):
    """Returns the fields of an entry, with those of the program that its field `like` names."""
    base = entries[entry["like"]] if "like" in entry else {}
    return {field: value for field, value in (base | entry).items() if field != "like"}


def factors(number, count):
    """Returns `count` factors of a number, the largest first, as close to each other as possible."""
    if count == 1:
        return [number]
    last = next(n for n in range(int(round(number ** (1 / count) + 1e-9)), 0, -1) if number % n == 0)
    return [*factors(number // last, count - 1), last]


def filled(text, values):
    """Replaces the words in braces of a text; braces around anything else stay."""
    return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), text)
