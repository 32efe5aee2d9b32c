//! The profile of a program that is started alone. The program is this test itself, started again with other variables.

use std::path::PathBuf;
use std::process::{Command, Output, exit};

use canele_engine::Engine;
use canele_profile::{HostProfile, MachineIdentity, MeasuredProfile, Profile};

#[test]
#[ignore = "runs as the program of the other tests"]
fn as_a_program() {
    match Engine::start() {
        Ok(engine) => println!("wake-up of {} ns", engine.profile().host.wakeup_ns),
        Err(error) => {
            eprintln!("refused: {error}");
            exit(9);
        }
    }
}

fn alone(profile: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "as_a_program", "--ignored", "--nocapture"]);
    // Cargo sets it for the tests of a crate whose build script does; a program of a user does not have it.
    command.env_remove("CANELE_BUILD");
    command.env("CANELE_PROFILE", profile).output().unwrap()
}

#[test]
fn a_program_alone_reads_the_profile_itself() {
    let host = HostProfile { wakeup_ns: 4711, ..HostProfile::OWN_CACHES };
    let profile = Profile { host, networks: Vec::new() };
    let measured = MeasuredProfile::new(MachineIdentity::here(), profile, Vec::new());
    let path: PathBuf = std::env::temp_dir().join(format!("canele-engine-profile-{}", std::process::id()));
    std::fs::write(&path, measured.to_text()).unwrap();
    let output = alone(path.to_str().unwrap());
    let text = String::from_utf8_lossy(&output.stdout);
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success() && text.contains("wake-up of 4711 ns"), "{text}");
    let text = String::from_utf8_lossy(&alone("built-in").stdout).into_owned();
    assert!(text.contains("wake-up of 5000 ns"), "{text}");
}

#[test]
fn a_profile_that_cannot_be_read_is_refused() {
    let output = alone("/no/such/profile.toml");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(9), "{error}");
    assert!(error.contains("refused: cannot read the profile /no/such/profile.toml: "), "{error}");
}
