//! The number of this process's network: two processes have the same number exactly if they share a network
//! namespace of one running kernel.
//!
//! An address of this host leads to itself only within the namespace: every machine has its own 127.0.0.1,
//! and bridges have one address everywhere.

use std::os::linux::fs::MetadataExt;

use crate::boot::boot_id;

/// Returns the number of this process's network namespace, made of the kernel's boot and the namespace's
/// inode. No other process can choose either of them. Returns `None` if `/proc` does not tell; then this
/// process shares its namespace with no other.
pub fn network_namespace() -> Option<u64> {
    let boot = boot_id()?.into_bytes();
    let namespace = std::fs::metadata("/proc/self/ns/net").ok()?;
    let words = [namespace.st_dev(), namespace.st_ino()];
    let bytes = boot.into_iter().chain(words.into_iter().flat_map(u64::to_le_bytes));
    // FNV-1a.
    Some(
        bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_its_threads_are_in_one() {
        let number = network_namespace();
        assert!(number.is_some());
        assert_eq!(std::thread::spawn(network_namespace).join().unwrap(), number);
    }
}
