//! Placement and binding of ranks, in the words of `--map-by`, `--rank-by` and `--bind-to` of other
//! launchers.

use std::str::FromStr;

use crate::binding::{BindTo, Unit};

/// The result of these options.
#[derive(Debug, Default)]
pub struct MpiexecMapping {
    /// The units over which ranks are spread inside their host, as `--map-by` of `canele run` names them.
    unit: Option<String>,
    elements: Option<String>,
    fill: bool,
    /// The option that makes ranks go to the hosts in turn, as the user typed it.
    pub by_node: Option<String>,
    /// True if this host has no rank.
    pub no_local: bool,
    /// The number of ranks on each host.
    pub per_host: Option<u32>,
    pub rankfile: Option<String>,
    pub report: bool,
    pub bind: Option<String>,
}

/// Modifiers that ask for the usual behaviour, or for a feature that does not exist here.
const NOTHING: [&str; 9] = [
    "oversubscribe",
    "nooversubscribe",
    "span",
    "inherit",
    "noinherit",
    "hwtcpus",
    "corecpus",
    "ordered",
    "physical",
];

const SEE_RANKFILE: &str = "--rankfile FILE says of each rank where it runs, as `rank 0=host slot=0-1`";

impl MpiexecMapping {
    /// Reads the value of `--map-by`.
    ///
    /// # Errors
    /// Fails with a text that names the unknown word.
    pub fn map_by(&mut self, typed: &str, text: &str) -> Result<(), String> {
        let wrong = |why: &str| format!("{typed} {text}: {why}");
        let mut words = text.split(':');
        let mut word = words.next().unwrap_or_default().to_ascii_lowercase();
        if word == "ppr" {
            let each = words.next().unwrap_or_default();
            let number = each.parse().ok().filter(|each: &u32| *each > 0);
            let number = number.ok_or_else(|| wrong("a number of ranks follows ppr:, as in ppr:2:socket"))?;
            word = words.next().unwrap_or_default().to_ascii_lowercase();
            match Unit::from_str(&word).map_err(|why| wrong(&why))? {
                Unit::Host => self.per_host = Some(number),
                unit => self.unit = Some(format!("ppr:{number}:{unit}")),
            }
        } else {
            match &*word {
                "" | "slot" => {}
                "node" | "machine" | "board" => self.by_node = Some(format!("{typed} {text}")),
                "rankfile" => {}
                "seq" | "dist" | "user" => return Err(wrong(SEE_RANKFILE)),
                _ if word.starts_with("pe-list=") => return Err(wrong(SEE_RANKFILE)),
                unit => self.unit = Some(Unit::from_str(unit).map_err(|why| wrong(&why))?.to_string()),
            }
        }
        for modifier in words {
            match (&*modifier.to_ascii_lowercase(), modifier.split_once('=')) {
                (_, Some((name, count))) if name.eq_ignore_ascii_case("pe") => {
                    self.elements = Some(count.into())
                }
                (_, Some((name, file))) if name.eq_ignore_ascii_case("file") => {
                    self.rankfile = Some(file.into())
                }
                ("nolocal", _) => self.no_local = true,
                ("display", _) => self.report = true,
                (known, _) if NOTHING.contains(&known) => {}
                // This is MPICH's form `core:2`.
                (count, None) if count.bytes().all(|byte| byte.is_ascii_digit()) => {
                    self.elements = Some(count.into())
                }
                _ => return Err(wrong(&format!("`{modifier}` is not supported; {SEE_RANKFILE}"))),
            }
        }
        if word == "rankfile" && self.rankfile.is_none() {
            return Err(wrong("the file is missing, as in rankfile:file=FILE"));
        }
        Ok(())
    }

    /// Reads the value of `--rank-by`.
    ///
    /// # Errors
    /// Fails as [`map_by`](Self::map_by) does.
    pub fn rank_by(&mut self, typed: &str, text: &str) -> Result<(), String> {
        match text.to_ascii_lowercase().split(':').next().unwrap_or_default() {
            "slot" => {}
            "fill" => self.fill = true,
            "node" | "span" => self.by_node = Some(format!("{typed} {text}")),
            unit => {
                // This is how ranks are numbered inside a host anyway.
                Unit::from_str(unit).map_err(|why| format!("{typed} {text}: {why}, nor slot, fill, span"))?;
            }
        }
        Ok(())
    }

    /// Reads the value of `--bind-to`. Returns a remark, if there is one.
    ///
    /// # Errors
    /// Fails as [`map_by`](Self::map_by) does.
    pub fn bind_to(&mut self, typed: &str, text: &str) -> Result<Option<String>, String> {
        let wrong = |why: &str| format!("{typed} {text}: {why}");
        let mut words = text.split(':');
        let kind = words.next().unwrap_or_default().to_ascii_lowercase();
        if ["user", "cpu-list", "cpuset", "slot"].contains(&&*kind) {
            return Err(wrong(SEE_RANKFILE));
        }
        let mut count = 1;
        for word in words {
            match word.to_ascii_lowercase().as_str() {
                "report" => self.report = true,
                "overload-allowed" | "no-overload" | "if-supported" | "limit" => {}
                number => count = number.parse().map_err(|_| wrong(&format!("`{word}` is not supported")))?,
            }
        }
        if kind == "none" || kind == "default" {
            self.bind = Some("none".into());
            return Ok(None);
        }
        let unit = Unit::from_str(&kind).map_err(|why| wrong(&why))?;
        self.bind = Some(match (unit, count) {
            // A rank with the whole host is not bound.
            (Unit::Host, _) => "none".into(),
            (unit, 1) => unit.to_string(),
            (unit, count) => format!("{unit}:{count}"),
        });
        let is_other = kind.starts_with("l1") || kind.starts_with("l2");
        Ok(is_other.then(|| format!("{typed} {text}: ranks are bound to cores, which have these caches")))
    }

    /// Sets the number of ranks on each unit, or of cores for each rank, from options of older releases.
    pub fn set(&mut self, unit: Option<String>, elements: Option<String>) {
        self.unit = unit.or(self.unit.take());
        self.elements = elements.or(self.elements.take());
    }

    /// Returns the options of `canele run`.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = Vec::new();
        if let Some(file) = &self.rankfile {
            return vec![("--rankfile", file.clone())];
        }
        let whole = self.by_node.as_ref().map(|_| "node").or(self.elements.as_ref().map(|_| "slot"));
        if let Some(unit) = self.unit.clone().or(whole.map(str::to_owned)) {
            let elements = self.elements.as_ref().map(|count| format!(":pe={count}")).unwrap_or_default();
            let fill = if self.fill { ":fill" } else { "" };
            options.push(("--map-by", format!("{unit}{elements}{fill}")));
        }
        if let Some(bind) = &self.bind {
            options.push(("--bind", bind.clone()));
        }
        options
    }

    /// Returns the option that assigns ranks to the hosts in turn, if it has no effect because ranks are
    /// spread over other units.
    pub fn lost_order(&self) -> Option<&str> {
        self.by_node.as_deref().filter(|_| self.unit.is_some())
    }

    /// Returns true if the machine or the file determines the number of ranks.
    pub fn says_ranks(&self) -> bool {
        self.rankfile.is_some() || self.unit.as_ref().is_some_and(|unit| unit.starts_with("ppr"))
    }

    /// Checks the units to which ranks are bound.
    ///
    /// # Errors
    /// Fails with a text that describes the error.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in self.options() {
            match name {
                "--bind" => drop(value.parse::<BindTo>()?),
                "--map-by" => drop(value.parse::<crate::binding::MapBy>()?),
                _ => {}
            }
        }
        Ok(())
    }
}
