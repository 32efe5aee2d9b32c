//! The profile by which ranks choose: its readability, and its match with this machine.

use canele_profile::{LoadedProfile, ProfileError, ProfileSource};

use super::finding::{Finding, ok, problem, remark};

const WHAT: &str = "profile";

/// Judges the profile in use.
pub fn examine() -> Finding {
    judge(canele_profile::load())
}

fn judge(loaded: Result<LoadedProfile, ProfileError>) -> Finding {
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            return problem(WHAT, error.to_string(), "no job starts: correct the file, or remove it");
        }
    };
    let differences = loaded.differences();
    match (&loaded.source, differences.is_empty()) {
        (source @ (ProfileSource::BuiltIn | ProfileSource::BuiltInByLine(_)), _) => {
            ok(WHAT, format!("{source}; `canele tune` measures this machine"))
        }
        (source, true) => ok(WHAT, format!("{source}, of this machine")),
        (source, false) => remark(
            WHAT,
            format!("{source} is of another machine ({})", differences.join("; ")),
            "protocols and algorithms may be slow: measure again with `canele tune`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use canele_profile::{HostProfile, MachineIdentity, MeasuredProfile, Profile};

    use super::super::finding::Level;
    use super::*;

    #[test]
    fn a_profile_is_judged_by_its_machine() {
        let machine =
            MachineIdentity { model: "X".into(), processors: 16, kernel: "6.1".into(), caches: Vec::new() };
        let profile = Profile { host: HostProfile::OWN_CACHES, networks: Vec::new() };
        let measured = MeasuredProfile::new(machine.clone(), profile.clone(), Vec::new());
        let source = ProfileSource::Found("/p.toml".into());
        let mut loaded = LoadedProfile { source, measured: Some(measured), profile, here: machine };
        assert_eq!(judge(Ok(loaded.clone())).level, Level::Ok);
        loaded.here.model = "Y".into();
        let found = judge(Ok(loaded));
        assert_eq!(found.level, Level::Remark);
        assert!(found.value.contains("processor: measured on X, this machine has Y"), "{}", found.value);
        let error = ProfileError::Version { path: "/p.toml".into(), found: 9 };
        assert_eq!(judge(Err(error)).level, Level::Problem);
    }
}
