//! The hosts that a batch system has given to the job script or shell of a launcher: Slurm, PBS, LSF and Grid
//! Engine name them in variables, or in a file that a variable names.
//!
//! Owns the variables, the files and their syntax, as pure functions over a look-up. The caller decides which hosts of
//! an allocation are used.

use crate::hosts::NamedHost;
use crate::remote::ShellCommand;

/// Hosts with their numbers of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The batch system.
    pub of: &'static str,
    /// The hosts, each with its number of ranks, in the system's order.
    pub hosts: Vec<NamedHost>,
    /// The command that runs another one on a host, unless it is the usual remote shell.
    pub remote_shell: Option<ShellCommand>,
}

/// Variables of which one is set in an allocation.
pub(crate) const ALLOCATION_VARIABLES: [&str; 4] =
    ["SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_MCPU_HOSTS", "PE_HOSTFILE"];

/// The command that runs one process on a node. The process may use all processors of the node and takes none
/// from other steps. This also holds for the node of the launcher, whose own step may have few processors.
/// Without `--unbuffered`, srun passes on only whole lines.
const SRUN: &str = "srun --unbuffered --nodes=1 --ntasks=1 --overlap --mpi=none --cpu-bind=none --nodelist";

/// The command of Grid Engine that runs another one on a host of the job's parallel environment. On the host of
/// the job script it needs a slot that the script may have taken.
const QRSH: &str = "qrsh -inherit";

/// Reads the variables through `get`, and the file that one of them names through `read`.
///
/// # Errors
/// Fails with a text that names the variable or file that is invalid.
pub fn allocation(
    get: impl Fn(&str) -> Option<String>,
    read: impl Fn(&str) -> std::io::Result<String>,
) -> Result<Option<Allocation>, String> {
    if let Some(nodes) = get("SLURM_JOB_NODELIST") {
        return slurm(&nodes, get).map(Some);
    }
    if let Some(text) = get("LSB_MCPU_HOSTS") {
        return lsf(&text).map(Some).map_err(|wrong| format!("LSB_MCPU_HOSTS={text}: {wrong}"));
    }
    let of_file = |variable: &str, file: &str, read_hosts: fn(&str) -> Result<Allocation, String>| {
        let wrong = |text: String| format!("{variable}={file}: {text}");
        read(file)
            .map_err(|error| error.to_string())
            .and_then(|text| read_hosts(&text))
            .map(Some)
            .map_err(wrong)
    };
    if let Some(file) = get("PBS_NODEFILE") {
        return of_file("PBS_NODEFILE", &file, pbs);
    }
    get("PE_HOSTFILE").map_or(Ok(None), |file| of_file("PE_HOSTFILE", &file, grid_engine))
}

fn shell(text: &str, starts_own_agent: bool) -> Option<ShellCommand> {
    Some(ShellCommand { text: text.into(), starts_own_agent })
}

/// Reads the variables of Slurm; the first one names the nodes.
fn slurm(nodes: &str, get: impl Fn(&str) -> Option<String>) -> Result<Allocation, String> {
    let names = slurm_names(nodes).map_err(|text| format!("SLURM_JOB_NODELIST={nodes}: {text}"))?;
    let variable =
        ["SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"].into_iter().find(|name| get(name).is_some());
    let numbers = match variable {
        Some(name) => {
            let text = get(name).unwrap_or_default();
            slurm_numbers(&text, names.len())
                .ok_or_else(|| format!("{name}={text} does not give {} nodes their numbers", names.len()))?
        }
        None => vec![1; names.len()],
    };
    let hosts = names.into_iter().zip(numbers).map(|(name, ranks)| host(name, ranks)).collect();
    Ok(Allocation { of: "Slurm", hosts, remote_shell: shell(SRUN, true) })
}

/// Reads hosts and numbers of ranks, which take turns.
fn lsf(text: &str) -> Result<Allocation, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (pairs, rest) = words.as_chunks::<2>();
    let hosts = with_numbers(pairs.iter().map(|[name, number]| (*name, *number)));
    let hosts = hosts.filter(|_| rest.is_empty()).ok_or("names and numbers take turns in it")?;
    Ok(Allocation { of: "LSF", hosts, remote_shell: shell("blaunch", false) })
}

