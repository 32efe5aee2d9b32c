//! Error codes: a class, or a class with the number of a stored text. `MPI_Error_string` reports from the
//! text the function, the argument and its value. User-defined codes are above `MPI_ERR_LASTCODE`.
//!
//! The code of a process failure is its class alone, since fault-tolerant programs compare codes with
//! classes. Only the last text of each class is stored.

use core::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use canele_mpi::Class;
use canele_sys::atomic::{AtomicUsize, Ordering};

use crate::constants::*;

/// Number of stored texts; a later one replaces an earlier one.
const KEPT: usize = 1 << 12;
/// A code with a text consists of this bit, the number of the text, and the class.
const DETAILED: c_int = 1 << 29;
const CLASS_BITS: u32 = 14;

static TEXTS: Mutex<Vec<(c_int, String)>> = Mutex::new(Vec::new());
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The last texts of process failures, in the order of [`Class::EXTENSIONS`].
static FAILURES: Mutex<[String; Class::EXTENSIONS.len()]> =
    Mutex::new([const { String::new() }; Class::EXTENSIONS.len()]);

/// Returns the index of a class among those of process failures.
fn place_of_failure(class: Class) -> Option<usize> {
    Class::EXTENSIONS.into_iter().position(|one| one == class)
}

/// Returns a code for a class with a text.
#[cold]
pub fn keep(class: Class, text: String) -> c_int {
    if let Some(place) = place_of_failure(class) {
        FAILURES.lock().unwrap_or_else(PoisonError::into_inner)[place] = text;
        return class_number(class);
    }
    // Relaxed: the number must only differ from recent numbers.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let slot = number % KEPT;
    let turn = number / KEPT % 8;
    let code = DETAILED | ((turn * KEPT + slot) << CLASS_BITS) as c_int | class_number(class);
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if texts.len() <= slot {
        texts.resize(slot + 1, (0, String::new()));
    }
    texts[slot] = (code, text);
    code
}

/// Returns the number of a class in this ABI.
pub fn class_number(class: Class) -> c_int {
    match class {
        Class::ProcFailed => MPIX_ERR_PROC_FAILED,
        Class::ProcFailedPending => MPIX_ERR_PROC_FAILED_PENDING,
        Class::Revoked => MPIX_ERR_REVOKED,
        // A test compares this order with the names.
        class => CLASSES[class as usize],
    }
}

/// Returns the class of one of the library's codes.
pub fn class_of(code: c_int) -> Option<Class> {
    let number = if code & DETAILED != 0 { code & ((1 << CLASS_BITS) - 1) } else { code };
    if code < 0 || number >= MPI_ERR_LASTCODE {
        return None;
    }
    let extension = Class::EXTENSIONS.into_iter().find(|class| class_number(*class) == number);
    let of_standard = || CLASSES.iter().position(|class| *class == number);
    extension.or_else(|| Class::ALL.get(of_standard()?).copied())
}

/// Returns the text of one of the library's codes.
pub fn text(code: c_int) -> String {
    if code & DETAILED != 0 {
        let slot = (code & !DETAILED) as usize >> CLASS_BITS;
        let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((kept, text)) = texts.get(slot % KEPT)
            && *kept == code
        {
            return text.clone();
        }
    }
    let class = class_of(code);
    if let Some(place) = class.and_then(place_of_failure) {
        let last = FAILURES.lock().unwrap_or_else(PoisonError::into_inner)[place].clone();
        if !last.is_empty() {
            return last;
        }
    }
    match class.map(Class::text) {
        Some((name, meaning)) => format!("{name}: {meaning}"),
        None if code == 0 => "MPI_SUCCESS: no error".to_owned(),
        None => format!("{code} is no error code"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_the_numbers_of_the_abi() {
        let tables = canele_mpi_tables::Tables::standard();
        let standard: Vec<&str> = tables.constants.iter().map(|of| of.name.as_str()).collect();
        let names =
            standard.iter().filter(|name| name.starts_with("MPI_ERR_") && **name != "MPI_ERR_LASTCODE");
        assert_eq!(names.count(), Class::ALL.len());
        for class in Class::ALL {
            assert_eq!(class_of(class_number(class)), Some(class));
            assert!(standard.contains(&class.text().0), "{class:?}");
        }
        let numbers = [
            (Class::Buffer, MPI_ERR_BUFFER),
            (Class::Truncate, MPI_ERR_TRUNCATE),
            (Class::Internal, MPI_ERR_INTERN),
            (Class::Io, MPI_ERR_IO),
            (Class::Window, MPI_ERR_WIN),
            (Class::Abi, MPI_ERR_ABI),
        ];
        assert!(numbers.iter().all(|(class, number)| class_number(*class) == *number));
    }

    #[test]
    fn a_code_tells_its_text_until_many_more_were_made() {
        let first = keep(Class::Rank, "dest is 7".to_owned());
        assert_eq!((text(first).as_str(), class_of(first)), ("dest is 7", Some(Class::Rank)));
        for n in 0..KEPT {
            keep(Class::Tag, n.to_string());
        }
        assert_eq!(text(first), "MPI_ERR_RANK: invalid rank");
        for class in Class::EXTENSIONS {
            assert_eq!(class_of(class_number(class)), Some(class));
            let meaning = text(class_number(class));
            assert!(meaning.starts_with(class.text().0), "{meaning}");
            assert_eq!(keep(class, "rank 7 is gone".to_owned()), class_number(class));
            assert_eq!(text(class_number(class)), "rank 7 is gone");
        }
        for none in [0, -1, 99, 104, MPI_ERR_LASTCODE] {
            assert_eq!(class_of(none), None);
        }
    }
}
