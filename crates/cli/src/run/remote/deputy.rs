//! `canele agent`: the launcher's deputy on a host. Runs a site and passes on what it is told and what it tells.
//!
//! Owns the two streams to the launcher. Ends every process of its site when the launcher is gone, or silent for too long,
//! and whenever the stream holds what cannot be.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use canele_engine::control::VERSION;
use canele_sys::topology;

use super::frames::{Inflow, Outflow, Read, preamble};
use super::pulse::{Beat, Pulse};
use super::{FromAgent, Task, ToAgent, rails};
use crate::run::events::{Events, Ready, Source};
use crate::run::site::{Order, Own, Report, Site};
use crate::run::start::{bind_order, check_limits};

/// Bytes waiting for the launcher from which on ranks are not listened to.
const CONGESTED: usize = 256 * 1024;
/// For how long the launcher may be silent before it has sent the task, which says for how long it may be then.
const TASK_SILENCE: Duration = Duration::from_secs(60);
/// How long last words may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The agent's main function. Its standard input and output lead to the launcher.
pub fn deputise() -> ExitCode {
    match Deputy::new() {
        Ok(deputy) => {
            deputy.run();
            ExitCode::SUCCESS
        }
        Err(error) => crate::wrong_usage(&format!("agent: only `canele run --hosts` starts this ({error})")),
    }
}

struct Deputy {
    events: Events,
    /// From and to the launcher; `None` once it is gone.
    streams: Option<(Inflow, Outflow)>,
    pulse: Option<Pulse>,
    /// When last words must have left.
    until: Option<Instant>,
    site: Option<Site>,
    /// The task was refused.
    refused: bool,
}

impl Deputy {
    fn new() -> io::Result<Deputy> {
        let (input, output) = (io::stdin(), io::stdout());
        if input.is_terminal() || output.is_terminal() {
            return Err(io::Error::other("its standard input and output lead to a launcher"));
        }
        let events = Events::new()?;
        let up = Inflow::new(input.as_fd().try_clone_to_owned()?, Source::Incoming(0), &events)?;
        let mut down = Outflow::new(output.as_fd().try_clone_to_owned()?, Source::Outgoing(0));
        down.push_bytes(&preamble(VERSION, env!("CARGO_PKG_VERSION")));
        down.push(&FromAgent::Interfaces(rails::found()));
        Ok(Deputy {
            events,
            streams: Some((up, down)),
            pulse: Some(Pulse::new(TASK_SILENCE, Instant::now())),
            until: None,
            site: None,
            refused: false,
        })
    }

    fn run(mut self) {
        self.flush();
        while !self.is_over() {
            for (source, ready) in self.events.wait(self.deadline()) {
                self.handle(source, ready);
            }
            self.check(Instant::now());
            self.pass_on();
            self.flush();
        }
    }

    fn is_over(&self) -> bool {
        let site_is_over = self.site.as_ref().is_none_or(Site::is_over);
        match &self.streams {
            None => site_is_over,
            Some((_, out)) => (self.site.is_some() && site_is_over || self.refused) && out.waiting() == 0,
        }
    }

    fn handle(&mut self, source: Source, ready: Ready) {
        match source {
            Source::Incoming(_) => self.hear(),
            Source::Outgoing(_) => {}
            _ => {
                if let Some(site) = &mut self.site {
                    site.handle(source, ready, &self.events);
                }
            }
        }
    }

    // ---- the launcher ---------------------------------------------------------------------------------

    fn hear(&mut self) {
        let Some((input, _)) = &mut self.streams else { return };
        match input.read() {
            Read::Nothing => return,
            Read::End => return self.launcher_gone(),
            Read::Some => {}
        }
        while let Some((input, _)) = &mut self.streams {
            match input.next() {
                Ok(Some(message)) => {
                    self.launcher_lives();
                    self.obey(message);
                }
                Ok(None) => return self.launcher_lives(),
                // The launcher is of the same release: what cannot be understood is not from it.
                Err(_) => return self.launcher_gone(),
            }
        }
    }

