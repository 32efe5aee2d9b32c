//! Tests of an agent's messages, sent through a pipe as its shell would.

use std::io::{Read as _, Write};

use canele_control::{Host, JobInfo, RailAddress, ToLauncher, VERSION};
use canele_sim::world::Random;
use rustix::pipe::{PipeFlags, pipe_with};

use canele_secure::{KeyPurpose, Sealer, SecureChannel};

use super::*;
use crate::events::{Source, Stream};
use crate::host_ranks::Counts;
use crate::job::Job;
use crate::plan::{Plan, Program};
use crate::remote::{FLIGHT, chunks, rails};

/// Returns the task of the second of two hosts with two ranks each.
pub(crate) fn task() -> Task {
    let plan = Plan {
        programs: vec![Program { ranks: 4, command: vec!["true".into()] }],
        here: RankSet::from(2..4),
        environment: Vec::new(),
        directory: None,
        binding: Default::default(),
        report_bindings: false,
        input: Default::default(),
        is_held: false,
        spawned: None,
    };
    let hosts = ["h0", "h1"].map(|name| Host { name: name.into(), ranks: 2 });
    let info = JobInfo::new(hosts.into());
    Task { host: 1, plan, info, bind: Default::default(), silence_ms: 8000 }
}

/// Returns the agent of the second of two hosts with two ranks each, and the two ends of its shell: its
/// output and its input.
fn agent(events: &Events) -> (Agent, std::fs::File, std::fs::File) {
    let mut agent = Agent::new(task(), "rsh h1 canele agent".into(), Secret::none(), Instant::now());
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    agent.up = Some(Inflow::new(reader, Source::Incoming(1), events).unwrap());
    let (its_input, down) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    agent.down = Some(Outflow::new(down, Source::Outgoing(1)));
    (agent, writer.into(), its_input.into())
}

fn frame(message: &FromAgent, sealer: &mut Sealer) -> Vec<u8> {
    let mut bytes = Vec::new();
    chunks::push(&postcard::to_stdvec(message).unwrap(), sealer, &mut bytes);
    bytes
}

/// Sends an agent's greeting, and takes the answer.
fn greet(
    secret: &Secret,
    (agent, shell, its_input): (&mut Agent, &mut std::fs::File, &mut std::fs::File),
    events: &Events,
) -> Result<SecureChannel, String> {
    let (initiator, greeting) = Connection::Shell.greet(secret).unwrap();
    shell.write_all(&greeting).unwrap();
    agent.read(&mut Vec::new(), events)?;
    agent.flush(events);
    let mut answer = [0; FLIGHT];
    its_input.read_exact(&mut answer).unwrap();
    Ok(initiator.handle_answer(&answer).unwrap().0)
}

/// Returns the reports that the launcher reads if an agent with a task sends `report`.
fn said(report: Report) -> Result<Vec<Report>, String> {
    let events = Events::new().unwrap();
    let (mut agent, mut shell, mut its_input) = agent(&events);
    let mut heard = Vec::new();
    let mut channel = greet(&Secret::none(), (&mut agent, &mut shell, &mut its_input), &events)?;
    assert_eq!(agent.state, State::Ready);
    agent.begin(&[]);
    shell.write_all(&frame(&FromAgent::Report(report), &mut channel.sealer)).unwrap();
    agent.read(&mut heard, &events)?;
    Ok(heard)
}

