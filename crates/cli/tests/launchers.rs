//! Programs under real launchers of other systems. These tests need `scripts/launchers`, which has the
//! launchers and runs the tests.

mod support;

use std::process::Command;
use std::time::Duration;

use support::launchers::{end, launcher, start_by, wait_for_empty_queue, wait_for_joined, ways};
use support::ranks::{program, setting};
use support::{Run, kill, start_command};

fn start(way: &[String], words: &[&str], variables: &[(&str, &str)]) -> Run {
    let program = program();
    start_by(way, &[&[program.as_str()], words].concat(), variables)
}

fn parent(pid: u32) -> u32 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = line.rsplit_once(") ").unwrap();
    fields.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn ranks_are_one_job() {
    for ranks in [2, 4] {
        for (name, way) in ways(ranks) {
            let ended = end(start(&way, &["exchange-alone", "1"], &[]));
            assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{name}: {ended:?}");
            let lines = ended.lines().into_iter().filter(|line| line.ends_with("lost []"));
            assert_eq!(lines.count(), ranks as usize, "{name}: {ended:?}");
        }
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn a_rank_that_is_killed_ends_the_job_and_the_launcher_tells() {
    for (name, way) in ways(4) {
        let run = start(&way, &["exchange-alone", "1000"], &[]);
        let ranks = wait_for_joined(&run, 4, "fault");
        kill("KILL", ranks[2]);
        let ended = end(run);
        assert_ne!(ended.code(), Some(0), "{name}: {ended:?}");
        assert!(ended.error.contains("was killed by signal 9 (Killed)"), "{name}: {ended:?}");
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn a_launcher_that_is_killed_leaves_nothing() {
    for (name, way) in ways(4) {
        // A step of Slurm does not depend on its `srun`.
        if name.starts_with("srun") {
            continue;
        }
        let run = start(&way, &["exchange-alone", "1000"], &[]);
        let ranks = wait_for_joined(&run, 4, "fault");
        // Open MPI's wheel starts its command by a script, of which the launcher is independent.
        kill("KILL", if name == "hydra" { run.pid() } else { parent(ranks[0]) });
        assert_ne!(end(run).code(), Some(0), "{name}");
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn kills_of_any_process_at_any_moment_leave_nothing() {
    let mut state = setting("FAULT_SEED", 1);
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    for n in 0..setting("LAUNCHER_KILLS", 4) {
        for (name, way) in ways(4) {
            let run = start(&way, &["exchange-alone", "1000"], &[]);
            run.wait_for(4, "fault");
            run.wait_for(1, "canele-launcher");
            std::thread::sleep(Duration::from_millis(below(200)));
            let mut victims = run.processes();
            victims.retain(|pid| {
                let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                ["fault", "canele-agent", "canele-launcher", "hydra_pmi_proxy"].contains(&comm.trim_end())
            });
            let victim = victims[below(victims.len() as u64) as usize];
            kill("KILL", victim);
            let ended = end(run);
            assert_ne!(ended.code(), Some(0), "{name}, kill {n} of {victim}: {ended:?}");
        }
    }
}

#[test]
#[ignore = "scripts/launchers runs it"]
fn a_program_of_a_batch_script_is_alone_and_steps_without_pmi_are_refused() {
    if launcher("SLURM_CONF").is_none() {
        return;
    }
    let folder = std::env::temp_dir();
    let out = folder.join(format!("canele-batch-{}", std::process::id()));
    let script = format!("{} exchange-alone 1", program());
    let mut command = Command::new("sbatch");
    command.args(["-W", "-N2", "-n4", "-o"]).arg(&out).args(["--wrap", &script]);
    let ended = end(start_command(&mut command, b""));
    let printed = std::fs::read_to_string(&out).unwrap_or_default();
    let _ = std::fs::remove_file(&out);
    assert!(ended.code() == Some(0) && printed.contains("lost []"), "{ended:?} {printed}");
    let way = ["srun", "-N2", "-n4", "--mpi=none"].map(str::to_owned);
    let ended = end(start(&way, &["exchange-alone", "1"], &[]));
    assert!(ended.code() != Some(0) && ended.error.contains("srun --mpi=pmi2"), "{ended:?}");
    wait_for_empty_queue();
}
