"""The command line. Owns the options and their combined meaning."""

import argparse
import os
import pathlib

from peerbench import places
from peerbench.arguments import words

from . import programs

EXAMPLES = """examples:
  bench/applications                                everything, 3 rounds, on 2 and on 4 ranks: about 12 minutes
  bench/applications --quick                        small problems and one round: whether everything runs
  bench/applications --programs fftw,hpcc --ranks 2 --rounds 7
  bench/applications --only intel,openmpi,canele    without MPICH
  bench/applications --describe more.toml           more programs, described as those in bench/appbench/programs.toml
  bench/applications --build                        only fetch and build

The peers are installed by pip into CACHE once, and programs are built there once: about 20 minutes on two processors.
Sources are the released archives that Debian keeps; `apt-get source` fetches them where a list of sources (deb-src) is
enabled, elsewhere put the archives into a folder and name it with --sources. HPCC needs OpenBLAS with its headers.
Every run is verified as the program does it itself; a run that fails or takes too long is told and does not count. Each
rank runs in a session of its own, so that Linux shares processors between ranks alike, whichever launcher started them;
--together leaves this to the launchers. A '!' marks figures whose rounds spread by more than 10 %: judge them by the
ratio, which is the median of ratios within a round."""


def counts(text):
    numbers = [int(word) for word in text.split(",")]
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("a job has at least 1 rank")
    return numbers


def described(text):
    """More programs, from a file."""
    try:
        return programs.load(pathlib.Path(text))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def folder(text):
    place = pathlib.Path(text).resolve()
    if not place.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return place


def read():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "canele-peers"
    parser = argparse.ArgumentParser(
        prog="bench/applications",
        description="Measures programs that people use MPI for over Canelé and over other implementations.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own = programs.load(programs.TABLE)
    add = parser.add_argument
    add("--only", type=words(places.PARTICIPANTS), default=places.PARTICIPANTS, metavar="A,B", help="participants: "
        + ", ".join(places.PARTICIPANTS))
    add("--programs", metavar="A,B", help="programs: " + ", ".join(own))
    add("--describe", type=described, action="append", default=[], metavar="FILE", help="more programs")
    add("--ranks", type=counts, default=[2, 4], metavar="N,M", help="numbers of ranks, where a program leaves the choice [2,4]")
    add("--rounds", type=int, metavar="N", help="rounds, in each of which everything runs once [3; quick: 1]")
    add("--quick", action="store_true", help="small problems")
    add("--together", action="store_true", help="ranks stay in the session in which their launcher starts them")
    add("--unbound", action="store_true", help="bind no ranks to processors, whatever an implementation's default")
    add("--json", type=pathlib.Path, metavar="FILE", help="write all figures of all rounds there")
    add("--build", action="store_true", help="only fetch and build")
    add("--sources", type=folder, metavar="DIR", help="where released archives lie")
    add("--canele", type=pathlib.Path, metavar="PATH", help="the command [the release build of this tree]")
    add("--cache", type=pathlib.Path, default=cache, metavar="DIR", help=f"where peers and programs are built [{cache}]")
    # Fields that peerbench's report reads and that have one value here.
    parser.set_defaults(tcp=False, load=0)
    wanted = parser.parse_args()
    wanted.rounds = wanted.rounds or (1 if wanted.quick else 3)
    if wanted.rounds < 1:
        parser.error("--rounds must be at least 1")
    known = own
    for more in wanted.describe:
        known = known | more
    try:
        names = words(list(known))(wanted.programs) if wanted.programs else list(known)
    except argparse.ArgumentTypeError as error:
        parser.error(f"--programs: {error}")
    wanted.programs = {name: known[name] for name in names}
    return wanted
