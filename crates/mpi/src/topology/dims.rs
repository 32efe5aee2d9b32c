//! The number of ranks in each dimension of a grid (MPI 5.0, §8.5.2).

use crate::{Result, fail};

/// Fills the dimensions that are 0, so that the product of all dimensions is `nodes`. The new sizes are as
/// equal as possible and do not increase. Among all choices it takes the one whose largest dimension is
/// smallest, then the one whose second dimension is smallest, and so on.
///
/// # Errors
/// Fails if a dimension is negative, or if the product of the given ones does not divide `nodes`.
pub fn dims_create(nodes: i32, dims: &mut [i32]) -> Result<()> {
    if nodes < 1 {
        fail!(Dimensions, "nnodes is {nodes}; there must be at least one node");
    }
    let mut given = 1i64;
    for (index, &dim) in dims.iter().enumerate().filter(|&(_, &dim)| dim != 0) {
        if dim < 0 {
            fail!(Dimensions, "dims[{index}] is {dim}; give a size, or 0 where one is to be chosen");
        }
        given = given.saturating_mul(i64::from(dim));
    }
    let open = dims.iter().filter(|&&dim| dim == 0).count();
    let rest = i64::from(nodes) / given;
    if rest * given != i64::from(nodes) || (open == 0 && rest != 1 && !dims.is_empty()) {
        fail!(Dimensions, "nnodes is {nodes}, which the sizes given in dims, {given} together, do not make");
    }
    let chosen = balanced(rest as u32, open).into_iter();
    dims.iter_mut().filter(|dim| **dim == 0).zip(chosen).for_each(|(dim, chosen)| *dim = chosen as i32);
    Ok(())
}

/// Returns `n` as a product of `parts` factors.
fn balanced(n: u32, parts: usize) -> Vec<u32> {
    let mut factors = Vec::with_capacity(parts);
    if parts > 0 {
        let divisors = divisors(n);
        let found = split(n, parts, n, &divisors, &mut factors);
        debug_assert!(found, "n, 1, 1 … is always there");
    }
    factors
}

/// Appends factors of which none exceeds `limit` and the first one is as small as possible. Returns true if
/// they exist.
fn split(n: u32, parts: usize, limit: u32, divisors: &[u32], factors: &mut Vec<u32>) -> bool {
    if parts == 1 {
        factors.extend((n <= limit).then_some(n));
        return n <= limit;
    }
    let enough = |d: u32| parts > 31 || u128::from(d).saturating_pow(parts as u32) >= u128::from(n);
    for &d in divisors.iter().take_while(|&&d| d <= limit) {
        if n.is_multiple_of(d) && (d > 1 || n == 1) && enough(d) {
            factors.push(d);
            if split(n / d, parts - 1, d, divisors, factors) {
                return true;
            }
            factors.pop();
        }
    }
    false
}

/// Returns all divisors, from 1 to `n`.
fn divisors(n: u32) -> Vec<u32> {
    let small: Vec<u32> = (1..=n.isqrt()).filter(|&d| n.is_multiple_of(d)).collect();
    let large = small.iter().rev().map(|&d| n / d).filter(|&d| d > n.isqrt());
    small.iter().copied().chain(large).collect()
}
