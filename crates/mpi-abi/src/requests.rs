//! The table of requests: handles to operations under way.
//!
//! A request leaves its row while a call waits for it, so that no lock is held meanwhile; the row stays its own. That no
//! two threads wait for the same request is the program's duty (MPI 5.0, §3.7.3). Sends that have left at once share one handle.

use std::sync::Arc;

use canele_mpi::request::{Foreign, Request};
use canele_mpi::{Class, Error, Result, fail};
use canele_sys::gate::{Gate, Guard};

use crate::handle::MPI_Request;
use std::sync::OnceLock;

const INDEX_BITS: u32 = 22;
/// Below are the constants of the ABI.
const FIRST: usize = 1 << 12;
const GENERATIONS: u32 = 1 << 9;

/// The handle of every send that has left at once.
pub const LEFT: MPI_Request = MPI_Request::of(FIRST);

/// All requests of the process.
pub struct Requests {
    rows: Vec<Row>,
    free: Vec<u32>,
    /// Freed while under way; they end by themselves.
    orphans: Vec<Request>,
}

struct Row {
    generation: u32,
    held: Held,
}

enum Held {
    Nothing,
    Here(Request),
    /// A call waits for it. Operations that end elsewhere can still be reached.
    Away(Option<Arc<dyn Foreign>>),
    /// The program holds it no more, but is yet to end it.
    GivenUp(Arc<dyn Foreign>),
}

static TABLE: OnceLock<Gate<Requests>> = OnceLock::new();

/// The table.
///
/// # Errors
/// In a forked child.
#[inline]
pub fn requests() -> Result<Guard<'static, Requests>> {
    let new = || Gate::new(Requests { rows: Vec::new(), free: Vec::new(), orphans: Vec::new() });
    TABLE.get_or_init(new).enter().map_err(|forked| canele_engine::Error::from(forked).into())
}

/// A new handle.
///
/// # Errors
/// All handles are used.
#[inline]
pub fn publish(request: Request) -> Result<MPI_Request> {
    requests()?.insert(request)
}

impl Requests {
    /// Gives a request a handle.
    ///
    /// # Errors
    /// All handles are used.
    pub fn insert(&mut self, request: Request) -> Result<MPI_Request> {
        let at = match self.free.pop() {
            Some(at) => at as usize,
            None => {
                let at = self.rows.len();
                if (at + FIRST + 1) >> INDEX_BITS != 0 {
                    fail!(NoMemory, "{at} requests are under way: wait for some before others are started");
                }
                self.rows.push(Row { generation: 0, held: Held::Nothing });
                at
            }
        };
        self.rows[at].held = Held::Here(request);
        Ok(MPI_Request::of((self.rows[at].generation as usize) << INDEX_BITS | (at + FIRST + 1)))
    }

    #[inline]
    fn row(&mut self, handle: MPI_Request) -> Result<&mut Row> {
        let value = handle.value();
        let index = (value & ((1 << INDEX_BITS) - 1)).wrapping_sub(FIRST + 1);
        match self.rows.get_mut(index) {
            Some(row) if row.generation as usize == value >> INDEX_BITS => Ok(row),
            _ => Err(handle.invalid()),
        }
    }

    /// The request of a handle.
    ///
    /// # Errors
    /// There is none, or another thread waits for it.
    pub fn get(&mut self, handle: MPI_Request) -> Result<&mut Request> {
        match &mut self.row(handle)?.held {
            Held::Here(request) => Ok(request),
            Held::Away(_) => Err(busy(handle)),
            Held::Nothing | Held::GivenUp(_) => Err(handle.invalid()),
        }
    }

    /// Takes the request out of its row, to which it comes back or which is freed.
    ///
    /// # Errors
    /// As [`Requests::get`].
    #[inline]
    pub fn take(&mut self, handle: MPI_Request) -> Result<Request> {
        let row = self.row(handle)?;
        match std::mem::replace(&mut row.held, Held::Nothing) {
            Held::Here(request) => {
                row.held = Held::Away(request.operation());
                Ok(request)
            }
            away @ Held::Away(_) => {
                row.held = away;
                Err(busy(handle))
            }
            other => {
                row.held = other;
                Err(handle.invalid())
            }
        }
    }

    /// Brings a request back.
    pub fn put(&mut self, handle: MPI_Request, request: Request) {
        if let Ok(row) = self.row(handle) {
            row.held = Held::Here(request);
        }
    }

    /// Frees the row of a request that was taken or is given up.
    #[inline]
    pub fn free(&mut self, handle: MPI_Request) -> Option<Request> {
        let row = self.row(handle).ok()?;
        let held = std::mem::replace(&mut row.held, Held::Nothing);
        row.generation = (row.generation + 1) % GENERATIONS;
        self.free.push((handle.value() & ((1 << INDEX_BITS) - 1)) as u32 - (FIRST + 1) as u32);
        match held {
            Held::Here(request) => Some(request),
            _ => None,
        }
    }

    /// Frees the row of a request that the program gives up, unless the program is yet to end its operation.
    ///
    /// # Errors
    /// As [`Requests::get`].
    pub fn give_up(&mut self, handle: MPI_Request) -> Result<Option<Request>> {
        match self.get(handle)?.operation() {
            Some(operation) if operation.is_ended_by_program() && !operation.is_complete() => {
                self.row(handle)?.held = Held::GivenUp(operation);
                Ok(None)
            }
            _ => Ok(self.free(handle)),
        }
    }

    /// An operation that ends elsewhere, though somebody may wait for it.
    ///
    /// # Errors
    /// It is none.
    pub fn foreign(&mut self, handle: MPI_Request) -> Result<Arc<dyn Foreign>> {
        let operation = match &self.row(handle)?.held {
            Held::Here(request) => request.operation(),
            Held::Away(operation) => operation.clone(),
            Held::GivenUp(operation) => Some(operation.clone()),
            Held::Nothing => None,
        };
        operation.ok_or_else(|| Error::new(Class::Request, "the request is of another kind of operation"))
    }

    /// Lets a request that was given up end by itself.
    pub fn orphan(&mut self, request: Request) {
        self.orphans.push(request);
    }

    /// Those that were given up, to be looked after.
    pub fn take_orphans(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.orphans)
    }

    /// How many operations have begun and not ended, which need the program's memory.
    pub fn under_way(&self) -> usize {
        let is_under_way =
            |row: &&Row| matches!(&row.held, Held::Here(request) if request.pending().is_some());
        self.rows.iter().filter(is_under_way).count() + self.orphans.len()
    }

    /// How many requests the program holds.
    pub fn used(&self) -> usize {
        self.rows.len() - self.free.len()
    }
}

/// The program has ended an operation of its own.
///
/// # Errors
/// It is none of those, or was ended before; the program's function failed.
pub fn complete(handle: MPI_Request) -> Result<()> {
    let mut table = requests()?;
    let operation = table.foreign(handle)?;
    operation.complete()?;
    if matches!(table.row(handle)?.held, Held::GivenUp(_)) {
        table.free(handle);
        // The program's function may use requests.
        drop(table);
        operation.release()?;
    }
    Ok(())
}

#[cold]
fn busy(handle: MPI_Request) -> Box<Error> {
    Error::new(Class::Request, format!("another thread waits for the request {:#x}", handle.value()))
}
