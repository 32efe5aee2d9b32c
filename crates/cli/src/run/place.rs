//! The hosts of a job's ranks: named hosts, those of a batch system's allocation, or this one. Owns the
//! options; reaches nothing.

use canele_sys::bounded_read::{self, MOST_SETTINGS};
use std::path::PathBuf;

use canele_launch::{
    NamedHost, Placement, RankFile, RankOrder, ShellCommand, allocation, capacity, is_here, place_ranks,
    read_host_file, read_host_list, read_rank_file,
};

/// The options that choose the hosts of ranks, for every command that starts ranks.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct HostOptions {
    /// Hosts to run on, `NAME:RANKS` each, filled in order; without `:RANKS` the ranks are spread evenly
    #[arg(long, value_name = "H0:R,H1:R…", group = "where")]
    pub hosts: Option<String>,
    /// File that names the hosts: `NAME`, `NAME:RANKS` or `NAME slots=RANKS max_slots=MOST` on each line,
    /// comments after `#`
    #[arg(long, value_name = "FILE", group = "where", value_hint = clap::ValueHint::FilePath)]
    pub hostfile: Option<PathBuf>,
    /// File with the host and the cores of each rank, as `rank 0=HOST slot=0-1` for cores 0 and 1 of the
    /// host; slot=1:0 is core 0 of package 1
    #[arg(long, value_name = "FILE", group = "where")]
    pub rankfile: Option<PathBuf>,
    /// Remote shell, with its arguments; it is started as `CMD HOST PROGRAM agent`, as 'ssh -p 2222'
    /// [default: ssh]
    #[arg(long, value_name = "CMD", requires = "where")]
    pub rsh: Option<String>,
    /// Path of the command `canele` on the hosts [default: its path on this host]
    #[arg(long, value_name = "PATH", requires = "where")]
    pub canele: Option<PathBuf>,
}

impl HostOptions {
    /// Returns true if any hosts were named.
    pub fn is_elsewhere(&self) -> bool {
        self.hosts.is_some() || self.hostfile.is_some() || self.rankfile.is_some()
    }

    /// Returns true if each host is this one and no option says how another host is reached.
    fn are_here(&self, hosts: &[NamedHost]) -> bool {
        let is_reached_otherwise = self.rsh.is_some() || self.canele.is_some();
        !is_reached_otherwise && hosts.iter().all(|host| is_here(&host.name))
    }

    /// Returns the named hosts, if any.
    ///
    /// # Errors
    /// Returns a text about the error in them.
    pub fn named_hosts(&self) -> Result<Option<Vec<NamedHost>>, String> {
        if let Some(list) = &self.hosts {
            return read_host_list(list).map(Some).map_err(|text| format!("--hosts {list}: {text}"));
        }
        if let Some(file) = self.rankfile()? {
            return Ok(Some(file.hosts).filter(|hosts| !hosts.iter().all(|host| is_here(&host.name))));
        }
        let Some(path) = &self.hostfile else { return Ok(None) };
        let wrong = |text: &dyn std::fmt::Display| format!("--hostfile {}: {text}", path.display());
        let text = bounded_read::read_text(path, MOST_SETTINGS).map_err(|error| wrong(&error))?;
        read_host_file(&text).map(Some).map_err(|text| wrong(&text))
    }

    /// Returns the content of the file of ranks, if there is one.
    ///
    /// # Errors
    /// Returns a text about the error in it.
    pub fn rankfile(&self) -> Result<Option<RankFile>, String> {
        let Some(path) = &self.rankfile else { return Ok(None) };
        let wrong = |text: &dyn std::fmt::Display| format!("--rankfile {}: {text}", path.display());
        let text = bounded_read::read_text(path, MOST_SETTINGS).map_err(|error| wrong(&error))?;
        read_rank_file(&text).map(Some).map_err(|text| wrong(&text))
    }

    /// Returns the number of ranks that the hosts take, if they were named with numbers.
    ///
    /// # Errors
    /// Returns a text about the error in them.
    pub fn capacity(&self) -> Result<Option<u32>, String> {
        Ok(self.named_hosts()?.as_deref().map(capacity).transpose()?.flatten())
    }

    /// Returns the sum of the named hosts' numbers of ranks, if all of these hosts are this one.
    ///
    /// # Errors
    /// Returns a text if `ranks` ranks do not fit.
    pub fn slots_here(&self, ranks: u32) -> Result<Option<u32>, String> {
        let named = self.named_hosts()?.filter(|hosts| self.are_here(hosts));
        let Some(hosts) = named else { return Ok(None) };
        place_ranks(&hosts, ranks, &RankOrder::ByHost)?;
        capacity(&hosts)
    }

    /// Returns the place of the ranks: named hosts, those of an allocation with other hosts, or this one. The
    /// ranks are placed in `order`, unless a file names the host of each.
    ///
    /// # Errors
    /// Returns a text about the error in the hosts, or in the variables of the batch system.
    pub fn whereabouts(&self, order: RankOrder) -> Result<Whereabouts, String> {
        let HostOptions { rsh, canele, .. } = self;
        let named = || rsh.clone().map(|text| ShellCommand { text, starts_own_agent: true });
        let placement = |hosts, order, usual: Option<ShellCommand>| Placement {
            hosts,
            order,
            remote_shell: named().or(usual),
            executable: canele.clone(),
        };
        if let Some(hosts) = self.named_hosts()? {
            let capacity = capacity(&hosts)?;
            if self.are_here(&hosts) {
                return Ok(Whereabouts { placement: None, capacity });
            }
            let order = self.rankfile()?.map_or(order, |file| RankOrder::Listed(file.host_of));
            return Ok(Whereabouts { placement: Some(placement(hosts, order, None)), capacity });
        }
        // All of its ranks run on this host.
        if let Some(file) = self.rankfile()? {
            return Ok(Whereabouts { placement: None, capacity: capacity(&file.hosts)? });
        }
        let variable = |name: &str| std::env::var(name).ok();
        let Some(allocated) = allocation(variable, |file| bounded_read::read_text(file, MOST_SETTINGS))?
        else {
            return Ok(Whereabouts { placement: None, capacity: None });
        };
        let capacity = capacity(&allocated.hosts)?;
        let is_elsewhere = !allocated.hosts.iter().all(|host| is_here(&host.name));
        let placement = is_elsewhere.then(|| placement(allocated.hosts, order, allocated.remote_shell));
        Ok(Whereabouts { placement, capacity })
    }
}

/// The place of a job's ranks.
pub struct Whereabouts {
    /// The hosts and the way to reach them; none for this host.
    pub placement: Option<Placement>,
    /// The number of ranks that have room, if known.
    pub capacity: Option<u32>,
}
