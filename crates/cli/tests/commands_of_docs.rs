//! The commands that documents tell readers to type: each is accepted, and those that end soon on one host
//! are run.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::documents::{DocumentCommand, check_reading, commands};
use support::installation::{Installation, is_there};

const HOSTS: &str = "there is one host";
const STATUS: &str = "its status tells of this machine, and tests/doctor.rs runs it";
const MEASURES: &str = "it measures for many seconds";
const RUNNING: &str =
    "it asks about a running job, and tests/info.rs, tests/why.rs and tests/top.rs start one";
const PROGRAMS: &str = "it needs programs of apps, whose own tests run them";
const PYTHON: &str = "it needs a module of Python, and tests of the module run such programs";
const MODULES: &str = "it compiles the modules for Fortran, and tests/fortran.rs does it";
const RECORDED: &str = "it reads what a job has recorded, and tests/tracing.rs records one";
const DEBUGGER: &str = "it starts debuggers";
const PROFILING: &str = "it needs a profiling library, and tests/wrapper_choices.rs makes one";
const MANY: &str = "it starts too many ranks, or takes too long";
const ELSEWHERE: &str = "the program is another package's";

/// The commands that are not run: page, a part of their text, and the reason. All others are run.
const NOT_RUN: [(&str, &str, &str); 43] = [
    ("README.md", "mpifort", MODULES),
    ("README.md", "python", PYTHON),
    ("build-systems.md", "julia", ELSEWHERE),
    ("clusters.md", "--hosts", HOSTS),
    ("clusters.md", "--hostfile", HOSTS),
    ("commands.md", "--hosts", HOSTS),
    ("commands.md", "canele doctor", STATUS),
    ("commands.md", "--job", RUNNING),
    ("commands.md", "canele top", RUNNING),
    ("commands.md", "canele why", RUNNING),
    ("commands.md", "canele trace", RECORDED),
    ("commands.md", "canele bench", MEASURES),
    ("commands.md", "canele tune", MEASURES),
    ("commands.md", "canele demo", PROGRAMS),
    ("containers.md", "--hosts", HOSTS),
    ("debugging.md", "canele why", RUNNING),
    ("firewalls.md", "--hosts", HOSTS),
    ("install.md", "canele doctor", STATUS),
    ("launchers.md", "mpirun -n 64", ELSEWHERE),
    ("mpi-binaries.md", "lmp", ELSEWHERE),
    ("mpi-binaries.md", "python3", PYTHON),
    ("mpi-conformance.md", "mpi4py", PYTHON),
    ("mpi-fortran.md", "mpifort", MODULES),
    ("mpi-fortran.md", "canele fortran", MODULES),
    ("mpi-programs.md", "-profile=", PROFILING),
    ("mpi-programs.md", "MPICC_PROFILE", PROFILING),
    ("mpi-programs.md", "gdb", DEBUGGER),
    ("mpi-programs.md", "canele why", RUNNING),
    ("mpi-programs.md", "canele doctor", STATUS),
    ("mpi-tools.md", "gdb", DEBUGGER),
    ("mpi4py.md", "python", PYTHON),
    ("network.md", "canele bench", HOSTS),
    ("papers.md", "canele paper", MEASURES),
    ("profile.md", "canele tune", MEASURES),
    ("python.md", "python", PYTHON),
    ("python-pools.md", "python", PYTHON),
    ("robustness.md", "sleep_stress", MANY),
    ("scale.md", "canele sim", MANY),
    ("scale.md", "connect_all", MANY),
    ("tuning.md", "canele doctor", STATUS),
    ("tuning.md", "canele top", RUNNING),
    ("tuning.md", "--job", RUNNING),
    ("tuning.md", "canele bench", MEASURES),
];

