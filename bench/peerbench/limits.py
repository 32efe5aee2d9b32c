"""What the machine allows, measured by `canele bench` in the same rounds: bare loops without any library."""

import json
import os
import subprocess

from . import places

KIB, MIB = 1 << 10, 1 << 20
SHORT, LONG = [8, 64, 256, KIB, 4 * KIB], [64 * KIB, 256 * KIB, MIB, 4 * MIB]
QUICK_SHORT, QUICK_LONG = [8, KIB], [64 * KIB, MIB]
# Up to here a message fits into a cache line beside its header.
LINE = 48


class Limits:
    """A participant that needs no program of ours; `network` as for the others."""

    def __init__(self, canele, network, quick):
        self.canele = canele
        self.network = network
        self.sizes = (QUICK_SHORT, QUICK_LONG) if quick else (SHORT, LONG)

    def figures(self, program, ranks):
        """The limits of what a program measures: {(figure, bytes): (value, unit)}."""
        measure = {"pingpong": self.pingpong, "rate": self.rate, "collectives": self.collectives}.get(program)
        return measure(ranks) if measure else {}

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
        # Memory that both can reach: one copies, or both a half each, whichever is better for large messages.
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


def times(entry):
    """The time that a message takes at this bandwidth."""
    return entry["bytes"] / entry["gbytes_per_s"], "ns"
