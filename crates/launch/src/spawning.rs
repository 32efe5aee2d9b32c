//! Worlds that are added to a running job: the placement and start of their ranks, and the answer to their
//! spawner.
//!
//! Owns the worlds whose ranks are being started. Never starts a process itself: the hosts do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use canele_control::{FromLauncher, JobInfo, RankSet, SpawnProgram, SpawnedWorld};
use canele_sys::debugger;
use canele_sys::ids::LinkId;

use super::host_ranks::Order;
use super::launcher::Launcher;
use super::member::Member;
use super::plan::{Plan, Program, SpawnedPlace};

/// The worlds whose ranks are being started.
#[derive(Debug, Default)]
pub struct Spawns(Vec<Spawn>);

/// A world whose ranks are being started.
#[derive(Debug)]
struct Spawn {
    /// The rank that gets the answer, and the ticket of its request.
    to: (u32, u64),
    first: u32,
    /// True if a debugger attaches to the ranks before they join the job.
    is_held: bool,
    /// The result for each rank, once it is known: empty if the rank was started, else the reason why it was
    /// not.
    known: Vec<Option<String>>,
}

impl Launcher {
    /// Adds ranks to the job at the request of the rank `by`.
    pub(super) fn spawn(&mut self, (by, ticket): (u32, u64), programs: Vec<SpawnProgram>, parents: Vec<u32>) {
        let placed = match self.ending {
            true => Err("the job is ending".to_owned()),
            false => place(self.job.info(), self.job.members(), &self.hosts_to_use(), &programs),
        };
        let hosts = match placed {
            Ok(hosts) => hosts,
            Err(why) => {
                let ranks = programs.iter().fold(0, |sum: u32, program| sum.saturating_add(program.ranks));
                let result = Err(vec![why; ranks.clamp(1, MOST_TEXTS) as usize]);
                return self.job.tell(by, FromLauncher::Spawned { ticket, result });
            }
        };
        let mut used = hosts.clone();
        used.sort_unstable();
        used.dedup();
        for host in used.into_iter().map(|host| host as usize) {
            self.open[host] |= self.hosts.start_later(host, self.job.info(), &self.events);
        }
        let world = SpawnedWorld { first: self.info().ranks(), hosts, parents, ..SpawnedWorld::default() };
        self.job.grow(world.clone());
        self.tell_grown(&world);
        let known = vec![None; world.hosts.len()];
        self.plan.is_held = debugger::is_debugged();
        let is_held = self.plan.is_held;
        self.spawns.0.push(Spawn { to: (by, ticket), first: world.first, is_held, known });
        let plans = plans(&self.plan, self.job.info(), &world, programs);
        for host in 0..self.info().hosts.len() {
            let plans = plans.iter().filter(|(on, _)| *on == host).map(|(_, plan)| plan.clone()).collect();
            self.hosts.tell(host, Order::Spawn { world: world.clone(), plans }, &self.events);
        }
    }

    /// Returns true for each host on which ranks can be placed: it is not lost, or no rank was there before.
    fn hosts_to_use(&self) -> Vec<bool> {
        (0..).zip(&self.open).map(|(host, open)| *open || self.hosts.is_absent(host)).collect()
    }

    /// Notes that a rank was started, or that it was not because of `why_not`. Once this is known for all
    /// ranks of its world, its spawner gets the answer. A world that lacks a rank is ended.
    pub(super) fn handle_spawned(&mut self, rank: u32, why_not: Option<String>) {
        let holds =
            |spawn: &Spawn| (rank.checked_sub(spawn.first)).is_some_and(|n| (n as usize) < spawn.known.len());
        let Some(at) = self.spawns.0.iter().position(holds) else { return };
        let spawn = &mut self.spawns.0[at];
        spawn.known[(rank - spawn.first) as usize] = Some(why_not.unwrap_or_default());
        if spawn.known.iter().any(Option::is_none) {
            return;
        }
        let Spawn { to: (to, ticket), first, is_held, known } = self.spawns.0.swap_remove(at);
        let size = known.len() as u32;
        let known: Vec<String> = known.into_iter().flatten().collect();
        let result = if known.iter().all(String::is_empty) { Ok(first) } else { Err(known) };
        if let Err(known) = &result {
            self.job.disconnect_world(first);
            for (rank, _) in (first..).zip(known).filter(|(_, why)| why.is_empty()) {
                self.job.member_mut(rank).unwanted = true;
                self.tell_host_of(rank, Order::Kill { rank });
            }
        }
        if let Ok(first) = result {
            self.show_to_debugger(first..first + size, is_held);
        }
        self.job.tell(to, FromLauncher::Spawned { ticket, result: result.map_err(shortened) });
    }
}