/// The most commands that are run, so that a page cannot make the test long unnoticed.
const MOST_RUN: usize = 50;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Makes a folder with the files that commands of documents name: programs that do nothing, and sources.
fn scratch(here: &Installation) -> PathBuf {
    let folder = here.path("scratch");
    fs::create_dir_all(folder.join("target/release/examples")).unwrap();
    let programs = [
        "program",
        "solver",
        "master",
        "worker",
        "hello",
        "survive",
        "built_for_mpich",
        "built_for_open_mpi",
        "target/release/examples/hello",
    ];
    for name in programs {
        fs::write(folder.join(name), "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(folder.join("hostfile"), "h0:4\n").unwrap();
    for name in ["program.c", "survive.c"] {
        here.source(&format!("scratch/{name}"));
    }
    symlink(here.path("bin/canele"), folder.join("target/release/canele")).unwrap();
    folder
}

/// Runs words in the folder, with the installed commands first in the search path. Killed when it takes far
/// too long.
fn run(here: &Installation, folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60"]).args(words).current_dir(folder);
    let path = format!("{}:{}", here.path("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env_remove("LD_LIBRARY_PATH").stdin(std::process::Stdio::null());
    command.output().unwrap()
}

/// Returns the command of `canele` that a path or a name means.
fn own_name(command: &DocumentCommand) -> Option<&str> {
    let name = command.words[0].strip_prefix("target/release/").unwrap_or(&command.words[0]);
    let own = ["canele", "mpiexec", "mpirun", "mpicc", "mpicxx", "mpifort", "mpichversion"];
    own.contains(&name).then_some(name)
}

/// Returns the words with values in place of the parts that documents leave to the reader.
fn filled_in(command: &DocumentCommand) -> Vec<String> {
    let value = |word: &String| match word.as_str() {
        "…" => vec!["./program".to_owned()],
        "PID" => vec!["1".to_owned()],
        "/etc/mpi/hostfile" | "hosts.$JOB_ID" => vec!["hostfile".to_owned()],
        "${H[@]}" => vec!["--hosts".to_owned(), "h0:1,h1:1".to_owned()],
        _ => vec![word.clone()],
    };
    command.words[1..].iter().flat_map(value).collect()
}

#[test]
fn lines_are_read_as_a_shell_reads_them() {
    check_reading();
}

#[test]
fn every_command_line_is_accepted() {
    let here = Installation::complete("accepted");
    let folder = scratch(&here);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for command in commands(&root()) {
        let Some(name @ ("canele" | "mpiexec" | "mpirun")) = own_name(&command) else { continue };
        let words = filled_in(&command);
        let words: Vec<&str> =
            ["canele", "parse", name].into_iter().chain(words.iter().map(String::as_str)).collect();
        let output = run(&here, &folder, &words);
        count += 1;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.push(format!("{}: {}: {error}", command.page, command.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 80, "{count} command lines were found");
    let refused = run(&here, &folder, &["canele", "parse", "canele", "run", "--no-such-option", "./program"]);
    assert_eq!(refused.status.code(), Some(2), "a wrong option is refused");
    let refused = run(&here, &folder, &["canele", "parse", "mpiexec", "--no-such-option", "./program"]);
    assert_eq!(refused.status.code(), Some(2), "a wrong option is refused");
}

/// Returns true if the text has the word, and not only as the beginning of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    text.split(word).skip(1).any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
}

/// Returns the text of a script and of the modules that it may use, which know its options.
fn text_of_script(script: &str) -> std::io::Result<String> {
    let mut text = fs::read_to_string(root().join(script))?;
    if script.starts_with("bench/") {
        for entry in fs::read_dir(root().join("bench/peerbench"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "py") {
                text.push_str(&fs::read_to_string(path)?);
            }
        }
    }
    Ok(text)
}

#[test]
fn scripts_are_there_and_know_the_options() {
    let mut count = 0;
    for command in commands(&root()) {
        let script = &command.words[0];
        if !["scripts/", "bench/"].iter().any(|folder| script.starts_with(folder)) {
            continue;
        }
        count += 1;
        let at = format!("{}: {}", command.page, command.text);
        let text = text_of_script(script).unwrap_or_else(|error| panic!("{at}: {error}"));
        for option in command.words[1..].iter().filter(|word| word.starts_with('-')) {
            let option = option.split('=').next().unwrap_or(option);
            assert!(has_word(&text, option), "{at}: {script} knows no {option}");
        }
        // The first word may be a command of the script.
        let first = command.words.get(1).filter(|word| word.chars().all(|c| c.is_ascii_lowercase()));
        assert!(first.is_none_or(|word| has_word(&text, word)), "{at}: {script} knows no {first:?}");
    }
    assert!(count > 20, "{count} scripts were found");
}

#[test]
fn commands_that_end_soon_succeed() {
    let here = Installation::complete("documented");
    let folder = scratch(&here);
    if !is_there("bash") {
        return;
    }
    let (mut wrong, mut unused) = (Vec::new(), BTreeSet::from(NOT_RUN.map(|(page, part, _)| (page, part))));
    let mut ran = BTreeSet::new();
    for command in commands(&root()).iter().filter(|command| own_name(command).is_some()) {
        let excepted =
            NOT_RUN.iter().find(|(page, part, _)| command.page == *page && command.text.contains(part));
        if let Some((page, part, _)) = excepted {
            unused.remove(&(*page, *part));
            continue;
        }
        let text = command.text.replace('…', "./program");
        if !ran.insert(text.clone()) {
            continue;
        }
        let output = run(&here, &folder, &["bash", "--norc", "-c", &text]);
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.push(format!("{}: {text}: {}: {error}", command.page, output.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unused.is_empty(), "no command of the page is like these rows of NOT_RUN: {unused:?}");
    assert!((20..=MOST_RUN).contains(&ran.len()), "{} commands are run: {ran:?}", ran.len());
}