/// Reads a file with a line for each rank, which has the host.
fn pbs(file: &str) -> Result<Allocation, String> {
    let hosts = counted(file.split_whitespace().map(|name| (name, 1)));
    match hosts.is_empty() {
        true => Err("it names no host".into()),
        false => Ok(Allocation { of: "PBS", hosts, remote_shell: None }),
    }
}

/// Reads a file with a line for each queue of a host. The line has the host, its number of slots, the queue, and
/// processors.
fn grid_engine(file: &str) -> Result<Allocation, String> {
    let lines = file.lines().filter(|line| !line.trim().is_empty());
    let hosts = lines.map(first_two_words).collect::<Option<Vec<_>>>().and_then(with_numbers);
    let hosts = hosts.ok_or("its lines have no host with a number of slots")?;
    Ok(Allocation { of: "Grid Engine", hosts, remote_shell: shell(QRSH, false) })
}

/// Returns the host and the number that a line begins with.
fn first_two_words(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?))
}

/// Returns the hosts with their numbers of ranks, if there are any and each number is above 0.
fn with_numbers<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Vec<NamedHost>> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    let pairs: Option<Vec<_>> = pairs.into_iter().map(|(name, text)| Some((name, number(text)?))).collect();
    pairs.map(counted).filter(|hosts| !hosts.is_empty())
}

fn host(name: String, ranks: u32) -> NamedHost {
    NamedHost { name, ranks: Some(ranks), most: None }
}

/// Returns the hosts in the order of their first mention, each with the sum of its numbers of ranks.
fn counted<'a>(all: impl IntoIterator<Item = (&'a str, u32)>) -> Vec<NamedHost> {
    let mut hosts: Vec<NamedHost> = Vec::new();
    for (name, number) in all {
        match hosts.iter_mut().find(|host| host.name == name) {
            Some(known) => known.ranks = known.ranks.map(|ranks| ranks.saturating_add(number)),
            None => hosts.push(host(name.to_owned(), number)),
        }
    }
    hosts
}

/// The most hosts of a list; no cluster has more.
const MOST_HOSTS: usize = 1 << 20;

/// Returns the names in a list such as `node[01-03,7],login,rack[1-2]n[0-1]`.
fn slurm_names(list: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for word in split_outside_brackets(list) {
        let mut made = vec![String::new()];
        let mut rest = word;
        while let Some((before, behind)) = rest.split_once('[') {
            let (inside, behind) = behind.split_once(']').ok_or("a bracket is not closed")?;
            let numbers = ranges(inside)?;
            if made.len().saturating_mul(numbers.len()) > MOST_HOSTS {
                return Err("it names too many nodes".into());
            }
            let each =
                |name: &String| numbers.iter().map(move |number| format!("{name}{before}{number}")).collect();
            made = made.iter().flat_map(|name| -> Vec<String> { each(name) }).collect();
            rest = behind;
        }
        made.iter_mut().for_each(|name| name.push_str(rest));
        names.append(&mut made);
    }
    match names.iter().all(|name| !name.is_empty() && !name.starts_with('-') && !name.contains(']')) {
        true if !names.is_empty() => Ok(names),
        _ => Err("it is no list of nodes".into()),
    }
}

