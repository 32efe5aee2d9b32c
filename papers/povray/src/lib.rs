//! A render farm: pictures of POV-Ray scenes, computed by a master and workers.
//!
//! The picture is divided into horizontal slices ([`slices`]). Rank 0, the master, distributes them to the
//! other ranks on request and joins the rows ([`master`]). Each worker runs the program `povray` on its
//! slices ([`worker`], [`process`]) and sends the rows as soon as POV-Ray has written them. A slice is lost
//! if its POV-Ray process or its worker dies; then it is distributed again. A single rank renders alone.
#![forbid(unsafe_code)]

use std::process::ExitCode;

pub mod arguments;
pub mod child;
pub mod error;
pub mod master;
pub mod messages;
pub mod outcome;
pub mod ppm;
pub mod process;
pub mod rendering;
pub mod run;
pub mod slices;
pub mod worker;

pub use arguments::Arguments;
pub use error::PovrayError;

/// Runs the program `povray-farm`.
pub fn main() -> ExitCode {
    match child::become_povray() {
        Some(status) => status,
        None => {
            canele_show::program::main("povray-farm", |arguments: &Arguments, job| run::run(arguments, job))
        }
    }
}
