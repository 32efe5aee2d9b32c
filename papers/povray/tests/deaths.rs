//! Workers, POV-Ray processes and the master, killed in the middle of a run: the slices that are rendered
//! again, and the processes that are left.

mod support;

use support::{Folder, SMALL, end, kill, povray, text};

/// The options with which survivors go on.
const CONTINUE: [&str; 2] = ["--on-failure", "continue"];
const KILLED: Option<i32> = Some(137);
/// A script that blocks in place of rendering.
const BLOCK: &str = "exec sleep 1000";

fn expected(name: &'static str) -> Vec<u8> {
    let folder = Folder::new(name);
    let ended = folder.run(1, &SMALL);
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    folder.picture()
}

#[test]
fn a_dead_workers_slices_are_rendered_by_another_one() {
    if povray().is_none() {
        return;
    }
    let folder = Folder::new("worker");
    folder.replace_povray(&format!("[ \"$CANELE_RANK\" = 1 ] && {BLOCK}\npovray \"$@\""));
    let job = folder.command(3, &CONTINUE, &SMALL).spawn().unwrap();
    folder.wait_for(1, "sleep", 2);
    kill(folder.pid(1));
    let ended = job.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), KILLED, "{}", text(&ended.stderr));
    let summary = text(&ended.stdout);
    assert!(summary.contains("5 of 10 rows, 2 lost and rendered again, handed out to 1 worker"), "{summary}");
    assert!(folder.picture() == expected("worker-alone"), "another picture");
    folder.wait_for_the_end_of_all();
}

/// The worker dies before it has joined the job, or while it does.
#[test]
fn a_worker_that_dies_at_once_is_not_waited_for() {
    if povray().is_none() {
        return;
    }
    for seconds in ["0", "0.03"] {
        let folder = Folder::new("early");
        let mut command = folder.command(1, &CONTINUE, &SMALL);
        command.args([":", "-n", "1", "sh", "-c", &format!("sleep {seconds}; kill -9 $$")]);
        let (status, said) = end(command.spawn().unwrap());
        assert_eq!(status, KILLED, "{said}");
        assert!(folder.picture() == expected("early-alone"), "another picture");
    }
}

#[test]
fn the_master_renders_what_the_last_worker_leaves() {
    if povray().is_none() {
        return;
    }
    let folder = Folder::new("last");
    folder.replace_povray(&format!("[ \"$CANELE_RANK\" != 0 ] && {BLOCK}\npovray \"$@\""));
    let job = folder.command(2, &CONTINUE, &SMALL).spawn().unwrap();
    folder.wait_for(1, "sleep", 2);
    kill(folder.pid(1));
    let (status, said) = end(job);
    assert_eq!(status, KILLED, "{said}");
    assert!(folder.picture() == expected("last-alone"), "another picture");
    folder.wait_for_the_end_of_all();
}

#[test]
fn a_slice_whose_process_is_killed_is_rendered_again() {
    if povray().is_none() {
        return;
    }
    let expected = expected("process-alone");
    for ranks in [1, 2, 3] {
        let folder = Folder::new("process");
        // The first POV-Ray process blocks.
        folder.replace_povray(&format!("mkdir \"$FOLDER/first\" 2>/dev/null && {BLOCK}\npovray \"$@\""));
        let job = folder.command(ranks, &[], &SMALL).spawn().unwrap();
        support::wait_until("the process that blocks", || find_sleep(&folder).is_some());
        kill(find_sleep(&folder).unwrap());
        let (status, said) = end(job);
        assert_eq!(status, Some(0), "{said}");
        assert!(folder.picture() == expected, "{ranks} ranks render another picture");
        folder.wait_for_the_end_of_all();
    }
}

fn find_sleep(folder: &Folder) -> Option<u32> {
    folder
        .processes(None)
        .into_iter()
        .find(|(_, arguments)| arguments.starts_with("sleep"))
        .map(|(pid, _)| pid)
}

#[test]
fn a_slice_that_ends_whatever_renders_it_ends_the_job() {
    for ranks in [1, 3] {
        let folder = Folder::new("always");
        folder.replace_povray("kill -9 $$");
        let (status, said) = end(folder.command(ranks, &[], &SMALL).spawn().unwrap());
        assert_eq!(status, Some(1), "{said}");
        assert!(
            said.contains("3 attempts to render rows ") && said.contains(" were lost, the last one on rank "),
            "{said}"
        );
        assert!(said.contains("signal 9 killed POV-Ray"), "{said}");
        assert!(folder.picture().is_empty());
        folder.wait_for_the_end_of_all();
    }
}

#[test]
fn an_error_ends_processes_that_still_render() {
    let folder = Folder::new("error");
    folder.replace_povray(&format!(
        "[ \"$CANELE_RANK\" = 1 ] && {BLOCK}\nsleep 0.5; echo nonsense >&2; exit 3"
    ));
    let job = folder.command(3, &[], &SMALL).spawn().unwrap();
    let (status, said) = end(job);
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("rank 2: POV-Ray failed on rows ") && said.contains("exit status 3: nonsense"),
        "{said}"
    );
    folder.wait_for_the_end_of_all();
}

#[test]
fn without_its_master_a_worker_ends_and_leaves_nothing() {
    let folder = Folder::new("master");
    folder.replace_povray(BLOCK);
    let job = folder.command(2, &CONTINUE, &SMALL).spawn().unwrap();
    folder.wait_for(1, "sleep", 2);
    kill(folder.pid(0));
    let (status, said) = end(job);
    assert_eq!(status, KILLED, "{said}");
    assert!(said.contains("povray-farm: rank 1: rank 0, the master, is gone"), "{said}");
    folder.wait_for_the_end_of_all();
}

/// This runs without a launcher, which would kill the remaining processes.
#[test]
fn processes_end_with_the_program_that_started_them() {
    let folder = Folder::new("killed");
    folder.replace_povray(BLOCK);
    let program = folder.command(0, &[], &SMALL).spawn().unwrap();
    support::wait_until("both processes", || {
        folder.processes(None).iter().filter(|(_, arguments)| arguments.starts_with("sleep")).count() == 2
    });
    kill(program.id());
    assert_eq!(end(program).0, None);
    folder.wait_for_the_end_of_all();
}
