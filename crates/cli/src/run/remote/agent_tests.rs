//! What an agent may say, said through a pipe as its shell would.

use std::io::Write;

use canele_engine::control::{Host, JobInfo, OnFailure, ToLauncher};
use rustix::pipe::{PipeFlags, pipe_with};

use super::super::frames::preamble;
use super::*;
use crate::run::events::{Source, Stream};
use crate::run::plan::{Plan, Program};
use crate::run::site::Counts;

/// The agent of the second of two hosts with two ranks each, and where its shell writes.
fn agent(events: &Events) -> (Agent, std::fs::File) {
    let plan = Plan {
        programs: vec![Program { ranks: 4, command: vec!["true".into()] }],
        first: 2,
        here: 2,
        environment: Vec::new(),
        directory: None,
        processors: Vec::new(),
    };
    let hosts = ["h0", "h1"].map(|name| Host { name: name.into(), ranks: 2 });
    let on_failure = OnFailure::Stop;
    let info =
        JobInfo { launcher: 1, size: 4, hosts: hosts.into(), processors: 1, on_failure, network: None };
    let task = Task { plan, info, bind: false, silence_ms: 8000 };
    let mut agent = Agent::new(task, "rsh h1 canele agent".into(), Instant::now());
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    agent.up = Some(Inflow::new(reader, Source::Incoming(1), events).unwrap());
    (agent, writer.into())
}

fn frame(message: &FromAgent) -> Vec<u8> {
    let bytes = postcard::to_stdvec(message).unwrap();
    [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
}

/// What is heard of an agent that has its task and says `report`.
fn said(report: Report) -> Result<Vec<Report>, String> {
    let events = Events::new().unwrap();
    let (mut agent, mut shell) = agent(&events);
    let mut heard = Vec::new();
    shell.write_all(&preamble(VERSION, env!("CARGO_PKG_VERSION"))).unwrap();
    agent.read(&mut heard, &events)?;
    assert_eq!(agent.state, State::Ready);
    agent.begin(&[]);
    shell.write_all(&frame(&FromAgent::Report(report))).unwrap();
    agent.read(&mut heard, &events)?;
    Ok(heard)
}

#[test]
fn an_agent_speaks_for_its_own_ranks_only() {
    let about = |rank| {
        [
            Report::Started { rank, pid: 1 },
            Report::Said { rank, message: ToLauncher::Finished },
            Report::Broke { rank, how: "x".into() },
            Report::Printed { rank, stream: Stream::Out, bytes: vec![1] },
            Report::Exited { rank, exit: Exit::Status(0) },
            Report::NotStarted { rank, status: 1, name: "x".into(), why: "y".into() },
        ]
    };
    for report in [2, 3].into_iter().flat_map(about) {
        assert_eq!(said(report.clone()), Ok(vec![report]));
    }
    for report in [0, 1, 4, u32::MAX].into_iter().flat_map(about) {
        assert!(said(report.clone()).is_err(), "{report:?}");
    }
    let counted =
        |first, count| Report::Counted { question: 1, first, counts: vec![Counts::default(); count] };
    assert!(said(counted(2, 2)).is_ok());
    for report in [counted(1, 2), counted(2, 3), counted(0, 0)] {
        assert!(said(report).is_err());
    }
    for report in [Report::Lost { why: "x".into() }, Report::Remarked { bytes: vec![1] }] {
        assert!(said(report).is_err(), "only the launcher says that of a host");
    }
}

#[test]
fn its_last_word_is_the_last() {
    let events = Events::new().unwrap();
    let (mut agent, mut shell) = agent(&events);
    let empty = Report::Empty { left: vec![7] };
    let bytes = [
        preamble(VERSION, env!("CARGO_PKG_VERSION")),
        frame(&FromAgent::Beat),
        frame(&FromAgent::Report(empty.clone())),
        frame(&FromAgent::Report(Report::Full)),
    ];
    shell.write_all(&bytes.concat()).unwrap();
    let mut heard = Vec::new();
    agent.read(&mut heard, &events).unwrap();
    assert_eq!((agent.state, heard), (State::Over, vec![empty]));
}

#[test]
fn another_version_is_refused_naming_both() {
    for (version, release) in [(VERSION + 1, env!("CARGO_PKG_VERSION")), (VERSION, "9.9.9")] {
        let events = Events::new().unwrap();
        let (mut agent, mut shell) = agent(&events);
        shell.write_all(&preamble(version, release)).unwrap();
        let text = agent.read(&mut Vec::new(), &events).unwrap_err();
        for word in [&format!("version {version},"), release, &format!("version {VERSION}:")] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(agent.state, State::Starting);
    }
}
