//! Findings on several hosts, and on the connections between them. Owns the words; `canele_launch` asks the
//! hosts.

use std::time::Duration;

use canele_control::VERSION;
use canele_launch::host_probe::{ProbeAnswer, ProbedHost, ProbedLink, Survey};

use super::finding::{Finding, Section, ok, problem, remark};

const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// Most pairs of hosts without a connection that are named.
const MOST_PAIRS: usize = 12;

/// Returns a section for each host, and one for the connections between them.
pub fn sections(survey: &Survey) -> Vec<Section> {
    let mut sections: Vec<Section> = survey.hosts.iter().map(of_host).collect();
    if survey.hosts.len() > 1 {
        sections.push(Section { of: vec!["between hosts".into()], findings: between(survey) });
    }
    sections
}

fn of_host(host: &ProbedHost) -> Section {
    let findings = match &host.result {
        Ok(answer) => answered(answer),
        Err(failure) => vec![match &failure.release {
            Some(release) => problem(
                "version",
                format!("canele {release} there, {RELEASE} here"),
                format!("install {RELEASE} on the host, or name where it lies with --canele"),
            ),
            None => problem(
                "reached",
                format!("`{}` {}", host.command, failure.what),
                "try that command; hosts are named with --hosts, the shell with --rsh, the command there with --canele",
            ),
        }],
    };
    Section { of: vec![host.name.clone()], findings }
}

fn answered(answer: &ProbeAnswer) -> Vec<Finding> {
    let version = match (answer.version == VERSION, answer.release == RELEASE) {
        (true, true) => ok("version", format!("canele {RELEASE}")),
        _ => problem(
            "version",
            format!(
                "canele {} (messages of version {}) there, {RELEASE} (version {VERSION}) here",
                answer.release, answer.version
            ),
            "jobs need the same release on all hosts: install it there, or name where it lies with --canele",
        ),
    };
    let mut found = vec![version];
    match serde_json::from_value::<Vec<Finding>>(answer.report.clone()) {
        Ok(own) => found.extend(own),
        Err(error) => {
            found.push(remark("findings", format!("are not understood: {error}"), "install the same release"))
        }
    }
    found
}

fn between(survey: &Survey) -> Vec<Finding> {
    if let Some((host, what)) = &survey.no_rails {
        let name = &survey.hosts[*host].name;
        return vec![problem("rails", format!("{name}: {what}"), "correct CANELE_RAILS, or leave it away")];
    }
    let answered = survey.hosts.iter().filter(|host| host.result.is_ok()).count();
    if answered < 2 {
        return vec![problem(
            "rails",
            format!("{answered} of {} hosts answered", survey.hosts.len()),
            "see above",
        )];
    }
    let mut found: Vec<Finding> = (0..survey.rails.len()).map(|rail| of_rail(survey, rail)).collect();
    found.extend(cut_off(survey));
    found
}

/// Returns the finding on whether all hosts of a rail reach each other over it.
fn of_rail(survey: &Survey, rail: usize) -> Finding {
    let what = format!("rail tcp {}", rail + 1);
    let links: Vec<&ProbedLink> = survey.links.iter().filter(|link| link.rail == rail).collect();
    let part = |part: &canele_launch::host_probe::ProbedPart| {
        let addresses: Vec<_> = part.addresses.iter().map(String::as_str).collect();
        format!("{} on {} ({})", part.interface, survey.hosts[part.host].name, addresses.join(", "))
    };
    let parts: Vec<String> = survey.rails[rail].parts.iter().take(MOST_PAIRS).map(part).collect();
    let left = survey.rails[rail].parts.len().saturating_sub(MOST_PAIRS);
    let more = if left > 0 { format!(" and {left} more hosts") } else { String::new() };
    let parts = format!("{}{more}", parts.join(", "));
    let broken: Vec<&&ProbedLink> = links.iter().filter(|link| link.result.is_err()).collect();
    if broken.is_empty() {
        let slowest = links.iter().filter_map(|link| link.result.as_ref().ok()).max();
        let time =
            slowest.map_or(String::new(), |time| format!(", connected within {}", milliseconds(*time)));
        return ok(&what, format!("{parts}: {} of {} ways{time}", links.len(), links.len()));
    }
    let name = |host: usize| &survey.hosts[host].name;
    let lines = broken.iter().take(MOST_PAIRS).map(|link| {
        let why = link.result.as_ref().err().map_or("", String::as_str);
        format!("\n{} does not reach {}: {why}", name(link.from), name(link.to))
    });
    let left = broken.len().saturating_sub(MOST_PAIRS);
    let more = if left > 0 { format!("\nand {left} more ways") } else { String::new() };
    let value = format!(
        "{parts}: {} of {} ways{}{more}",
        links.len() - broken.len(),
        links.len(),
        lines.collect::<String>()
    );
    let remedy =
        "let TCP through between the hosts, or leave the interface away (CANELE_RAILS names those to use)";
    // The pair may still communicate over another rail.
    let is_needed = |link: &&&ProbedLink| !reaches(survey, link.from, link.to);
    if broken.iter().any(is_needed) { problem(&what, value, remedy) } else { remark(&what, value, remedy) }
}

