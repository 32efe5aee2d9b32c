//! The predefined attributes of communicators (MPI 5.0, §9.1.2, §11.10).

use core::ffi::c_int;

use canele_control::variable;
use canele_mpi::Comm;
use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};

use super::Value;
use crate::constants::*;
use crate::library;
use crate::point::LARGEST_TAG;

/// A number that the program reads through its fixed address.
struct Number(AtomicU32);

impl Number {
    const fn new(value: c_int) -> Self {
        Self(AtomicU32::new(value as u32))
    }

    fn set(&self, value: c_int) {
        // Relaxed: the number orders no other memory.
        self.0.store(value as u32, Relaxed);
    }

    fn address(&self) -> Value {
        (&raw const self.0).cast_mut().cast()
    }
}

static TAG_UB: Number = Number::new(LARGEST_TAG);
/// Every rank can use the input and output of its language.
static IO: Number = Number::new(MPI_ANY_SOURCE);
static HOST: Number = Number::new(MPI_PROC_NULL);
static WTIME_IS_GLOBAL: Number = Number::new(0);
static APPNUM: Number = Number::new(0);
static LAST_USED_CODE: Number = Number::new(MPI_ERR_LASTCODE);
static UNIVERSE_SIZE: Number = Number::new(0);
static FT: Number = Number::new(0);

/// Sets the largest error code in use.
pub(crate) fn set_last_used_code(code: c_int) {
    LAST_USED_CODE.set(code);
}

/// Returns the number of this rank's program among those of the job, if a launcher has set it.
fn program_number() -> Option<c_int> {
    std::env::var(variable::APP).ok()?.parse().ok()
}

/// Returns the value of a predefined key: the address of an `int`, or the inner none if the communicator
/// lacks the attribute. Returns the outer none for user-defined keys.
///
/// Communicators of sessions have only `MPI_TAG_UB` of the standard's attributes (MPI 5.0, §9.1.2).
pub fn value(comm: &Comm, keyval: c_int) -> Option<Option<Value>> {
    let is_of_session = comm.group().session().is_some();
    let number = match keyval {
        MPI_TAG_UB => &TAG_UB,
        MPI_IO | MPI_HOST | MPI_WTIME_IS_GLOBAL | MPI_APPNUM | MPI_LASTUSEDCODE | MPI_UNIVERSE_SIZE
            if is_of_session =>
        {
            return Some(None);
        }
        MPI_IO => &IO,
        MPI_HOST => &HOST,
        MPI_WTIME_IS_GLOBAL => {
            // Processes of one host share one clock.
            let hosts = library::world().map_or(0, |world| world.engine().job().hosts.len());
            WTIME_IS_GLOBAL.set(c_int::from(hosts == 1));
            &WTIME_IS_GLOBAL
        }
        MPI_APPNUM => match program_number() {
            Some(number) => {
                APPNUM.set(number);
                &APPNUM
            }
            None => return Some(None),
        },
        MPI_LASTUSEDCODE => &LAST_USED_CODE,
        MPI_UNIVERSE_SIZE => {
            // A program started alone gets no universe size; it is the number of processors then.
            let size = library::world().map_or(0, |world| {
                let (job, known) = (world.engine().job(), world.engine().job().universe);
                if known == 0 { job.ranks().max(job.processors) } else { known }
            });
            UNIVERSE_SIZE.set(size as c_int);
            &UNIVERSE_SIZE
        }
        MPIX_FT => {
            FT.set(c_int::from(library::world().is_ok_and(|world| world.engine().goes_on_after_failures())));
            &FT
        }
        _ => return None,
    };
    Some(Some(number.address()))
}
