"""The programs, as the table describes them. Owns what a description may say and what it means for a number of ranks."""

import dataclasses
import hashlib
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "programs.toml"


@dataclasses.dataclass(frozen=True)
class Program:
    """One program; the head of programs.toml says what each field is."""

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
        """What the words in braces mean in commands, input and verification."""
        x, y, z = factors(ranks, 3)
        columns, rows = factors(ranks, 2)
        shape = {"ranks": ranks, "x": x, "y": y, "z": z, "rows": rows, "columns": columns}
        return shape | self.sizes | (self.quick if quick else {})

    def heading(self, quick):
        """The title with the sizes that are run."""
        return filled(self.title, self.sizes | (self.quick if quick else {}))

    def mark(self):
        """A word that differs for descriptions that build something else."""
        used = [path for path in sorted(HERE.glob("*.c")) if path.name in self.build]
        built = [self.sha256, self.source, self.build, *(path.read_text(encoding="utf-8") for path in used)]
        return hashlib.sha256("\0".join(built).encode()).hexdigest()[:16]


def load(path):
    """{name: program} of a file."""
    with open(path, "rb") as file:
        entries = {entry["name"]: entry for entry in tomllib.load(file)["program"]}
    found = [Program(**inherited(entry, entries)) for entry in entries.values()]
    for program in found:
        for pattern in [*program.verify, *(entry[0] for entry in program.near), *(entry[2] for entry in program.figures)]:
            re.compile(pattern)
    return {program.name: program for program in found}


def inherited(entry, entries):
    """The fields of an entry, with those of the program that it is like."""
    base = entries[entry["like"]] if "like" in entry else {}
    return {field: value for field, value in (base | entry).items() if field != "like"}


def factors(number, count):
    """`count` factors of a number, the largest first, none larger than need be."""
    if count == 1:
        return [number]
    last = next(n for n in range(int(round(number ** (1 / count) + 1e-9)), 0, -1) if number % n == 0)
    return [*factors(number // last, count - 1), last]


def filled(text, values):
    """The text with the words in braces replaced; braces around anything else stay."""
    return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), text)
