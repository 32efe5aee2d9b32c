//! placeholder
use crate::handle::DATATYPES;
use canele_mpi::datatype::Datatype;
use std::sync::Arc;
/// x
pub fn predefine() {
    for v in 0x200..0x300usize {
        DATATYPES.fix(
            v,
            Datatype::new(if v == 0x247 {
                1
            } else if v == 0x214 || v == 0x20a {
                8
            } else {
                4
            }),
        );
    }
    let _ = Arc::new(1);
}
