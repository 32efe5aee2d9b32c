//! Errors for mistyped command lines: they name the word and the correction.

mod support;

use support::canele;

#[test]
fn wrong_numbers_are_told_by_option_and_word() {
    for (line, said) in [
        ("run -n two true", "--ranks <N>: \"two\" is no whole number"),
        ("run -n 1 true : -n two true", "after `:` — --ranks <M>: \"two\" is no whole number"),
        ("run -n -3 true", "-3: no option has this name, and no option here takes a number below 0"),
        ("run --ranks=-3 true", "-3 is not in 0..=4294967295"),
        ("bench latency --rounds x", "--rounds <N>: \"x\" is no whole number"),
        ("bench latency -n 3", "measures a pair of ranks: leave out --ranks, or say 2"),
        ("run --map-by ppr:1:package -n 4096 true", "4096 ranks need 4096 units of the kind package"),
    ] {
        let ended = canele(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((ended.code(), &*ended.out), (Some(2), ""), "{line}: {}", ended.error);
        assert!(ended.error.contains(said), "{line}: {}", ended.error);
    }
}

#[test]
fn a_program_of_this_directory_is_named_as_it_has_to_be_written() {
    let folder = std::env::temp_dir().join(format!("canele-wrong-words-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("solver-of-mine"), "").unwrap();
    std::fs::write(folder.join("ring-of-mine.py"), "").unwrap();
    for (name, status, said) in [
        ("solver-of-mine", 127, "not found on the PATH; the file in this directory is ./solver-of-mine"),
        (
            "ring-of-mine.py",
            127,
            "not found on the PATH; the one in this directory runs as `python3 ring-of-mine.py`",
        ),
        ("./ring-of-mine.py", 126, "not executable; a script runs as `python3 ./ring-of-mine.py`"),
    ] {
        let ended = canele(&["run", "--wd", folder.to_str().unwrap(), "-n", "2", name]);
        assert_eq!(ended.code(), Some(status), "{name}: {}", ended.error);
        assert!(ended.error.contains(said), "{name}: {}", ended.error);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_trace_without_events_is_not_written() {
    let file = std::env::temp_dir().join(format!("canele-no-trace-{}.json", std::process::id()));
    let path = file.to_str().unwrap();
    for program in ["true", "no-such-program-here"] {
        let ended = canele(&["run", "-n", "1", "--trace", path, program]);
        let said = format!("canele: no trace is written to {path}: no rank has used the library\n");
        assert!(ended.error.ends_with(&said), "{}", ended.error);
        assert!(!file.exists());
    }
    let ended = canele(&["run", "-n", "1", "--trace", "/dev/null", "true"]);
    assert!(ended.error.contains("trace of 0 events written to /dev/null"), "{}", ended.error);
}

#[test]
fn this_host_needs_no_remote_shell() {
    let ended = canele(&["run", "--hosts", "localhost:2", "sh", "-c", "echo $CANELE_RANK"]);
    let mut lines = ended.lines();
    lines.sort_unstable();
    assert_eq!((ended.code(), &*ended.error, lines), (Some(0), "", vec!["0", "1"]));
    let ended = canele(&["run", "--hosts", "localhost:2", "-n", "3", "true"]);
    assert!(ended.error.contains("3 ranks do not fit: the hosts take 2 in all"), "{}", ended.error);
    // If other hosts are named too, the ranks of this host still need no remote shell.
    let ended = canele(&["run", "--hosts", "localhost:1,h9.invalid:1", "true"]);
    assert!(ended.error.contains("cannot start on host h9.invalid"), "{}", ended.error);
    let ended = canele(&["run", "--hosts", "localhost:2", "--rsh", "/no/such/shell", "true"]);
    assert!(ended.error.contains("/no/such/shell"), "{}", ended.error);
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    for words in [&["info", "--json"][..], &["info", "--tunables"], &["completion", "bash"], &["--help"]] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_canele"));
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = command.args(words).stdout(full).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains("standard output: "), "{words:?}: {error}");
    }
}
