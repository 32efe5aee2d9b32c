//! A number by which ranks compare their profiles.

use std::hash::{Hash, Hasher};

/// The hash FNV-1a, which no release of the compiler changes.
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the fingerprint of a value.
pub fn of(value: &impl Hash) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostProfile, NetworkProfile, Profile};

    #[test]
    fn the_hash_is_the_published_one() {
        let hash = |bytes: &[u8]| {
            let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
            hasher.write(bytes);
            hasher.finish()
        };
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn profiles_that_differ_in_one_figure_have_other_fingerprints() {
        let profile = Profile { host: HostProfile::OWN_CACHES, networks: Vec::new() };
        let mut slower = profile.clone();
        slower.host.ring.far += 1;
        let network = NetworkProfile { name: "tcp".into(), latency_ns: 1, packet_ns: 1, bytes_per_us: 1 };
        let connected = Profile { networks: vec![network], ..profile.clone() };
        assert_eq!(profile.fingerprint(), profile.clone().fingerprint());
        assert_ne!(profile.fingerprint(), slower.fingerprint());
        assert_ne!(profile.fingerprint(), connected.fingerprint());
    }
}