/// Returns true if a host reaches another one over any rail.
fn reaches(survey: &Survey, from: usize, to: usize) -> bool {
    survey.links.iter().any(|link| (link.from, link.to) == (from, to) && link.result.is_ok())
}

/// Returns the finding on hosts that share no rail with another one.
fn cut_off(survey: &Survey) -> Option<Finding> {
    let answered: Vec<usize> =
        (0..survey.hosts.len()).filter(|host| survey.hosts[*host].result.is_ok()).collect();
    let shares = |one: usize| survey.links.iter().any(|link| link.from == one);
    let alone: Vec<&str> =
        answered.iter().filter(|host| !shares(**host)).map(|host| &*survey.hosts[*host].name).collect();
    (!alone.is_empty()).then(|| {
        problem(
            "rails",
            format!("no network of {} is one of another host", alone.join(", ")),
            "bring an interface up that is on a network of the others, or name it in CANELE_RAILS",
        )
    })
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use canele_launch::host_probe::{ProbeFailure, ProbedPart, ProbedRail};

    use super::super::finding::Level;
    use super::*;

    fn survey(links: &[(usize, usize, usize, bool)]) -> Survey {
        let host = |name: &str| ProbedHost {
            name: name.into(),
            command: "ssh h".into(),
            result: Ok(ProbeAnswer {
                version: VERSION,
                release: RELEASE.into(),
                identity: 1,
                interfaces: Vec::new(),
                listening: Vec::new(),
                report: serde_json::json!([]),
            }),
        };
        let part =
            |host| ProbedPart { host, interface: "eth0".into(), addresses: vec![format!("10.0.0.{host}")] };
        let rail = || ProbedRail { parts: vec![part(0), part(1)] };
        let link = |&(rail, from, to, works): &(usize, usize, usize, bool)| ProbedLink {
            from,
            to,
            rail,
            result: if works { Ok(Duration::from_micros(90)) } else { Err("10.0.0.9: refused".into()) },
        };
        Survey {
            hosts: vec![host("h0"), host("h1")],
            rails: vec![rail(), rail()],
            no_rails: None,
            links: links.iter().map(link).collect(),
        }
    }

    #[test]
    fn a_rail_that_does_not_work_is_a_problem_where_no_other_one_does() {
        let levels = |links: &[(usize, usize, usize, bool)]| {
            between(&survey(links)).iter().map(|finding| finding.level).collect::<Vec<_>>()
        };
        let good = [(0, 0, 1, true), (0, 1, 0, true), (1, 0, 1, true), (1, 1, 0, true)];
        assert_eq!(levels(&good), [Level::Ok, Level::Ok]);
        let one = [(0, 0, 1, false), (0, 1, 0, true), (1, 0, 1, true), (1, 1, 0, true)];
        assert_eq!(levels(&one), [Level::Remark, Level::Ok]);
        let both = [(0, 0, 1, false), (0, 1, 0, true), (1, 0, 1, false), (1, 1, 0, true)];
        assert_eq!(levels(&both), [Level::Problem, Level::Problem]);
        let text = &between(&survey(&both))[0].value;
        assert!(text.contains("1 of 2 ways\nh0 does not reach h1: 10.0.0.9: refused"), "{text}");
        assert_eq!(levels(&[]), [Level::Ok, Level::Ok, Level::Problem], "no network in common");
    }

    #[test]
    fn another_release_and_no_answer_are_told_apart() {
        let mut survey = survey(&[]);
        if let Ok(answer) = &mut survey.hosts[0].result {
            answer.release = "0.0.9".into();
        }
        let failure = |release: Option<&str>| ProbeFailure {
            what: "exited with status 2".into(),
            release: release.map(str::to_owned),
        };
        let mut told = vec![of_host(&survey.hosts[0])];
        for release in [Some("0.0.8"), None] {
            survey.hosts[1].result = Err(failure(release));
            told.push(of_host(&survey.hosts[1]));
        }
        let first = |section: &Section| (section.findings[0].what.clone(), section.findings[0].value.clone());
        let told: Vec<_> = told.iter().map(first).collect();
        assert!(told[0].0 == "version" && told[0].1.contains("canele 0.0.9"), "{told:?}");
        assert!(told[1].0 == "version" && told[1].1.contains("canele 0.0.8"), "{told:?}");
        assert!(told[2].0 == "reached" && told[2].1.contains("`ssh h` exited with status 2"), "{told:?}");
    }
}
