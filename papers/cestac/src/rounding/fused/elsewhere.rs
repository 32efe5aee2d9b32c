//! A stand-in for other processors: there is no proof, so none of these functions is called.

use super::{Directions, Fused, FusedMultiplyAdd};

macro_rules! fused {
    ($type:ty) => {
        impl Fused for $type {
            fn sums<const N: usize>(
                _: [Self; N],
                _: [Self; N],
                _: Directions<N>,
                _: FusedMultiplyAdd,
            ) -> [Self; N] {
                unreachable!("there is no proof")
            }

            fn products<const N: usize>(
                _: [Self; N],
                _: [Self; N],
                _: Directions<N>,
                _: FusedMultiplyAdd,
            ) -> Option<[Self; N]> {
                None
            }

            fn quotients<const N: usize>(
                _: [Self; N],
                _: [Self; N],
                _: Directions<N>,
                _: FusedMultiplyAdd,
            ) -> Option<[Self; N]> {
                None
            }

            fn roots<const N: usize>(
                _: [Self; N],
                _: Directions<N>,
                _: FusedMultiplyAdd,
            ) -> Option<[Self; N]> {
                None
            }
        }
    };
}

fused!(f64);
fused!(f32);
