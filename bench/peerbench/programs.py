"""The programs of bench/programs: on how many ranks each runs, and which figures are better when larger."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    """One program."""

    title: str
    # Numbers of ranks; nothing: those that are asked for.
    ranks: tuple = ()
    tcp: bool = False
    # Seconds that one run may take.
    limit: int = 300


ALL = {
    "pingpong": Program("Ping-pong, time one way", (2,), tcp=True),
    "rate": Program("Message rate, windows of 64", (2,), tcp=True),
    "collectives": Program("Collective operations", tcp=True),
    "matching": Program("Messages that match among 10,000", (2,)),
    "vector": Program("1 MB in blocks of 8 bytes, every other one", (2,)),
    "laplace": Program("Red-black Gauss-Seidel, a sweep over a plate of so many bytes", (2,)),
    "mandelbrot": Program("A picture of the Mandelbrot set of so many bytes, by a master and workers", (2, 3)),
    "cestac": Program("Exchange of a sample between three ranks, stochastic arithmetic", (3,)),
    "gauss": Program("Gauss elimination of a matrix of so many bytes, stochastic arithmetic", (3,)),
    "overlap": Program("Computing while 8 MB travel", (2,)),
    "init": Program("Starting and ending 64 ranks", (64,)),
}

# What they measure is the transfer of so many bytes.
TRANSFERS = {"pingpong", "vector"}
# Units in which more is better.
MORE_IS_BETTER = {"M/s", "%", "GB/s", "Gflop/s", "GUP/s"}


def ranks_of(name, asked, tcp):
    """The numbers of ranks on which a program runs; between hosts one rank on each."""
    if tcp:
        return [2]
    return list(ALL[name].ranks) or asked
