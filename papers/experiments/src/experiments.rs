//! The list of experiments, in the order of the papers.

use super::lab::{Lab, Trouble};
use super::outcome::Outcome;
use super::{bip, deck, mpc, mpi_mpc, newmadeleine};

/// An experiment of a paper.
pub struct Experiment {
    pub name: &'static str,
    /// The system of the paper.
    pub system: &'static str,
    pub title: &'static str,
    pub run: fn(&Lab) -> Result<Outcome, Trouble>,
}

const MPC: &str = "MPC: PUT, SLR, MPI-MPC 1 (Gluck, Zerrouki, Desbarbieux et al., 2001)";
const MPI_MPC: &str = "MPI-MPC 1 and 2, and CESTAC (Glück, Lamotte, Greiner, 2002)";
const BIP: &str = "BIP (Prylli, Tourancheau, 1997)";
const DECK: &str = "DECK-SCI (de Oliveira, Ávila, Barreto, Navaux, De Rose)";
const NEW_MADELEINE: &str = "NewMadeleine (Brunet, 2006)";

const fn experiment(
    name: &'static str,
    system: &'static str,
    title: &'static str,
    run: fn(&Lab) -> Result<Outcome, Trouble>,
) -> Experiment {
    Experiment { name, system, title, run }
}

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    experiment("mpc-steps", MPC, "The time of a message in six steps", mpc::steps),
    experiment("mpc-curve", MPC, "Latency and throughput, 1 B to 1 MB", mpc::curve),
    experiment(
        "mpi-mpc-counts",
        MPI_MPC,
        "System calls, interrupts and copies of a message",
        mpi_mpc::counts,
    ),
    experiment(
        "mpi-mpc-waiting",
        MPI_MPC,
        "Latency and throughput in both ways of waiting",
        mpi_mpc::waiting,
    ),
    experiment("mpi-mpc-speedup", MPI_MPC, "Speed-up", mpi_mpc::speedup),
    experiment(
        "mpi-mpc-gauss",
        MPI_MPC,
        "Gauss elimination in stochastic arithmetic (tables 4 and 5)",
        mpi_mpc::gauss,
    ),
    experiment("bip-figures", BIP, "Latency, throughput and the size of half the throughput", bip::figures),
    experiment("bip-packets", BIP, "Adaptive packets against fixed sizes and the cost model", bip::packets),
    experiment("deck-protocols", DECK, "Three protocols against the raw transport", deck::protocols),
    experiment("deck-applications", DECK, "Mandelbrot, Laplace and POV-Ray against MPI", deck::applications),
    experiment(
        "newmadeleine-overhead",
        NEW_MADELEINE,
        "Overhead on a plain ping-pong",
        newmadeleine::overhead,
    ),
    experiment("newmadeleine-dsm", NEW_MADELEINE, "Requests for pages of a shared memory", newmadeleine::dsm),
    experiment("newmadeleine-flows", NEW_MADELEINE, "Parallel ping-pongs", newmadeleine::flows),
    experiment("newmadeleine-rails", NEW_MADELEINE, "Messages over several networks", newmadeleine::rails),
];
