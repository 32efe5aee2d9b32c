"""From the command line to the printed report. Owns the order of steps."""

import signal
import sys

from peerbench import install, places
from peerbench.main import tell, version
from peerbench.participants import KINDS
from peerbench.report import about, to_json
from peerbench.rounds import take_turns

from . import arguments, build, report
from .runs import Runner


def main():
    wanted = arguments.read()
    # The exit handlers end the jobs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        measured = measure(wanted)
    except places.Missing as error:
        tell("")
        print(f"bench/applications: {error}", file=sys.stderr)
        return 2
    if measured is None:
        return 0
    circumstances, figures = measured
    tell("")
    print(report.markdown(circumstances, figures, wanted), end="")
    if wanted.json:
        wanted.json.write_text(to_json(circumstances, figures), encoding="utf-8")
    return 1 if figures.failures else 0


def measure(wanted):
    """Returns the circumstances and the figures; nothing if the programs are only built."""
    wanted.cache.mkdir(parents=True, exist_ok=True)
    canele = places.canele(wanted.canele) if "canele" in wanted.only and not wanted.build else None
    # MPICH's wrapper compiles the programs of all implementations of the standard ABI.
    peers = [name for name in places.PEERS if name in wanted.only or name == "mpich"]
    environments = {name: install.environment(wanted.cache, places.PEERS[name], tell) for name in peers}
    folders = build.build_all(wanted, environments, tell)
    session = None if wanted.together else build.session(wanted.cache, tell)
    if wanted.build:
        tell(f"everything is in {wanted.cache}\n")
        return None
    lying = environments | {"canele": canele}
    turns = []
    for name in wanted.only:
        participant = KINDS[name](lying[name], None, not wanted.unbound)
        turns.append((name, Runner(participant, wanted.programs, folders, session, wanted.quick).run))
    runs = [(name, ranks) for name, program in wanted.programs.items() for ranks in program.ranks or wanted.ranks]
    figures = take_turns(wanted.rounds, runs, turns, [], tell)
    return about(wanted, version(canele)), figures