/// The most ranks for which a reason is sent.
const MOST_TEXTS: u32 = 1024;
/// The most bytes of all reasons, so that a message can hold them.
const MOST_TEXT: usize = 16 << 10;

/// Keeps the first reasons that a message can hold; a reason that does not fit becomes `as the others`.
fn shortened(mut texts: Vec<String>) -> Vec<String> {
    texts.truncate(MOST_TEXTS as usize);
    let mut left = MOST_TEXT;
    for text in &mut texts {
        if text.len() > left {
            *text = "as the others".into();
        }
        left = left.saturating_sub(text.len());
    }
    texts
}

/// Returns the host of each rank of these programs. Each rank goes to the allowed host that is still `open`
/// and has the fewest running ranks.
///
/// # Errors
/// Fails with the reason why there is none.
fn place(
    info: &JobInfo,
    members: &[Member],
    open: &[bool],
    programs: &[SpawnProgram],
) -> Result<Vec<u32>, String> {
    let wanted = programs.iter().map(|program| u64::from(program.ranks)).sum::<u64>();
    if programs.iter().any(|program| program.ranks == 0 || program.command.first().is_none_or(Vec::is_empty))
    {
        return Err("each program needs a name and at least one process".into());
    }
    if wanted == 0 || wanted + u64::from(info.ranks()) > u64::from(LinkId::MOST_RANKS) {
        return Err(format!(
            "{wanted} processes more: a job has from its start on at most {}",
            LinkId::MOST_RANKS
        ));
    }
    let mut running = vec![0_u32; info.hosts.len()];
    for (rank, _) in (0..).zip(members).filter(|(_, member)| member.exit.is_none() && !member.is_elsewhere) {
        running[info.host_of(rank)] += 1;
    }
    let mut hosts = Vec::new();
    for program in programs {
        let may: Vec<usize> = allowed(info, &program.hosts)?.into_iter().filter(|host| open[*host]).collect();
        for _ in 0..program.ranks {
            let host = may.iter().copied().min_by_key(|host| running[*host]);
            let host = host.ok_or_else(|| match program.hosts.len() {
                1 => format!("host {} was lost", program.hosts[0]),
                _ => "all hosts that may be taken were lost".to_owned(),
            })?;
            running[host] += 1;
            hosts.push(host as u32);
        }
    }
    Ok(hosts)
}

