//! The identifier of the kernel's present boot.

/// Returns the identifier that the kernel drew when it started; none if `/proc` does not tell.
pub fn boot_id() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_has_one_identifier() {
        let id = boot_id();
        assert!(id.as_ref().is_some_and(|id| id.trim().len() == 36), "{id:?}");
        assert_eq!(boot_id(), id);
    }
}
