//! What an agent may say, said through a pipe as its shell would.

use std::io::Write;

use std::net::SocketAddr;

use canele_control::{Host, JobInfo, ToLauncher};
use canele_sim::world::Random;
use rustix::pipe::{PipeFlags, pipe_with};

use super::super::frames::preamble;
use super::*;
use crate::events::{Source, Stream};
use crate::host_ranks::Counts;
use crate::job::Job;
use crate::plan::{Plan, Program};
use crate::remote::{chunks, rails};

/// The agent of the second of two hosts with two ranks each, and where its shell writes.
fn agent(events: &Events) -> (Agent, std::fs::File) {
    let plan = Plan {
        programs: vec![Program { ranks: 4, command: vec!["true".into()] }],
        here: RankSet::from(2..4),
        environment: Vec::new(),
        directory: None,
        binding: Default::default(),
        report_bindings: false,
        input: Default::default(),
        spawned: None,
    };
    let hosts = ["h0", "h1"].map(|name| Host { name: name.into(), ranks: 2 });
    let info = JobInfo::new(hosts.into());
    let task = Task { host: 1, plan, info, bind: Default::default(), silence_ms: 8000 };
    let mut agent = Agent::new(task, "rsh h1 canele agent".into(), Instant::now());
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    agent.up = Some(Inflow::new(reader, Source::Incoming(1), events).unwrap());
    (agent, writer.into())
}

fn frame(message: &FromAgent) -> Vec<u8> {
    let mut bytes = Vec::new();
    chunks::push(&postcard::to_stdvec(message).unwrap(), &mut bytes);
    bytes
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
    let counted = |count| Report::Counted { question: 1, counts: vec![Counts::default(); count] };
    assert!(said(counted(2)).is_ok());
    for report in [counted(1), counted(3), counted(0)] {
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
        chunks::BEAT.to_vec(),
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

/// One of each kind that an agent says.
fn corpus() -> Vec<FromAgent> {
    let address: SocketAddr = "10.0.0.1:7".parse().unwrap();
    let said = [
        ToLauncher::Hello { version: VERSION },
        ToLauncher::Inbox { settings: vec![("CANELE_RING_CELLS".into(), "64".into())] },
        ToLauncher::Addresses { rails: vec![vec![address]; 2] },
        ToLauncher::Connect { peers: vec![1] },
        ToLauncher::Region { id: 1 },
        ToLauncher::FindRegion { owner: 1, id: 1, is_kept: true },
        ToLauncher::DropRegion { id: 1 },
        ToLauncher::Publish { name: "box".into(), value: vec![1; 20] },
        ToLauncher::Find { ticket: 3, name: "box".into() },
        ToLauncher::Forget { ticket: 3 },
        ToLauncher::Withdraw { name: "box".into() },
        ToLauncher::CutOff { peer: 1, what: "x".into() },
        ToLauncher::Unreachable { peer: 1, what: "x".into() },
        ToLauncher::Abort { ranks: vec![(2, 3)], status: 7 },
        ToLauncher::GivenUp { operations: 2, what: "2 sends to rank 1 with tag 9".into() },
        ToLauncher::Finished,
    ];
    let said = said.into_iter().map(|message| Report::Said { rank: 2, message });
    let counters = vec![("sleeps".into(), 7)];
    let reports = [
        Report::Started { rank: 3, pid: 9 },
        Report::Printed { rank: 3, stream: Stream::Error, bytes: b"line\n".to_vec() },
        Report::Fed { bytes: 9 },
        Report::Counted {
            question: 1,
            counts: vec![Counts { current: true, counters, ..Counts::default() }; 2],
        },
        Report::Broke { rank: 3, how: "x".into() },
        Report::Exited { rank: 2, exit: Exit::Signal(9) },
        Report::NotStarted { rank: 3, status: 1, name: "x".into(), why: "y".into() },
        Report::SupervisorDied { pid: 8 },
        Report::Failed { status: 1, text: "x".into() },
        Report::Full,
        Report::Empty { left: vec![7, 8] },
    ];
    let nets = ["10.77.1.2/24", "fd77::1/64"].map(|net| net.parse().unwrap());
    let found = vec![Interface { name: "eth0".into(), nets: nets.into() }];
    let first = [FromAgent::Interfaces(found)];
    first.into_iter().chain(said.chain(reports).map(FromAgent::Report)).collect()
}

/// Says these frames, in pieces, and does with what is heard what the launcher does. How many reports were taken.
fn hear(bytes: &[u8], random: &mut Random) -> usize {
    let events = Events::new().unwrap();
    let (mut agent, mut shell) = agent(&events);
    let mut job = Job::new(agent.task.info.clone());
    let (mut heard, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let (now, later) = rest.split_at((1 + random.below(500)).min(rest.len()));
        shell.write_all(now).unwrap();
        rest = later;
        if agent.read(&mut heard, &events).is_err() {
            break;
        }
        if let Some(found) = agent.interfaces() {
            let rails = rails::agree(&[found.clone(), found.clone()], "", false).unwrap();
            let addresses = |host: Vec<rails::Part>| host.into_iter().map(|part| part.addresses).collect();
            agent.begin(&rails.into_iter().map(addresses).collect::<Vec<_>>());
        }
    }
    let taken = heard.len();
    for report in heard {
        match report {
            Report::Said { rank, message } => drop(job.handle(rank, message)),
            Report::Exited { rank, exit } => drop(job.handle_exit(rank, exit)),
            _ => {}
        }
        job.take_messages();
        while job.take_cut().is_some() {}
    }
    taken
}

fn change(frame: &mut Vec<u8>, random: &mut Random) {
    let place = random.below(frame.len());
    // Behind its length, which is right then, what it says is not.
    let behind = 4 + random.below(frame.len().saturating_sub(4));
    let (noise, odd) = (random.next_u64() as u8, random.pick(&[0, 1, 2, 3, 0x7f, 0x80, 0xff]));
    match random.below(5) {
        0 => frame.truncate(place),
        1 => frame.extend((0..random.below(20)).map(|_| 0xff)),
        2 => frame.iter_mut().skip(place).take(1).for_each(|byte| *byte = noise),
        3 => frame.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << (noise % 8)),
        _ => frame.iter_mut().skip(behind).take(1).for_each(|byte| *byte = odd),
    }
}

#[test]
fn what_agents_say_may_be_changed_in_any_way_and_does_no_harm() {
    let start = preamble(VERSION, env!("CARGO_PKG_VERSION"));
    let frames: Vec<Vec<u8>> = corpus().iter().map(frame).collect();
    let whole = [&start[..], &frames.concat()].concat();
    assert_eq!(hear(&whole, &mut Random(0)), frames.len() - 1, "all but the interfaces are reports");
    let mut taken = 0;
    for seed in 0..5000 {
        let mut random = Random(seed);
        let mut chosen: Vec<_> =
            (0..1 + random.below(12)).map(|_| frames[random.below(frames.len())].clone()).collect();
        chosen.insert(0, frames[0].clone());
        for _ in 0..1 + random.below(3) {
            let at = random.below(chosen.len());
            change(&mut chosen[at], &mut random);
        }
        taken += hear(&[&start[..], &chosen.concat()].concat(), &mut random);
    }
    assert!(taken > 5000, "{taken} reports: the corpus is not of much use");
}
