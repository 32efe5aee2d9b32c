//! What differs between the ABIs that programs are compiled for: the width of handles, where their constants stand, the status. The values of
//! constants are in the tables of `canele-mpi-tables`; everything else in this crate is the same for all.
//!
//! This crate is compiled once for each ABI: as `canele-mpi-c` for the standard's, as `canele-mpich-c`, with `cfg(mpich)`, for MPICH's.

#[cfg(mpich)]
mod mpich;
#[cfg(not(mpich))]
mod standard;

#[cfg(mpich)]
pub use mpich::*;
#[cfg(not(mpich))]
pub use standard::*;

/// Constants have rows of the table of handles below this one.
pub const CONSTANT_ROWS: usize = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

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
        for (_, datatype) in crate::constants::DATATYPES {
            rows.push(constant_row(datatype.value()).expect("predefined datatypes are constants"));
        }
        for op in [crate::constants::MPI_MAX, crate::constants::MPI_NO_OP, crate::constants::MPI_SUM] {
            rows.push(constant_row(op.value()).expect("predefined operations are constants"));
        }
        rows.sort_unstable();
        let all = rows.len();
        rows.dedup();
        // Synonyms have one row.
        let names = crate::constants::DATATYPES.iter().map(|(_, datatype)| datatype.value());
        let distinct: std::collections::BTreeSet<usize> = names.collect();
        assert_eq!(rows.len(), distinct.len() + 3, "of {all}");
        assert!(rows.iter().all(|row| *row < CONSTANT_ROWS));
    }
}
