//! The symbols by which a parallel debugger finds the ranks of a job in the launcher's process (the MPIR
//! Process Acquisition Interface, version 1.0).
//!
//! Owns the table of processes, its variables, and the function at which debuggers set a breakpoint. A
//! debugger stops this process and reads all of it by name; it writes one variable. Nothing here waits, and
//! the table holds all that is known of ranks here.
//!
//! ```text
//!   MPIR_proctable ──▶ │ host, executable, pid │ … MPIR_proctable_size of them
//!   MPIR_debug_state    1 with a table, 2 while the job is being aborted
//!   MPIR_Breakpoint()   called after each change
//! ```
//! The symbols are defined in assembler. A library with this crate exports each name that Rust defines, so
//! debuggers would take a rank for a launcher. The linker exports names of the assembler only on request, as
//! for the command. The compiler cannot assume that this process alone writes the variables.

use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::atomic::{AtomicPtr, AtomicU32, Ordering};

std::arch::global_asm!(
    ".macro mpir_variable name, size",
    ".globl \\name",
    ".type \\name, %object",
    ".size \\name, \\size",
    ".p2align 3",
    "\\name:",
    ".zero \\size",
    ".endm",
    ".pushsection .bss.MPIR, \"aw\", %nobits",
    "mpir_variable MPIR_proctable, {pointer}",
    "mpir_variable MPIR_debug_abort_string, {pointer}",
    "mpir_variable MPIR_proctable_size, 4",
    "mpir_variable MPIR_debug_state, 4",
    "mpir_variable MPIR_being_debugged, 4",
    // Debuggers only check that these three exist: this process is no rank, it lets ranks go on by itself
    // once the debugger has read the table, and no library shows their message queues.
    "mpir_variable MPIR_i_am_starter, 4",
    "mpir_variable MPIR_partial_attach_ok, 4",
    "mpir_variable MPIR_ignore_queues, 4",
    ".popsection",
    ".purgem mpir_variable",
    ".pushsection .text.MPIR_Breakpoint, \"ax\", %progbits",
    ".globl MPIR_Breakpoint",
    ".type MPIR_Breakpoint, %function",
    "MPIR_Breakpoint:",
    "ret",
    ".size MPIR_Breakpoint, . - MPIR_Breakpoint",
    ".popsection",
    pointer = const size_of::<*const u8>(),
);

// SAFETY: all of them are defined above. The variables have these sizes and are aligned to eight bytes; zeros
// are values of their types.
// The function returns at once, and changes nothing.
unsafe extern "C" {
    #[link_name = "MPIR_proctable"]
    safe static TABLE: AtomicPtr<TableEntry>;
    #[link_name = "MPIR_proctable_size"]
    safe static TABLE_SIZE: AtomicU32;
    #[link_name = "MPIR_debug_state"]
    safe static STATE: AtomicU32;
    #[link_name = "MPIR_being_debugged"]
    safe static IS_DEBUGGED: AtomicU32;
    #[link_name = "MPIR_debug_abort_string"]
    safe static ABORT_TEXT: AtomicPtr<c_char>;
    #[link_name = "MPIR_Breakpoint"]
    safe fn stop_for_debugger();
}

/// `MPIR_DEBUG_SPAWNED`: the table holds the started processes.
const SPAWNED: u32 = 1;
/// `MPIR_DEBUG_ABORTING`: the job is being aborted; the text gives the reason.
const ABORTING: u32 = 2;

/// A process of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebuggedProcess<'a> {
    /// The host that it runs on.
    pub host: &'a [u8],
    /// The path of its program there.
    pub executable: &'a [u8],
    /// Its number there.
    pub pid: u32,
}

/// `MPIR_PROCDESC`.
#[derive(Debug)]
#[repr(C)]
struct TableEntry {
    host_name: *const c_char,
    executable_name: *const c_char,
    pid: c_int,
}

