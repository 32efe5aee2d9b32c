//! Starting processes (MPI 5.0, §11.8).

use core::ffi::{CStr, c_char, c_int};

use canele_mpi::dynamic::{Command, Spawned};
use canele_mpi::{Class, Result, fail};
use canele_sys::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::codes::class_number;
use crate::comm::create::{give, given};
use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Info, ObjectHandle};
use crate::library;
use crate::pointer::{In, Out, Text};

/// The handle of the communicator with the parents; 0 if there are none.
static PARENT: AtomicUsize = AtomicUsize::new(0);

/// Stores the handle of the communicator with the parents.
pub(crate) fn set_parent(parent: MPI_Comm) {
    // Relaxed: set before the program can ask.
    PARENT.store(parent.value(), Relaxed);
}

/// `MPI_Comm_get_parent`.
pub fn comm_get_parent(parent: Out<MPI_Comm>) -> CallResult {
    library::world()?;
    let handle = MPI_Comm::of(PARENT.load(Relaxed));
    // It is null after it was freed or disconnected.
    let known = if handle.get().is_ok() { handle } else { MPI_COMM_NULL };
    Ok(parent.set(known, "parent")?)
}

/// `MPI_Comm_spawn`.
pub fn comm_spawn(
    command: Text,
    argv: In<*const c_char>,
    maxprocs: c_int,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    intercomm: Out<MPI_Comm>,
    array_of_errcodes: Out<c_int>,
) -> CallResult {
    let commands = || {
        let (name, arguments) = (command.bytes("command")?.to_vec(), strings(argv)?);
        Ok(vec![Command { name, arguments, most: maxprocs, info: given(info)?.duplicate() }])
    };
    let (found, root) = (comm.get()?, root_of(root)?);
    let spawned = found.spawn("MPI_Comm_spawn", root, commands)?;
    // The number is significant only at the root.
    let most: &[c_int] = if root == found.rank() { &[maxprocs] } else { &[] };
    tell(spawned, most, intercomm, array_of_errcodes)
}

/// `MPI_Comm_spawn_multiple`.
pub fn comm_spawn_multiple(
    count: c_int,
    array_of_commands: In<*const c_char>,
    array_of_argv: In<*const *const c_char>,
    array_of_maxprocs: In<c_int>,
    array_of_info: In<MPI_Info>,
    root: c_int,
    comm: MPI_Comm,
    intercomm: Out<MPI_Comm>,
    array_of_errcodes: Out<c_int>,
) -> CallResult {
    let (found, root) = (comm.get()?, root_of(root)?);
    let numbers = || match usize::try_from(count) {
        Ok(count) if count > 0 => array_of_maxprocs.slice(count, "array_of_maxprocs"),
        _ => fail!(Argument, "count is {count}: there is at least one command"),
    };
    let commands = || {
        let most = numbers()?;
        let names = array_of_commands.slice(most.len(), "array_of_commands")?;
        let infos = array_of_info.slice(most.len(), "array_of_info")?;
        // MPI_ARGVS_NULL is a null pointer: no command has arguments.
        let lists = if array_of_argv.address() == 0 {
            &[]
        } else {
            array_of_argv.slice(most.len(), "array_of_argv")?
        };
        let command = |at: usize| {
            let arguments = lists.get(at).map_or(Ok(Vec::new()), |list| strings(In::at(*list)))?;
            let name = Text::at(names[at]).bytes("array_of_commands")?.to_vec();
            Ok(Command { name, arguments, most: most[at], info: given(infos[at])?.duplicate() })
        };
        (0..most.len()).map(command).collect()
    };
    let spawned = found.spawn("MPI_Comm_spawn_multiple", root, commands)?;
    let most = if root == found.rank() { numbers().unwrap_or_default() } else { &[] };
    tell(spawned, most, intercomm, array_of_errcodes)
}

pub(super) fn root_of(root: c_int) -> Result<usize> {
    match usize::try_from(root) {
        Ok(root) => Ok(root),
        Err(_) => fail!(Root, "root is {root}: it is the rank of a process of comm"),
    }
}

/// Returns the strings of a list that ends with a null pointer; none for `MPI_ARGV_NULL`, which is null.
fn strings(list: In<*const c_char>) -> Result<Vec<Vec<u8>>> {
    let mut strings = Vec::new();
    if list.address() == 0 {
        return Ok(strings);
    }
    loop {
        // Each element up to the null pointer exists.
        let at = list.slice(strings.len() + 1, "argv")?[strings.len()];
        if at.is_null() {
            return Ok(strings);
        }
        // SAFETY: the standard asks for strings that end with a zero, which no thread changes during the
        // call.
        strings.push(unsafe { CStr::from_ptr(at) }.to_bytes().to_vec());
    }
}

/// Stores the results for the processes; `most` are the requested numbers, where they are known.
fn tell(spawned: Spawned, most: &[c_int], intercomm: Out<MPI_Comm>, errcodes: Out<c_int>) -> CallResult {
    let Spawned { comm, started } = spawned;
    if !errcodes.is_null() {
        let failed = class_number(comm.as_ref().err().map_or(Class::Spawn, |error| error.class));
        let known = started.iter().map(|started| if *started { MPI_SUCCESS } else { failed });
        let wanted = most.iter().map(|most| usize::try_from(*most).unwrap_or(0)).sum::<usize>();
        // These processes were not tried.
        let rest = wanted.saturating_sub(started.len());
        errcodes.set_all(known.chain(std::iter::repeat_n(failed, rest)), "array_of_errcodes")?;
    }
    match comm {
        Ok(comm) => give(intercomm, Some(comm)),
        Err(error) => {
            intercomm.set(MPI_COMM_NULL, "intercomm")?;
            Err(error.into())
        }
    }
}
