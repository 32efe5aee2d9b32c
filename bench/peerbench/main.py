"""From the command line to the printed report. Owns the order of steps and the progress on the terminal."""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

from . import arguments, build, install, native, places, programs, report
from .limits import Limits
from .load import Load
from .network import Network
from .participants import KINDS
from .rounds import Figures, run_all, runner


def tell(text):
    """Progress, on one line of a terminal; failures stay."""
    if not sys.stderr.isatty():
        print(text.rstrip(), file=sys.stderr, flush=True)
        return
    print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main():
    wanted = arguments.read()
    # Jobs and networks are ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if wanted.kept:
            kept = json.loads(wanted.kept.read_text(encoding="utf-8"))
            circumstances, figures = kept["about"], Figures.from_json(kept, wanted.programs)
        else:
            measured = measure(wanted)
            if measured is None:
                return 0
            circumstances, figures = measured
        tell("")
        print(report.markdown(circumstances, figures), end="")
        keep(wanted, report.to_json(circumstances, figures))
    except places.Missing as error:
        tell("")
        print(f"bench/peers: {error}", file=sys.stderr)
        return 2
    return 1 if figures.failures else 0


def measure(wanted):
    """Returns the circumstances and the figures; nothing if the programs are only installed."""
    wanted.cache.mkdir(parents=True, exist_ok=True)
    canele = places.canele(wanted.canele) if set(places.OURS) & set(wanted.only) else None
    # MPICH's wrapper compiles the programs of all implementations of the standard ABI.
    peers = [name for name in places.PEERS if name in wanted.only or name == "mpich"]
    environments = {name: install.environment(wanted.cache, places.PEERS[name], tell) for name in peers}
    binaries = build.compile_all(wanted.cache, wanted.programs, environments, tell)
    if wanted.install:
        tell(f"everything is in {wanted.cache}\n")
        return None
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network(wanted.cache)) if wanted.tcp else None
        lying = environments | dict.fromkeys(places.OURS, canele)
        participants = {name: KINDS[name](lying[name], network, not wanted.unbound) for name in wanted.only}
        limits = Limits(canele, network, wanted.quick, build.compile_limits(wanted.cache, wanted.programs, tell), words_of(wanted))
        stack.enter_context(Load(wanted.load))
        turns = [(name, runner_of(name, one, binaries[one.abi], wanted)) for name, one in participants.items()]
        figures = run_all(wanted, turns, limits, tell)
    return report.about(wanted, version(canele)), figures


def words_of(wanted):
    """Returns the arguments of programs beside the time of a block."""
    return {"io": [str(wanted.directory.resolve()), str(wanted.megabytes)]}


def runner_of(name, participant, folder, wanted):
    """Returns the function that runs a participant's programs; it returns no figures for those that the
    participant cannot run."""
    if name == "native":
        return native.runner(participant, wanted.quick)
    bound, unbound = (runner(name, one, folder, wanted.quick, words_of(wanted)) for one in (participant, participant.unbound()))

    def run(program, ranks):
        kind = programs.ALL[program]
        return {} if name in kind.unable else (unbound if kind.spawns or kind.threads else bound)(program, ranks)

    return run


def version(canele):
    if canele is None:
        return None
    return subprocess.run([canele, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


def keep(wanted, text):
    if wanted.json:
        wanted.json.write_text(text, encoding="utf-8")
    if wanted.plots:
        drawing = install.environment(wanted.cache, places.PLOTTING, tell)
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            program = pathlib.Path(__file__).with_name("plot.py")
            subprocess.run([drawing / "bin/python", "-I", program, file.name, wanted.plots], check=True, stdout=sys.stderr)
