//! Array descriptors that compilers pass to C (Fortran 2018, 18.5.3, `CFI_cdesc_t`).
//!
//! The standard leaves the order of some members open. The members used here have equal offsets in the
//! descriptors of gfortran, flang, Intel and NVIDIA. They are the address, the element size, the rank after a
//! version of four bytes, and the dimensions from byte 24 on.

use core::ffi::{c_int, c_void};

/// A dimension of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    lower: isize,
    /// Number of elements; -1 for the last dimension of an assumed-size array.
    pub extent: isize,
    /// Distance of two elements in bytes.
    pub stride: isize,
}

/// The head of a descriptor; the dimensions follow it.
#[repr(C)]
pub struct Descriptor {
    address: *mut c_void,
    element: usize,
    version: c_int,
    rank: i8,
    attributes: [u8; 3],
}

/// Largest number of dimensions of an array (Fortran 2018, 5.4.6).
const MOST: usize = 15;

/// An array, or a part of one.
#[derive(Clone, Debug)]
pub struct Array {
    /// Address of the first element.
    pub address: *mut c_void,
    /// Size of an element in bytes.
    pub element: i64,
    /// The dimensions, the fastest first.
    pub dimensions: Vec<Dimension>,
}

impl Descriptor {
    /// Returns the address of the first element.
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// Returns the size of an element in bytes.
    pub fn element(&self) -> usize {
        self.element
    }

    fn dimensions(&self) -> &[Dimension] {
        let rank = usize::try_from(self.rank).unwrap_or(0).min(MOST);
        // SAFETY: the compiler writes as many dimensions as the rank says behind the head of the descriptor,
        // which is as long as theirs begins.
        unsafe { core::slice::from_raw_parts((&raw const *self).add(1).cast(), rank) }
    }

    /// Returns true if the elements are contiguous, in order.
    pub fn is_contiguous(&self) -> bool {
        let mut next = self.element as isize;
        self.dimensions().iter().all(|dimension| {
            let holds = dimension.stride == next || matches!(dimension.extent, 0 | 1);
            next *= dimension.extent;
            holds
        })
    }

    /// Returns the array.
    pub fn array(&self) -> Array {
        Array { address: self.address, element: self.element as i64, dimensions: self.dimensions().to_vec() }
    }
}

impl Array {
    /// Returns the number of elements.
    pub fn elements(&self) -> i64 {
        self.dimensions.iter().map(|dimension| dimension.extent.max(0) as i64).product()
    }

    /// Returns the distance in bytes between consecutive elements; none if it varies.
    pub fn stride(&self) -> Option<isize> {
        let (first, others) = self.dimensions.split_first()?;
        let mut next = first.stride * first.extent;
        let is_same = others.iter().all(|dimension| {
            let holds = dimension.stride == next;
            next *= dimension.extent;
            holds
        });
        is_same.then_some(first.stride)
    }

    /// Calls a function with the address of each element, in Fortran's order.
    pub fn each(&self, mut visit: impl FnMut(*mut c_void)) {
        let mut place = vec![0isize; self.dimensions.len()];
        for _ in 0..self.elements() {
            let steps = self.dimensions.iter().zip(&place);
            visit(self.address.wrapping_byte_offset(steps.map(|(dimension, n)| dimension.stride * n).sum()));
            for (n, dimension) in place.iter_mut().zip(&self.dimensions) {
                *n += 1;
                if *n < dimension.extent {
                    break;
                }
                *n = 0;
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A descriptor with room for three dimensions.
    #[repr(C)]
    pub struct Described {
        head: Descriptor,
        dimensions: [Dimension; 3],
    }

    /// Describes a part of an array: extents and strides in bytes.
    pub fn described(address: *mut c_void, element: usize, of: &[(isize, isize)]) -> Described {
        let mut dimensions = [Dimension { lower: 0, extent: 0, stride: 0 }; 3];
        for (dimension, (extent, stride)) in dimensions.iter_mut().zip(of) {
            *dimension = Dimension { lower: 1, extent: *extent, stride: *stride };
        }
        let head = Descriptor { address, element, version: 1, rank: of.len() as i8, attributes: [0; 3] };
        Described { head, dimensions }
    }

    impl Described {
        pub fn get(&self) -> &Descriptor {
            // SAFETY: the dimensions lie behind the head, both are of this value.
            unsafe { &*(&raw const *self).cast::<Descriptor>() }
        }
    }

    #[test]
    fn arrays_are_contiguous_where_nothing_lies_between_elements() {
        let is = |of: &[(isize, isize)]| described(core::ptr::null_mut(), 4, of).get().is_contiguous();
        assert!(is(&[]));
        assert!(is(&[(10, 4)]));
        assert!(!is(&[(10, 8)]));
        assert!(!is(&[(10, -4)]));
        assert!(is(&[(1, 80)]), "one element has no distance to the next");
        assert!(is(&[(10, 4), (3, 40)]));
        assert!(!is(&[(5, 4), (3, 40)]));
        assert!(is(&[(10, 4), (-1, 40)]), "the last extent of an array of assumed size is not known");
    }

    #[test]
    fn strides_are_known_where_all_distances_are_the_same() {
        let of = |of: &[(isize, isize)]| described(core::ptr::null_mut(), 4, of).get().array().stride();
        assert_eq!(of(&[(10, 8)]), Some(8));
        assert_eq!(of(&[(10, -4)]), Some(-4));
        assert_eq!(of(&[(5, 8), (3, 40)]), Some(8));
        assert_eq!(of(&[(5, 8), (3, 48)]), None);
    }

    #[test]
    fn elements_are_visited_in_the_order_of_fortran() {
        let mut numbers: Vec<i32> = (0..12).collect();
        let address = numbers.as_mut_ptr().cast();
        let mut seen = Vec::new();
        // numbers(1:3:2, 1:4:3) of an array of 3 × 4.
        described(address, 4, &[(2, 8), (2, 36)]).get().array().each(|place| {
            // SAFETY: all strides stay within the vector.
            seen.push(unsafe { *place.cast::<i32>() });
        });
        assert_eq!(seen, [0, 2, 9, 11]);
    }
}
