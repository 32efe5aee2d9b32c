//! Properties of every ABI; the crates of all ABIs share this file.

use std::collections::BTreeSet;

use crate::constants::{DATATYPES, MPI_MAX, MPI_NO_OP, MPI_SUM};
use crate::handle::CONSTANT_ROWS;
use crate::{MPI_Status, constant_row};

#[test]
fn a_status_keeps_the_bytes_and_whether_it_was_cancelled() {
    let mut status = MPI_Status::EMPTY;
    for bytes in [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 62) - 1] {
        for cancelled in [false, true] {
            status.set_outcome(bytes, cancelled);
            assert_eq!((status.bytes(), status.cancelled()), (bytes, cancelled));
        }
    }
}

#[test]
fn each_constant_has_a_row_of_its_own() {
    let mut rows: Vec<usize> = Vec::new();
    for (_, datatype) in DATATYPES {
        rows.push(constant_row(datatype.value()).expect("predefined datatypes are constants"));
    }
    for op in [MPI_MAX, MPI_NO_OP, MPI_SUM] {
        rows.push(constant_row(op.value()).expect("predefined operations are constants"));
    }
    rows.sort_unstable();
    let all = rows.len();
    rows.dedup();
    // Synonyms have one row.
    let distinct: BTreeSet<usize> = DATATYPES.iter().map(|(_, datatype)| datatype.value()).collect();
    assert_eq!(rows.len(), distinct.len() + 3, "of {all}");
    assert!(rows.iter().all(|row| *row < CONSTANT_ROWS));
}
