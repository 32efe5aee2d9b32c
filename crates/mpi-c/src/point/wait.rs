//! Waiting for requests, one or a list of them: they leave the table, end or come back.

use std::sync::Arc;
use std::time::Duration;

use canele_engine::{Engine, Pending};
use canele_mpi::request::Request;
use canele_mpi::{Class, Comm, Errhandler, Error, Result, Status};

use crate::constants::MPI_REQUEST_NULL;
use crate::deferred_recv;
use crate::error::{Failed, raise_on};
use crate::handle::MPI_Request;
use crate::library;
use crate::requests::{LEFT, requests};
use crate::status::Got;

/// How a request ended, and whose handler is told if it failed.
pub struct End {
    /// What happened.
    pub result: Result<Status>,
    comm: Option<Arc<Comm>>,
}

impl End {
    fn empty() -> Self {
        Self { result: Ok(Status::EMPTY), comm: None }
    }

    /// The communicator of a request that failed, if it has one.
    pub fn comm(&self) -> Option<&Comm> {
        self.comm.as_deref()
    }

    /// The status; or calls the handler.
    ///
    /// # Errors
    /// It failed.
    pub fn status(self, function: &str) -> Result<Status, Failed> {
        match self.result {
            Ok(status) => Ok(status),
            Err(error) => Err(raise(self.comm.as_deref(), function, error)),
        }
    }

    /// Calls the handler with an error of a list of which this is the first that failed.
    pub fn raise(&self, function: &str, error: Box<Error>) -> Failed {
        let died = matches!(&self.result, Err(error) if error.class == Class::ProcAborted);
        let is_fatal = |comm: &Arc<Comm>| matches!(*comm.errhandler(), Errhandler::Fatal | Errhandler::Abort);
        if died && self.comm.as_ref().is_some_and(is_fatal) {
            library::await_end();
        }
        raise(self.comm.as_deref(), function, error)
    }
}

/// Calls the handler of the request's communicator, if it has one.
fn raise(comm: Option<&Comm>, function: &str, error: Box<Error>) -> Failed {
    match comm {
        Some(comm) => Failed::Raised(raise_on(comm, function, &error)),
        None => Failed::Error(error),
    }
}

/// Waits for the end of an operation that has no handle, or whose handle rests.
///
/// # Errors
/// Why it failed.
pub fn finish(request: &mut Request) -> Result<Status> {
    let mut naps = Naps::default();
    while !request.is_ended() {
        match request.pending() {
            Some(pending) => {
                let ended = engine_of(request)?.wait(pending, None)?;
                if let Some(result) = request.finish(ended) {
                    return result;
                }
            }
            None if request.is_active() => naps.next(library::engine()?)?,
            None => return Ok(Status::EMPTY),
        }
    }
    request.take().unwrap_or(Ok(Status::EMPTY))
}

fn engine_of(request: &Request) -> Result<Arc<Engine>> {
    match request.comm() {
        Some(comm) => Ok(comm.engine().clone()),
        None => Ok(library::engine()?.clone()),
    }
}

/// How an operation is waited for that the engine does not end: with passes for the others, and more and more time between.
#[derive(Default)]
struct Naps(u32);

impl Naps {
    fn next(&mut self, engine: &Engine) -> Result<()> {
        engine.poll()?;
        self.0 += 1;
        match self.0 {
            ..100 => {}
            100..1000 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(100)),
        }
        Ok(())
    }
}

/// Waits for the request of a handle, which becomes null unless it is persistent.
///
/// # Errors
/// The handle names none.
#[inline]
pub fn wait(handle: &mut MPI_Request) -> Result<End> {
    if *handle == LEFT || *handle == MPI_REQUEST_NULL {
        *handle = MPI_REQUEST_NULL;
        return Ok(End::empty());
    }
    let mut request = requests()?.take(*handle)?;
    let result = finish(&mut request);
    leave(handle, request, result)
}

/// Takes the ends of the messages at the front of an array, up to the first that has not ended: says how many. `each` is told
/// the place, and what the message got. Where it stops, deferred receives are submitted.
///
/// # Errors
/// In a forked child.
#[inline(always)]
pub fn take_messages(handles: &mut [MPI_Request], mut each: impl FnMut(usize, Got)) -> Result<usize> {
    let mut table = requests()?;
    let taken = library::engine()?.completions(|completions| {
        for (at, handle) in handles.iter_mut().enumerate() {
            let got = match *handle {
                LEFT => Got::Sent,
                MPI_REQUEST_NULL => Got::Nothing,
                _ => match table.end_message(*handle, completions) {
                    Some(got) => got,
                    None => return at,
                },
            };
            *handle = MPI_REQUEST_NULL;
            each(at, got);
        }
        handles.len()
    })?;
    if taken < handles.len() && deferred_recv::any() {
        table.submit_deferred();
    }
    Ok(taken)
}

/// Waits until an ordinary message has ended, which stays; says whether the handle names one, from nobody in particular excepted.
///
/// # Errors
/// In a forked child.
pub fn await_message(handle: MPI_Request) -> Result<bool> {
    let Some(pending) = requests()?.message(handle) else { return Ok(false) };
    Ok(library::engine()?.await_end(pending)?)
}

