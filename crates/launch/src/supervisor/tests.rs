//! Tests of a supervisor in a process of its own: this executable again, whose only test then is the
//! supervisor.

use super::*;

const ROLE: &str = "CANELE_TEST_SUPERVISOR";

/// Runs the supervisor, in the process that another test starts.
#[test]
fn act() {
    if std::env::var_os(ROLE).is_some() {
        supervise().unwrap();
    }
}

fn start() -> (std::process::Child, Socket) {
    let (ours, its) = Socket::pair().unwrap();
    let process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "supervisor::tests::act"])
        .env(ROLE, "1")
        .stdin(Stdio::from(OwnedFd::from(its)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (process, ours)
}

fn say(launcher: &Socket, message: &ToSupervisor) {
    while let Err(SendError::Full) = launcher.try_send(message, &[]) {
        let _ = poll(&mut [PollFd::new(launcher, PollFlags::OUT)], None);
    }
}

fn hear(launcher: &Socket) -> FromSupervisor {
    loop {
        if let Some((message, _)) = launcher.try_receive().unwrap() {
            return message;
        }
        let _ = poll(&mut [PollFd::new(launcher, PollFlags::IN)], None);
    }
}

#[test]
fn a_launcher_that_tells_much_before_it_listens_is_not_waited_for() {
    // This is many times what the queue of a socket holds, in both directions.
    const MANY: u32 = 10_000;
    let (mut process, launcher) = start();
    for number in 0..MANY {
        // Without a plan nothing can be started, and the supervisor answers so.
        say(&launcher, &ToSupervisor::Start { number });
    }
    say(&launcher, &ToSupervisor::End { grace_ms: 0 });
    for number in 0..MANY {
        say(&launcher, &ToSupervisor::StopBeats { number });
    }
    for expected in 0..MANY {
        let FromSupervisor::NotStarted { number, .. } = hear(&launcher) else {
            panic!("an answer to {expected}")
        };
        assert_eq!(number, expected);
    }
    assert!(matches!(hear(&launcher), FromSupervisor::Empty { left } if left.is_empty()));
    assert!(process.wait().unwrap().success());
}
