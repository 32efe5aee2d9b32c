"""Limits of the machine, measured in the same rounds by bare loops without any library: those of `canele
bench`, and the programs of bench/programs/limits."""

import json
import os
import subprocess

from . import places, rounds

KIB, MIB = 1 << 10, 1 << 20
SHORT, LONG = [8, 64, 256, KIB, 4 * KIB], [64 * KIB, 256 * KIB, MIB, 4 * MIB]
QUICK_SHORT, QUICK_LONG = [8, KIB], [64 * KIB, MIB]
# Up to this size a message fits into a cache line beside its header.
LINE = 48


class Limits:
    """A participant without MPI. `canele` is the command if there is one, `network` as for the others,
    `folder` has the compiled limits, and `words` are the programs' arguments."""

    def __init__(self, canele, network, quick, folder, words):
        self.canele = canele
        self.network = network
        self.quick = quick
        self.folder = folder
        self.words = words
        self.sizes = (QUICK_SHORT, QUICK_LONG) if quick else (SHORT, LONG)

    def figures(self, program, ranks):
        """The limits of what a program measures: {(figure, bytes): (value, unit)}."""
        found = {}
        if (places.LIMITS / f"{program}.c").exists() and not self.network:
            found |= self.program(program)
        named = {"pingpong": self.pingpong, "rate": self.rate, "collectives": self.collectives, "rma": self.rma}
        if program in named and self.canele:
            found |= named[program](ranks)
        return found

    def program(self, name):
        """Runs a program of bench/programs/limits and returns its figures."""
        line = [self.folder / name, *rounds.arguments(self.quick, self.words.get(name, ()))]
        run = subprocess.run(line, stdout=subprocess.PIPE, check=True, timeout=rounds.limit(name), text=True)
        return rounds.figures_of(run.stdout)

    def bench(self, *words):
        command = [self.canele, "bench", *map(str, words), "--rounds", "1", "--json"]
        if self.network:
            hosts = ",".join(f"{host}:1" for host in self.network.hosts)
            command = self.network.here([*command, "--hosts", hosts, "--rsh", f"{places.CLUSTER} rsh"])
        run = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=120, env=self.environment())
        return json.loads(run.stdout)["limits"]

    def environment(self):
        variables = self.network.variables() | {"CANELE_RAILS": self.network.rail} if self.network else {}
        return os.environ | variables

    def pingpong(self, _ranks):
        short, long = (",".join(map(str, sizes)) for sizes in self.sizes)
        few, many = self.bench("latency", "--bytes", short), self.bench("bandwidth", "--bytes", long)
        if self.network:
            socket = {entry["bytes"]: entry["median_ns"] for entry in many["socket"] + few["socket"]}
            kinds = ("private", "allocated")
            return {(kind, bytes_): (ns, "ns") for kind in kinds for bytes_, ns in socket.items()}
        found = {("private", bytes_): (few["line_ns"], "ns") for bytes_ in (8, LINE)}
        copied = {entry["bytes"]: times(entry) for entry in few.get("copy1", []) if entry["bytes"] > LINE}
        found |= {("private", bytes_): ns for bytes_, ns in copied.items()}
        found |= {("private", entry["bytes"]): times(entry) for entry in many["stream"]}
        # Memory that both can reach: one side copies, or each side copies a half, depending on which is
        # better for this size.
        found |= {("allocated", entry["bytes"]): times(entry) for entry in many["copy1"] if entry["bytes"] < MIB}
        found |= {("allocated", entry["bytes"]): times(entry) for entry in many["copy2"] if entry["bytes"] >= MIB}
        return found

    def rate(self, _ranks):
        found = self.bench("rate", "--bytes", 8)
        if self.network:
            return {("window", 8): (1e3 / found["socket_window"][0]["median_ns"], "M/s")}
        return {("window", 8): (found["cells_per_s"] / 1e6, "M/s")}

    def collectives(self, ranks):
        if self.network:
            return {}
        flags = self.bench("collectives", "--ranks", ranks, "--bytes", 8)["flags_ns"]
        return {("barrier", 0): (flags, "ns"), ("allreduce", 8): (flags, "ns")}

    def rma(self, ranks):
        if not self.network:
            flags = self.bench("collectives", "--ranks", ranks, "--bytes", 8)["flags_ns"]
            return {("fence", 0): (flags, "ns"), ("barrier", 0): (flags, "ns")}
        few, many = self.bench("latency", "--bytes", 8), self.bench("bandwidth", "--bytes", MIB)
        one_way = {entry["bytes"]: entry["median_ns"] for entry in few["socket"] + many["socket"]}
        found = {(name, 8): (2 * one_way[8], "ns") for name in ("put", "get", "fetch_and_op", "lock")}
        found["put", MIB] = found["accumulate", MIB] = (one_way[MIB] + one_way[8], "ns")
        found["puts", 8] = self.rate(ranks)["window", 8]
        return found


def times(entry):
    """Returns the time that a message takes at this bandwidth."""
    return entry["bytes"] / entry["gbytes_per_s"], "ns"