    /// If it does. Before its messages are obeyed, for one of them says that it will be silent.
    fn launcher_lives(&mut self) {
        if let (Some((input, _)), Some(pulse)) = (&mut self.streams, &mut self.pulse)
            && input.lives()
        {
            pulse.hear();
        }
    }

    fn obey(&mut self, message: ToAgent) {
        match message {
            ToAgent::Begin(task) if self.site.is_none() && !self.refused => {
                let silence = Duration::from_millis(task.silence_ms.into());
                self.pulse = Some(Pulse::new(silence, Instant::now()));
                let name = task.info.hosts.get(task.info.host_of(task.plan.first));
                let name = name.map_or(String::new(), |host| host.name.clone());
                if let Err(text) = self.begin(*task) {
                    let text = format!("cannot start on host {name}: {text}");
                    self.refused = true;
                    self.until = Some(Instant::now() + LAST_WORDS);
                    self.say(Report::Failed { status: 1, text });
                    self.say(Report::Empty { left: Vec::new() });
                }
            }
            ToAgent::Begin(_) => self.launcher_gone(),
            ToAgent::Order(order) => {
                if let Some(site) = &mut self.site {
                    site.obey(order, &self.events);
                }
            }
            ToAgent::Beat => {}
            ToAgent::Pause => {
                if let Some(pulse) = &mut self.pulse {
                    pulse.pause();
                }
            }
        }
    }

    /// Starts the site.
    fn begin(&mut self, task: Task) -> Result<(), String> {
        let Task { mut plan, mut info, bind, .. } = task;
        if !plan.is_sound() || info.size != plan.size() {
            return Err("the launcher's plan makes no sense".into());
        }
        check_limits(plan.here)?;
        if bind {
            plan.processors = bind_order()?;
        }
        info.processors = topology::allowed().map_or(1, |allowed| allowed.len() as u32);
        let site =
            Site::start(plan, info, Own::default(), &self.events).map_err(|error| error.to_string())?;
        self.site = Some(site);
        Ok(())
    }

    fn say(&mut self, report: Report) {
        if let Some((_, out)) = &mut self.streams
            && !out.push(&FromAgent::Report(report))
        {
            // Nothing a site reports is that long.
            self.launcher_gone();
        }
    }

    /// Nobody is left to work for.
    fn launcher_gone(&mut self) {
        let Some((input, out)) = self.streams.take() else { return };
        input.close(&self.events);
        out.close(&self.events);
        self.pulse = None;
        self.until = None;
        if let Some(site) = &mut self.site {
            site.obey(Order::End { grace_ms: 0 }, &self.events);
        }
    }

    // ---- time -----------------------------------------------------------------------------------------

    fn deadline(&self) -> Option<Instant> {
        let site = self.site.as_ref().and_then(Site::deadline);
        [site, self.until, self.pulse.as_ref().map(Pulse::deadline)].into_iter().flatten().min()
    }

    fn check(&mut self, now: Instant) {
        if let Some(site) = &mut self.site {
            site.check(now, &self.events);
        }
        match self.pulse.as_mut().map(|pulse| pulse.look(now)) {
            Some(Beat::Due) => {
                // What waits is a beat as well.
                if let Some((_, out)) = &mut self.streams
                    && out.waiting() == 0
                {
                    out.push(&FromAgent::Beat);
                }
            }
            Some(Beat::Lost) => self.launcher_gone(),
            Some(Beat::NotYet) | None => {}
        }
        if self.until.is_some_and(|until| now >= until) {
            self.launcher_gone();
        }
    }

    /// Tells the launcher what the site reports.
    fn pass_on(&mut self) {
        let Some(site) = &mut self.site else { return };
        let was_over = site.is_over();
        for report in site.take_reports() {
            self.say(report);
        }
        if was_over && self.until.is_none() {
            self.until = Some(Instant::now() + LAST_WORDS);
        }
    }

    fn flush(&mut self) {
        let mut congested = false;
        if let Some((_, out)) = &mut self.streams {
            match out.flush(&self.events) {
                Ok(()) => congested = out.waiting() > CONGESTED,
                Err(_) => self.launcher_gone(),
            }
        }
        if let Some(site) = &mut self.site {
            site.set_deaf(congested);
            site.flush(&self.events);
        }
    }
}