/// The end of a request was taken: gives its row up, unless it can be started again.
fn leave(handle: &mut MPI_Request, request: Request, result: Result<Status>) -> Result<End> {
    let comm = if result.is_err() { request.comm().cloned() } else { None };
    let mut table = requests()?;
    if request.is_persistent() {
        table.put(*handle, request);
    } else {
        table.free(*handle);
        *handle = MPI_REQUEST_NULL;
    }
    Ok(End { result, comm })
}

/// Requests of an array, taken out of the table; they come back when it is dropped.
pub struct List<'a> {
    handles: &'a mut [MPI_Request],
    /// Place in the array, and the request.
    taken: Vec<(usize, Request)>,
    /// Places of sends that have left, and whether they were given.
    left: Vec<usize>,
}

impl<'a> List<'a> {
    /// Those that are active, of an array.
    ///
    /// # Errors
    /// A handle names none: nothing has changed.
    pub fn take(handles: &'a mut [MPI_Request]) -> Result<Self> {
        let mut list = Self { handles, taken: Vec::new(), left: Vec::new() };
        let mut table = requests()?;
        for at in 0..list.handles.len() {
            let handle = list.handles[at];
            if handle == LEFT {
                list.left.push(at);
            } else if handle != MPI_REQUEST_NULL {
                match table.take(handle) {
                    Ok(request) if request.is_active() => list.taken.push((at, request)),
                    Ok(request) => table.put(handle, request),
                    Err(error) => {
                        drop(table);
                        return Err(error);
                    }
                }
            }
        }
        drop(table);
        Ok(list)
    }

    /// Whether none is active.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.left.is_empty()
    }

    /// Whether all that are active have ended.
    pub fn all_ended(&self) -> bool {
        self.taken.iter().all(|(_, request)| request.is_ended())
    }

    fn any_ended(&self) -> bool {
        !self.left.is_empty() || self.taken.iter().any(|(_, request)| request.is_ended())
    }

    /// Makes progress once, and lets all go on that can.
    ///
    /// # Errors
    /// In a forked child.
    pub fn look(&mut self) -> Result<()> {
        let engine = library::engine()?;
        engine.poll()?;
        self.step(engine)
    }

    fn step(&mut self, engine: &Engine) -> Result<()> {
        let asked: Vec<Option<Pending>> = self.taken.iter().map(|(_, request)| request.pending()).collect();
        let ended = engine.completions(|completions| {
            asked.iter().map(|pending| completions.take((*pending)?)).collect::<Vec<_>>()
        })?;
        for ((_, request), ended) in self.taken.iter_mut().zip(ended) {
            if let Some(ended) = ended {
                request.step(ended);
            }
        }
        Ok(())
    }

    /// Waits until one has ended.
    ///
    /// # Errors
    /// In a forked child.
    pub fn wait_any(&mut self) -> Result<()> {
        let engine = library::engine()?;
        self.step(engine)?;
        let mut naps = Naps::default();
        while !self.is_empty() && !self.any_ended() {
            if self.taken.iter().any(|(_, request)| request.is_foreign()) {
                naps.next(engine)?;
                self.step(engine)?;
                continue;
            }
            let (numbers, asked): (Vec<usize>, Vec<Pending>) =
                self.taken.iter().enumerate().filter_map(|(n, (_, r))| Some((n, r.pending()?))).unzip();
            let (which, ended) = engine.wait_any(&asked, None)?;
            self.taken[numbers[which]].1.step(ended);
        }
        Ok(())
    }

    /// The first that has ended, and its place in the array; its handle becomes null unless it is persistent.
    ///
    /// # Errors
    /// In a forked child.
    pub fn take_ended(&mut self) -> Result<Option<(usize, End)>> {
        let first = self.taken.iter().position(|(_, request)| request.is_ended());
        let before = |at: &usize| first.is_none_or(|n| *at < self.taken[n].0);
        if let Some(at) = self.left.first().copied().filter(before) {
            self.left.remove(0);
            self.handles[at] = MPI_REQUEST_NULL;
            return Ok(Some((at, End::empty())));
        }
        let Some(n) = first else { return Ok(None) };
        let (at, mut request) = self.taken.remove(n);
        let result = request.take().unwrap_or(Ok(Status::EMPTY));
        Ok(Some((at, leave(&mut self.handles[at], request, result)?)))
    }
}

impl Drop for List<'_> {
    fn drop(&mut self) {
        let Ok(mut table) = requests() else { return };
        for (at, request) in self.taken.drain(..) {
            table.put(self.handles[at], request);
        }
    }
}

/// Looks after requests that were given up.
///
/// # Errors
/// In a forked child.
pub fn sweep() -> Result<()> {
    let orphans = requests()?.take_orphans();
    if orphans.is_empty() {
        return Ok(());
    }
    let engine = library::engine()?;
    for mut request in orphans {
        while let Some(pending) = request.pending() {
            match engine.completions(|completions| completions.take(pending))? {
                Some(ended) => request.step(ended),
                None => break,
            }
        }
        if request.pending().is_some() {
            requests()?.orphan(request);
        }
    }
    Ok(())
}
