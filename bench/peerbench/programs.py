"""The programs of bench/programs, their numbers of ranks, and the figures that are better when larger."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    """One program."""

    title: str
    # Numbers of ranks; if empty, those of the command line.
    ranks: tuple = ()
    tcp: bool = False
    # Seconds that one run may take.
    limit: int = 300
    # The unit that the second number of a figure counts.
    number: str = "bytes"
    # True if it starts processes.
    spawns: bool = False
    # True if its ranks have several threads; then no rank is bound to one processor.
    threads: bool = False
    # Variables that are set for a participant beside its usual ones.
    variables: dict = dataclasses.field(default_factory=dict)
    # Participants that cannot run it, each with the reason.
    unable: dict = dataclasses.field(default_factory=dict)


ALL = {
    "pingpong": Program("Ping-pong, time one way", (2,), tcp=True),
    "rate": Program("Message rate, windows of 64", (2,), tcp=True),
    "threads": Program(
        "So many threads of each of two ranks at the same time",
        (2,),
        number="threads",
        threads=True,
        variables={"mpich": {"MPIR_CVAR_CH4_NUM_VCIS": "8"}},
    ),
    "collectives": Program("Collective operations", tcp=True),
    "matching": Program("Messages that match among 10,000", (2,)),
    "growth": Program("An object of so many alive or under way", (2,), limit=900, number="objects"),
    "vector": Program("1 MB in blocks of 8 bytes, every other one", (2,)),
    "laplace": Program("Red-black Gauss-Seidel, a sweep over a plate of so many bytes", (2,)),
    "mandelbrot": Program("A picture of the Mandelbrot set of so many bytes, by a master and workers", (2, 3)),
    "cestac": Program("Exchange of a sample between three ranks, stochastic arithmetic", (3,)),
    "gauss": Program("Gauss elimination of a matrix of so many bytes, stochastic arithmetic", (3,)),
    "overlap": Program("Computing while 8 MB travel", (2,)),
    "init": Program("Starting and ending 64 ranks", (64,)),
    "rma": Program("One-sided communication with an allocated window", (2, 8), tcp=True),
    "io": Program(
        "One file of 4 ranks, in blocks of so many bytes",
        (4,),
        limit=1800,
        unable={"intel": "MPI_File_read of its libmpi_abi.so.1 reads nothing"},
    ),
    "spawn": Program(
        "MPI_Comm_spawn of 4 processes",
        (1, 2),
        spawns=True,
        unable={"intel": "MPI_Comm_spawn of its libmpi_abi.so.1 crashes"},
    ),
}

# Programs that measure the transfer of so many bytes.
TRANSFERS = {"pingpong", "vector"}
# Units in which more is better.
MORE_IS_BETTER = {"M/s", "%", "GB/s", "Gflop/s", "GUP/s"}


def ranks_of(name, wanted):
    """Returns the numbers of ranks for a program; between two hosts, each host has half of them."""
    asked = [2 * count for count in wanted.per_host] if wanted.tcp else wanted.ranks
    of_its_own = [2] if wanted.tcp and ALL[name].ranks else list(ALL[name].ranks)
    return of_its_own or asked