#[test]
fn an_agent_speaks_for_its_own_ranks_only() {
    let about = |rank| {
        [
            Report::Started { rank, pid: 1, executable: Vec::new() },
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
    let (mut agent, mut shell, mut its_input) = agent(&events);
    let mut channel = greet(&Secret::none(), (&mut agent, &mut shell, &mut its_input), &events).unwrap();
    let empty = Report::Empty { left: vec![7] };
    let mut bytes = Vec::new();
    chunks::push_beat(&mut channel.sealer, &mut bytes);
    bytes.extend(frame(&FromAgent::Report(empty.clone()), &mut channel.sealer));
    bytes.extend(frame(&FromAgent::Report(Report::Full), &mut channel.sealer));
    shell.write_all(&bytes).unwrap();
    let mut heard = Vec::new();
    agent.read(&mut heard, &events).unwrap();
    assert_eq!((agent.state, heard), (State::Over, vec![empty]));
}

#[test]
fn another_version_is_refused_naming_both() {
    for (version, release) in [(VERSION + 1, env!("CARGO_PKG_VERSION")), (VERSION, "9.9.9")] {
        let events = Events::new().unwrap();
        let (mut agent, mut shell, _) = agent(&events);
        shell.write_all(&Version { version, release: release.into() }.preamble()).unwrap();
        let text = agent.read(&mut Vec::new(), &events).unwrap_err();
        for word in [&format!("version {version},"), release, &format!("version {VERSION}:")] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(agent.state, State::Starting);
    }
}

#[test]
fn an_agent_without_the_key_of_hosts_is_refused_in_words() {
    let key = Secret::derive(KeyPurpose::ShellAgents, &[7; 32]);
    for (own, its) in [(key.clone(), Secret::none()), (Secret::none(), key)] {
        let events = Events::new().unwrap();
        let (mut agent, mut shell, mut its_input) = agent(&events);
        agent.secret = own;
        let text = greet(&its, (&mut agent, &mut shell, &mut its_input), &events).unwrap_err();
        assert!(text.contains("hosts.key"), "{text}");
        assert_eq!(agent.state, State::Greeting);
    }
}

/// Returns one message of each kind that an agent sends.
pub(crate) fn samples() -> Vec<FromAgent> {
    let address = RailAddress { driver: "tcp".into(), address: b"1\n10.0.0.1:7".to_vec() };
    let said = [
        ToLauncher::Hello { version: VERSION },
        ToLauncher::Inbox { settings: vec![("CANELE_RING_CELLS".into(), "64".into())] },
        ToLauncher::Addresses { rails: vec![address; 2] },
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
        Report::Started { rank: 3, pid: 9, executable: b"/bin/a".into() },
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

/// Sends these frames after the greeting, in pieces, and handles the received reports as the launcher does.
/// Returns the number of reports.
fn hear(make: impl FnOnce(&mut Sealer, &mut Random) -> Vec<u8>, random: &mut Random) -> usize {
    let events = Events::new().unwrap();
    let (mut agent, mut shell, mut its_input) = agent(&events);
    let mut channel = greet(&Secret::none(), (&mut agent, &mut shell, &mut its_input), &events).unwrap();
    let bytes = make(&mut channel.sealer, random);
    let mut job = Job::new(agent.task.info.clone());
    let (mut heard, mut rest) = (Vec::new(), &bytes[..]);
    while !rest.is_empty() {
        let (now, later) = rest.split_at((1 + random.below(500)).min(rest.len()));
        shell.write_all(now).unwrap();
        rest = later;
        if agent.read(&mut heard, &events).is_err() {
            break;
        }
        if let Some(found) = agent.interfaces() {
            let rails = rails::agree(&[found.clone(), found.clone()], "", false).unwrap();
            let ports = |host: Vec<rails::HostRail>| host.into_iter().map(|part| part.ports).collect();
            agent.begin(&rails.into_iter().map(ports).collect::<Vec<_>>());
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

/// Changes a message before it is sealed, as an agent with an error could.
fn change(message: &mut Vec<u8>, random: &mut Random) {
    let place = random.below(message.len());
    let (noise, odd) = (random.next_u64() as u8, random.pick(&[0, 1, 2, 3, 0x7f, 0x80, 0xff]));
    match random.below(5) {
        0 => message.truncate(place),
        1 => message.extend((0..random.below(20)).map(|_| 0xff)),
        2 => message.iter_mut().skip(place).take(1).for_each(|byte| *byte = noise),
        3 => message.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << (noise % 8)),
        _ => message.iter_mut().skip(place).take(1).for_each(|byte| *byte = odd),
    }
}

fn seal(messages: &[Vec<u8>], sealer: &mut Sealer) -> Vec<u8> {
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| chunks::push(message, sealer, &mut bytes));
    bytes
}

#[test]
fn what_agents_say_may_be_changed_in_any_way_and_does_no_harm() {
    let messages: Vec<Vec<u8>> =
        samples().iter().map(|message| postcard::to_stdvec(message).unwrap()).collect();
    let taken = hear(|sealer, _| seal(&messages, sealer), &mut Random(0));
    assert_eq!(taken, messages.len() - 1, "all but the interfaces are reports");
    let mut taken = 0;
    for seed in 0..5000 {
        let make = |sealer: &mut Sealer, random: &mut Random| {
            let mut chosen: Vec<_> =
                (0..1 + random.below(12)).map(|_| messages[random.below(messages.len())].clone()).collect();
            chosen.insert(0, messages[0].clone());
            for _ in 0..1 + random.below(3) {
                let at = random.below(chosen.len());
                if !chosen[at].is_empty() {
                    change(&mut chosen[at], random);
                }
            }
            seal(&chosen, sealer)
        };
        taken += hear(make, &mut Random(seed));
    }
    assert!(taken > 5000, "{taken} reports: the corpus is not of much use");
}