fn split_outside_brackets(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    list.split(move |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// Returns the numbers of `01-03,7`, as wide as they are written.
fn ranges(text: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let wrong = || format!("`{part}` is no range of numbers");
        let (from, to): (usize, usize) =
            (first.parse().map_err(|_| wrong())?, last.parse().map_err(|_| wrong())?);
        if to < from || to - from >= MOST_HOSTS {
            return Err(wrong());
        }
        all.extend((from..=to).map(|number| format!("{number:0width$}", width = first.len())));
    }
    Ok(all)
}

/// Returns the numbers of `2(x3),1`, one for each node.
fn slurm_numbers(text: &str, nodes: usize) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (number, times) = match part.split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')')?.parse::<usize>().ok()?),
            None => (part, 1),
        };
        let number = number.parse::<u32>().ok().filter(|number| *number > 0)?;
        if numbers.len().saturating_add(times) > nodes {
            return None;
        }
        numbers.extend(std::iter::repeat_n(number, times));
    }
    (numbers.len() == nodes).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Allocation>, String> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let read = |file: &str| match file {
            "/nodes" => Ok("a\na\nb\na\n".to_owned()),
            "/slots" => Ok("a 2 all.q@a UNDEFINED\nb 1 all.q@b <NULL>\na 1 long.q@a UNDEFINED\n".to_owned()),
            "/empty" => Ok("\n".to_owned()),
            "/few" => Ok("a\n".to_owned()),
            "/none" => Ok("a 0 all.q@a UNDEFINED\n".to_owned()),
            _ => Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
        };
        allocation(get, read)
    }

    fn hosts(variables: &[(&str, &str)]) -> Vec<(String, u32)> {
        let found = of(variables).unwrap().unwrap();
        found.hosts.into_iter().map(|host| (host.name, host.ranks.unwrap())).collect()
    }

    #[test]
    fn slurm_says_nodes_and_tasks() {
        let nodes = ("SLURM_JOB_NODELIST", "n[08-10,2],login");
        let expected = |numbers: [u32; 5]| -> Vec<(String, u32)> {
            ["n08", "n09", "n10", "n2", "login"].map(str::to_owned).into_iter().zip(numbers).collect()
        };
        assert_eq!(hosts(&[nodes, ("SLURM_TASKS_PER_NODE", "2(x3),1(x2)")]), expected([2, 2, 2, 1, 1]));
        assert_eq!(hosts(&[nodes, ("SLURM_JOB_CPUS_PER_NODE", "4,3,2(x3)")]), expected([4, 3, 2, 2, 2]));
        assert_eq!(hosts(&[nodes]), expected([1; 5]));
        let rack = hosts(&[("SLURM_JOB_NODELIST", "r[1-2]n[0-1]")]);
        assert_eq!(
            rack.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["r1n0", "r1n1", "r2n0", "r2n1"]
        );
    }

    #[test]
    fn other_systems_name_hosts_once_for_each_place_or_with_numbers() {
        let both = vec![("a".to_owned(), 3), ("b".to_owned(), 1)];
        assert_eq!(hosts(&[("PBS_NODEFILE", "/nodes")]), both);
        assert_eq!(hosts(&[("LSB_MCPU_HOSTS", "a 2 b 1 a 1")]), both);
        assert_eq!(hosts(&[("PE_HOSTFILE", "/slots")]), both);
        assert_eq!(of(&[("SLURM_NTASKS", "4")]), Ok(None));
    }

    #[test]
    fn nonsense_is_refused_naming_the_variable() {
        for variables in [
            &[("SLURM_JOB_NODELIST", "")][..],
            &[("SLURM_JOB_NODELIST", "n[1-")],
            &[("SLURM_JOB_NODELIST", "n[3-1]")],
            &[("SLURM_JOB_NODELIST", "n[1-99999999]")],
            &[("SLURM_JOB_NODELIST", "-x")],
            &[("SLURM_JOB_NODELIST", "n[1-3]"), ("SLURM_TASKS_PER_NODE", "2(x2)")],
            &[("SLURM_JOB_NODELIST", "n1"), ("SLURM_TASKS_PER_NODE", "2(x2")],
            &[("SLURM_JOB_NODELIST", "n1"), ("SLURM_TASKS_PER_NODE", "0")],
            &[("PBS_NODEFILE", "/nowhere")],
            &[("PBS_NODEFILE", "/empty")],
            &[("LSB_MCPU_HOSTS", "")],
            &[("PE_HOSTFILE", "/empty")],
            &[("LSB_MCPU_HOSTS", "a b")],
            &[("LSB_MCPU_HOSTS", "a 1 b")],
            &[("LSB_MCPU_HOSTS", "a 0")],
            &[("PE_HOSTFILE", "/nowhere")],
            &[("PE_HOSTFILE", "/few")],
            &[("PE_HOSTFILE", "/none")],
        ] {
            let text = of(variables).unwrap_err();
            assert!(variables.iter().any(|(name, _)| text.starts_with(name)), "{text}");
        }
    }
}