/// A table and the texts that its entries point to.
struct ProcessTable {
    entries: Vec<TableEntry>,
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead to texts that the table itself owns and never changes.
unsafe impl Send for ProcessTable {}

impl ProcessTable {
    fn new<'a>(processes: impl Iterator<Item = DebuggedProcess<'a>>) -> ProcessTable {
        let mut texts = Vec::new();
        let mut keep = |text: &[u8]| {
            // A text with a zero in it is not the name of a file or host.
            let text = CString::new(text).unwrap_or_default();
            let place = text.as_ptr();
            texts.push(text);
            place
        };
        let entry = |process: DebuggedProcess<'a>| TableEntry {
            host_name: keep(process.host),
            executable_name: keep(process.executable),
            pid: process.pid as c_int,
        };
        let entries = processes.map(entry).collect();
        ProcessTable { entries, _texts: texts }
    }

    /// Publishes this table to the debugger. A debugger may stop this process between any two instructions,
    /// so the size never exceeds that of the present table.
    fn publish(&mut self) {
        let size = self.entries.len() as u32;
        TABLE_SIZE.store(size.min(TABLE_SIZE.load(Ordering::Relaxed)), Ordering::Release);
        TABLE.store(self.entries.as_mut_ptr(), Ordering::Release);
        TABLE_SIZE.store(size, Ordering::Release);
    }
}

/// The published table; it stays until the next one is published or the process ends.
static PUBLISHED: Mutex<Option<ProcessTable>> = Mutex::new(None);
static ABORT_REASON: OnceLock<CString> = OnceLock::new();

/// Returns true if a debugger has announced that it attaches to the processes that this one starts.
pub fn is_debugged() -> bool {
    IS_DEBUGGED.load(Ordering::Relaxed) != 0
}

/// Replaces the table by these processes and calls the breakpoint. An attached debugger stops this process
/// there and resumes it later.
pub fn publish_processes<'a>(processes: impl Iterator<Item = DebuggedProcess<'a>>) {
    let mut published = PUBLISHED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut table = ProcessTable::new(processes);
    table.publish();
    *published = Some(table);
    STATE.store(SPAWNED, Ordering::Release);
    stop_for_debugger();
}

/// Tells a debugger why the job is being aborted. The first reason stays.
pub fn report_abort(why: &str) {
    let why = ABORT_REASON.get_or_init(|| CString::new(why).unwrap_or_default());
    ABORT_TEXT.store(ptr::from_ref(why.as_c_str()).cast::<c_char>().cast_mut(), Ordering::Release);
    STATE.store(ABORTING, Ordering::Release);
    stop_for_debugger();
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::mem::offset_of;

    use super::*;

    fn text(at: *const c_char) -> Vec<u8> {
        // SAFETY: the test's tables live as long as it, and their texts end with a zero.
        unsafe { CStr::from_ptr(at) }.to_bytes().to_vec()
    }

    #[test]
    fn an_entry_is_laid_out_as_debuggers_read_it() {
        let pointer = size_of::<*const c_char>();
        let places = [
            offset_of!(TableEntry, host_name),
            offset_of!(TableEntry, executable_name),
            offset_of!(TableEntry, pid),
        ];
        assert_eq!(places, [0, pointer, 2 * pointer]);
        assert_eq!(size_of::<TableEntry>(), 3 * pointer);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the variables are defined in assembler")]
    fn the_variables_lead_to_the_table_that_was_published_last() {
        assert!(!is_debugged());
        for count in [3, 5, 2_u32] {
            let process =
                |pid| DebuggedProcess { host: b"h0", executable: b"/bin/a", pid: pid + 100 * count };
            publish_processes((0..count).map(process));
            assert_eq!((TABLE_SIZE.load(Ordering::Acquire), STATE.load(Ordering::Acquire)), (count, SPAWNED));
            let published = PUBLISHED.lock().unwrap();
            let entries = &published.as_ref().unwrap().entries;
            assert_eq!(TABLE.load(Ordering::Acquire).cast_const(), entries.as_ptr());
            let told = entries.iter().map(|entry| entry.pid as u32);
            assert!(told.eq((0..count).map(|pid| pid + 100 * count)));
            let last = entries.last().unwrap();
            assert_eq!((text(last.host_name), text(last.executable_name)), (b"h0".into(), b"/bin/a".into()));
        }
        report_abort("rank 1 has aborted");
        report_abort("another reason");
        assert_eq!(text(ABORT_TEXT.load(Ordering::Acquire)), b"rank 1 has aborted");
        assert_eq!(STATE.load(Ordering::Acquire), ABORTING);
    }
}