/// Returns the hosts that are named, or all.
fn allowed(info: &JobInfo, names: &[String]) -> Result<Vec<usize>, String> {
    if names.is_empty() {
        return Ok((0..info.hosts.len()).collect());
    }
    let find = |name: &String| {
        let at = info.hosts.iter().position(|host| host.name == *name);
        let alone = info.hosts.len() == 1 && ["localhost", "127.0.0.1", "::1"].contains(&&**name);
        at.or(alone.then_some(0)).ok_or_else(|| {
            let names: Vec<&str> = info.hosts.iter().take(8).map(|host| &*host.name).collect();
            format!("{name} is no host of this job, which has {}", names.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// Returns the plans of each host, in the order of the ranks: one for each program and unbroken series of
/// ranks.
fn plans(
    own: &Plan,
    info: &JobInfo,
    world: &SpawnedWorld,
    programs: Vec<SpawnProgram>,
) -> Vec<(usize, Plan)> {
    let on = |host: usize| world.hosts.iter().filter(move |on| **on as usize == host).count() as u32;
    let before = |host: usize| info.ranks_on(host).count() as u32 - on(host);
    let mut placed = vec![0_u32; info.hosts.len()];
    let (mut plans, mut first) = (Vec::new(), world.first);
    for (app, program) in (0..).zip(programs) {
        let end = first + program.ranks;
        let text = OsString::from_vec;
        let command: Vec<OsString> = program.command.into_iter().map(text).collect();
        let set = program.environment.into_iter().map(|(name, value)| (name.into(), value.into()));
        let environment: Vec<_> = own.environment.iter().cloned().chain(set).collect();
        let directory = match program.directory.is_empty() {
            true => own.directory.clone(),
            false => Some(PathBuf::from(text(program.directory))),
        };
        let path = text(program.path);
        while first < end {
            let host_of = |rank: u32| world.hosts[(rank - world.first) as usize] as usize;
            let host = host_of(first);
            let here = (first..end).take_while(|rank| host_of(*rank) == host).count() as u32;
            let place = SpawnedPlace {
                app,
                size: world.ranks().end,
                local_rank: before(host) + placed[host],
                local_size: before(host) + on(host),
                path: path.clone(),
            };
            placed[host] += here;
            plans.push((
                host,
                Plan {
                    programs: vec![Program { ranks: here, command: command.clone() }],
                    here: RankSet::from(first..first + here),
                    environment: environment.clone(),
                    directory: directory.clone(),
                    binding: Default::default(),
                    report_bindings: false,
                    input: Default::default(),
                    is_held: own.is_held,
                    spawned: Some(place),
                },
            ));
            first += here;
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use canele_control::Host;

    use super::*;

    fn job(ranks: &[u32]) -> (JobInfo, Vec<Member>) {
        let host = |(index, &ranks): (usize, &u32)| Host { name: format!("h{index}"), ranks };
        let info = JobInfo::new(ranks.iter().enumerate().map(host).collect());
        let members = (0..info.size).map(|_| Member::default()).collect();
        (info, members)
    }

    fn program(ranks: u32, hosts: &[&str]) -> SpawnProgram {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        SpawnProgram { ranks, command: vec![b"child".to_vec()], hosts, ..SpawnProgram::default() }
    }

    #[test]
    fn ranks_go_where_fewest_run_or_where_they_are_wanted() {
        let (info, members) = job(&[3, 1]);
        assert_eq!(place(&info, &members, &[true; 2], &[program(3, &[])]), Ok(vec![1, 1, 0]));
        assert_eq!(
            place(&info, &members, &[true; 2], &[program(1, &["h0"]), program(2, &[])]),
            Ok(vec![0, 1, 1])
        );
        assert!(place(&info, &members, &[true; 2], &[program(1, &["h7"])]).unwrap_err().contains("h0, h1"));
        let lost = [true, false];
        assert_eq!(place(&info, &members, &lost, &[program(3, &[])]), Ok(vec![0, 0, 0]));
        assert_eq!(place(&info, &members, &lost, &[program(1, &["h1"])]), Err("host h1 was lost".into()));
        for impossible in [vec![], vec![program(0, &[])], vec![program(u32::MAX, &[])]] {
            assert!(place(&info, &members, &[true; 2], &impossible).is_err());
        }
    }

    #[test]
    fn every_rank_has_one_plan_and_its_place_on_its_host() {
        let (mut info, _) = job(&[2, 1]);
        let own = Plan {
            programs: vec![Program { ranks: 3, command: vec!["parent".into()] }],
            here: RankSet::from(0..3),
            environment: vec![("A".into(), "1".into())],
            directory: Some("/d".into()),
            binding: Default::default(),
            report_bindings: true,
            input: Default::default(),
            is_held: false,
            spawned: None,
        };
        let world =
            SpawnedWorld { first: 3, hosts: vec![1, 1, 0, 1], parents: vec![0], ..SpawnedWorld::default() };
        info.spawned.push(world.clone());
        let plans = plans(&own, &info, &world, vec![program(1, &[]), program(3, &[])]);
        let told = |(host, plan): &(usize, Plan)| {
            let (first, ranks) = (plan.here.first().unwrap(), plan.here.len());
            let place = plan.place(first);
            let end = first + ranks;
            (*host, first..end, plan.app(first), place.local_rank, place.local_size, place.size)
        };
        assert_eq!(
            plans.iter().map(told).collect::<Vec<_>>(),
            [(1, 3..4, 0, 1, 4, 7), (1, 4..5, 1, 2, 4, 7), (0, 5..6, 1, 2, 3, 7), (1, 6..7, 1, 3, 4, 7)]
        );
        assert!(plans.iter().all(|(_, plan)| plan.is_sound() && plan.directory == own.directory));
    }

    #[test]
    fn reasons_fit_into_a_message() {
        let texts = shortened(vec!["x".repeat(5000); 2000]);
        assert_eq!(texts.len(), MOST_TEXTS as usize);
        assert!(texts.iter().map(String::len).sum::<usize>() < 2 * MOST_TEXT);
    }
}
