"""The command line. Owns the options and their combined meaning."""

import argparse
import os
import pathlib
import tempfile

from . import places, programs

EXAMPLES = """examples:
  bench/peers                                       everything, 5 rounds: about half an hour
  bench/peers --quick                               fewer sizes and 3 rounds: some minutes
  bench/peers --programs pingpong,rate --rounds 11
  bench/peers --only mpich,intel,openmpi            without Canelé
  bench/peers --load 4 --unbound --rounds 10        a busy machine: medians and worst rounds
  bench/peers --tcp                                 between two network namespaces (root and iproute2)
  bench/peers --tcp --programs collectives --per-host 1,4,8
  bench/peers --programs io --directory /scratch    one-sided, files and spawn are programs of their own: rma, io, spawn
  bench/peers --json all.json --plots pictures      keep the figures, and draw them
  bench/peers --from all.json --plots pictures      tell and draw what was kept

The peers are installed by pip into CACHE once. Canelé is taken from the release build of this tree; its own
`canele bench` measures the limits of the machine in the same rounds. A '!' marks figures whose rounds spread by more
than 10 %: judge them by the ratio, which is the median of ratios within a round."""


def words(known):
    """Returns a parser of comma-separated words, each one of `known`."""

    def read(text):
        chosen = text.split(",")
        for word in chosen:
            if word not in known:
                raise argparse.ArgumentTypeError(f"no {word!r}: there are {', '.join(known)}")
        return chosen

    return read


def counts(least, why):
    """Returns a parser of comma-separated numbers, each at least `least`."""

    def read(text):
        try:
            numbers = [int(word) for word in text.split(",")]
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers such as 2,8") from None
        if min(numbers) < least:
            raise argparse.ArgumentTypeError(why)
        return numbers

    return read


def megabytes(text):
    number = int(text)
    if not 1 <= number <= 1 << 20:
        raise argparse.ArgumentTypeError("a file has 1 to 1048576 MB")
    return number


def load(text):
    number = int(text)
    if not 0 <= number <= 1024:
        raise argparse.ArgumentTypeError("0 to 1024 processes can compute beside")
    return number


def read():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "canele-peers"
    parser = argparse.ArgumentParser(
        prog="bench/peers",
        description="Measures Canelé beside other implementations of MPI.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--only", type=words(places.PARTICIPANTS), default=places.PARTICIPANTS, metavar="A,B", help="participants: "
        + ", ".join(places.PARTICIPANTS))
    add("--programs", type=words(list(programs.ALL)), metavar="A,B", help="programs: " + ", ".join(programs.ALL))
    add("--ranks", type=counts(2, "at least 2 ranks exchange messages"), default=[2, 8], metavar="N,M", help="numbers of ranks of collectives [2,8]")
    add("--rounds", type=int, metavar="N", help="rounds, in each of which everything is measured once [5; quick: 3]")
    add("--quick", action="store_true", help="fewer sizes, shorter blocks")
    add("--load", type=load, default=0, metavar="N", help="so many computing processes beside; tells the worst round too [0]")
    add("--unbound", action="store_true", help="bind no ranks to processors, whatever an implementation's default")
    add("--tcp", action="store_true", help="between two network namespaces instead of in shared memory")
    add("--per-host", type=counts(1, "each host has at least 1 rank"), metavar="K,L", help="numbers of ranks of collectives on each of the "
        "two hosts, with --tcp [1]")
    add("--directory", type=pathlib.Path, metavar="DIR", default=pathlib.Path(tempfile.gettempdir()), help="the program io writes its file "
        f"there and removes it [{tempfile.gettempdir()}]")
    add("--megabytes", type=megabytes, metavar="N", help="size of that file [1024; quick: 64]")
    add("--json", type=pathlib.Path, metavar="FILE", help="write all figures of all rounds there")
    add("--from", type=pathlib.Path, metavar="FILE", dest="kept", help="measure nothing, read what --json wrote")
    add("--plots", type=pathlib.Path, metavar="DIR", help="draw them there, as SVG")
    add("--install", action="store_true", help="only install the peers and compile the programs")
    add("--canele", type=pathlib.Path, metavar="PATH", help="the command [the release build of this tree]")
    add("--cache", type=pathlib.Path, default=cache, metavar="DIR", help=f"where peers are installed [{cache}]")
    wanted = parser.parse_args()
    wanted.rounds = wanted.rounds or (3 if wanted.quick else 5)
    wanted.megabytes = wanted.megabytes or (64 if wanted.quick else 1024)
    if not wanted.directory.is_dir():
        parser.error(f"--directory: {wanted.directory} is no folder")
    if wanted.rounds < 1:
        parser.error("--rounds must be at least 1")
    if wanted.per_host and not wanted.tcp:
        parser.error("--per-host says how many ranks each of the two hosts of --tcp has")
    wanted.per_host = wanted.per_host or [1]
    able = [name for name, program in programs.ALL.items() if program.tcp or not wanted.tcp]
    wanted.programs = wanted.programs or able
    if unable := [name for name in wanted.programs if name not in able]:
        parser.error(f"--tcp: {', '.join(unable)} measures nothing of a network")
    return wanted
