//! The loops over packed elements, aligned or not.

use bytemuck::{Pod, bytes_of, pod_read_unaligned};

/// Combines each `T` of `from` into `into` by `f`; the first operand is that of `from` if `from_first`.
///
/// The function is not inlined: one loop per type and operation, which the compiler vectorises.
pub(super) fn each<T: Pod>(into: &mut [u8], from: &[u8], from_first: bool, f: impl Fn(T, T) -> T) {
    if from_first { pairs(into, from, |a, b| f(b, a)) } else { pairs(into, from, f) }
}

fn pairs<T: Pod>(into: &mut [u8], from: &[u8], f: impl Fn(T, T) -> T) {
    debug_assert_eq!((into.len(), into.len() % size_of::<T>()), (from.len(), 0));
    let aligned = bytemuck::try_cast_slice::<u8, T>(into).is_ok();
    match bytemuck::try_cast_slice::<u8, T>(from) {
        Ok(from) if aligned => {
            let into = bytemuck::cast_slice_mut::<u8, T>(into);
            into.iter_mut().zip(from).for_each(|(a, b)| *a = f(*a, *b));
        }
        _ => stepwise(into, from, size_of::<T>(), |a, b| {
            let result = f(pod_read_unaligned(a), pod_read_unaligned(b));
            a.copy_from_slice(bytes_of(&result));
        }),
    }
}

/// Combines pairs of a value and an index, which may be misaligned.
pub(super) fn each_pair<V: Pod, I: Pod>(
    into: &mut [u8],
    from: &[u8],
    from_first: bool,
    f: impl Fn((V, I), (V, I)) -> (V, I),
) {
    let split = |bytes: &[u8]| {
        let (value, index) = bytes.split_at(size_of::<V>());
        (pod_read_unaligned(value), pod_read_unaligned(index))
    };
    stepwise(into, from, size_of::<V>() + size_of::<I>(), |a, b| {
        let (first, second) = if from_first { (split(b), split(a)) } else { (split(a), split(b)) };
        let (value, index) = f(first, second);
        a[..size_of::<V>()].copy_from_slice(bytes_of(&value));
        a[size_of::<V>()..].copy_from_slice(bytes_of(&index));
    });
}

#[inline(always)]
fn stepwise(into: &mut [u8], from: &[u8], size: usize, f: impl Fn(&mut [u8], &[u8])) {
    into.chunks_exact_mut(size).zip(from.chunks_exact(size)).for_each(|(a, b)| f(a, b));
}
