//! MPI programs under real launchers of other systems, built for the standard's ABI and for MPICH's. These
//! tests need the launchers, which `scripts/launchers` has; it also runs the tests.

#[path = "../../mpi-abi/tests/support/mod.rs"]
mod programs;
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use programs::{C, Interface, compiled, conformance, conforming, folder};
use support::launchers::{
    StartCommand, end, launcher, start_by, wait_for_empty_queue, wait_for_joined, ways,
};
use support::pmi::path;
use support::{Ended, Run, kill, start_command};

/// Returns a program's source by its path in the folder of programs.
fn source(name: &str) -> [PathBuf; 1] {
    [folder("programs").join(format!("{name}.c"))]
}

fn file_name(name: &str) -> &str {
    name.rsplit('/').next().expect("a name has an end")
}

/// Builds a program for the standard's ABI.
fn standard(name: &str) -> PathBuf {
    compiled(file_name(name), &source(name))
}

/// Returns the folder of the library with MPICH's ABI, and the way to build programs for it: with the header
/// of MPICH's wheel.
fn mpich() -> Option<&'static (PathBuf, Interface)> {
    static LIBRARY: OnceLock<Option<(PathBuf, Interface)>> = OnceLock::new();
    let install = || {
        let mpiexec = launcher("MPIEXEC_HYDRA")?;
        let interface =
            Interface::mpich().with_headers(Path::new(&mpiexec).parent()?.parent()?.join("include"));
        Some((interface.install(), interface))
    };
    LIBRARY.get_or_init(install).as_ref()
}

/// Builds a program for each of the two ABIs.
fn of_both(name: &str) -> Vec<PathBuf> {
    let for_mpich =
        mpich().map(|(folder, interface)| interface.compile(folder, C, file_name(name), &source(name)));
    std::iter::once(standard(name)).chain(for_mpich).collect()
}

/// Starts a program, which finds its library in its own folder.
fn start(way: &StartCommand, program: &Path, words: &[&str]) -> Run {
    let beside = program.parent().expect("it lies in a folder");
    let path = format!("LD_LIBRARY_PATH={}", beside.display());
    let command = ["env", path.as_str(), program.to_str().expect("a path of text")];
    start_by(&way.1, &[&command, words].concat(), &[])
}

fn passes(what: &str, ended: &Ended, ranks: usize) {
    let passed = ended.out.lines().filter(|line| *line == "passed").count();
    // srun prints this while the nodes still end the previous step.
    let is_queueing = |line: &str| line.starts_with("srun: job ") && line.contains(" resources");
    let is_silent = ended.error.lines().all(is_queueing);
    assert!(ended.code() == Some(0) && passed == ranks && is_silent, "{what}: {ended:?}");
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn numbers_hosts_messages_and_collectives_are_those_of_one_job() {
    for program in of_both("launched/world") {
        for ranks in [1, 2, 4] {
            for way in ways(ranks) {
                let ended = end(start(&way, &program, &[&ranks.to_string(), "1"]));
                passes(&format!("{} {}", way.0, program.display()), &ended, ranks as usize);
            }
        }
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn the_conformance_program_prints_the_same() {
    let program = compiled("conformance", &conformance());
    for way in ways(4) {
        let ended = end(start(&way, &program, &[]));
        assert_eq!(ended.code(), Some(0), "{}: {}", way.0, ended.error);
        let expected = conforming(4);
        let differs = ended.out.lines().zip(expected.lines()).find(|(said, expected)| said != expected);
        assert!(ended.out == expected, "{}: {differs:?}", way.0);
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn a_rank_that_aborts_ends_all_and_says_why() {
    for program in of_both("launched/world") {
        for way in ways(3) {
            let ended = end(start(&way, &program, &["3", "1", "abort"]));
            let said =
                ended.error.contains("MPI_Abort was called by rank 1 of MPI_COMM_WORLD with error code 7");
            assert!(ended.code() != Some(0) && said, "{} {}: {ended:?}", way.0, program.display());
        }
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn ranks_that_die_or_leave_end_all() {
    let program = standard("faults/ends");
    for way in ways(3) {
        for how in ["receive", "collective"] {
            let ended = end(start(&way, &program, &[how]));
            let said =
                ended.error.contains("rank 1") && ended.error.contains("was killed by signal 9 (Killed)");
            assert!(ended.code() != Some(0) && said, "{} {how}: {ended:?}", way.0);
        }
        let ended = end(start(&way, &program, &["exit"]));
        let said = ended.error.contains("rank 1") && ended.error.contains("without finalising");
        assert!(ended.code() != Some(0) && said, "{}: {ended:?}", way.0);
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn a_rank_that_is_killed_from_outside_ends_all() {
    for program in of_both("launched/world") {
        for way in ways(4) {
            let run = start(&way, &program, &["4", "1", "wait"]);
            let ranks = wait_for_joined(&run, 4, "world");
            kill("KILL", ranks[2]);
            let ended = end(run);
            assert_ne!(ended.code(), Some(0), "{}: {ended:?}", way.0);
        }
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn programs_that_were_started_alone_or_together_start_others() {
    let program = standard("spawn");
    for ranks in [1, 2] {
        for way in ways(ranks) {
            passes(way.0, &end(start(&way, &program, &[])), ranks as usize);
        }
    }
}

/// Returns the output of a batch script of so many tasks that runs this program.
fn batch(program: &Path, words: &str) -> (Ended, String) {
    let out = std::env::temp_dir().join(format!("canele-batch-{}", std::process::id()));
    let library = program.parent().expect("it lies in a folder").display();
    let script = format!("LD_LIBRARY_PATH={library} {} {words}", program.display());
    let mut command = Command::new("sbatch");
    command.args(["-W", "-N2", "-n4", "-o"]).arg(&out).args(["--wrap", &script]).env("PATH", path());
    let ended = end(start_command(&mut command, b""));
    let printed = std::fs::read_to_string(&out).unwrap_or_default();
    let _ = std::fs::remove_file(&out);
    (ended, printed)
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn a_program_of_a_batch_script_is_alone_and_may_start_others() {
    if launcher("SLURM_CONF").is_none() {
        return;
    }
    let alone = of_both("launched/world").into_iter().map(|program| (program, "1 1"));
    for (program, words) in alone.chain([(standard("spawn"), "")]) {
        let (ended, printed) = batch(&program, words);
        assert!(
            ended.code() == Some(0) && printed == "passed\n",
            "{}: {ended:?} {printed}",
            program.display()
        );
    }
    let way = ("srun none", ["srun", "-N1", "-n1", "--mpi=none"].map(str::to_owned).to_vec());
    passes(way.0, &end(start(&way, &standard("spawn"), &[])), 1);
    wait_for_empty_queue();
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn tasks_that_cannot_find_each_other_are_told_how_to_be_started() {
    if launcher("SLURM_CONF").is_none() {
        return;
    }
    let way = ("srun none", ["srun", "-N2", "-n4", "--mpi=none"].map(str::to_owned).to_vec());
    let ended = end(start(&way, &standard("launched/world"), &["4", "1"]));
    assert!(ended.code() != Some(0) && ended.error.contains("srun --mpi=pmi2"), "{ended:?}");
    wait_for_empty_queue();
}
