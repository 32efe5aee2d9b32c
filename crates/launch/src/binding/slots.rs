//! The processors of a rank by number, as rank files name them: cores, cores of a package, or the kernel's
//! processors.
//!
//! ```text
//!   0-1,3     cores, counted from 0 through the host, near ones next to each other
//!   1:0-2     cores 0 to 2 of package 1;  1:* all of them
//!   p4-7      processors by the kernel's numbers
//! ```

use std::str::FromStr;

use canele_sys::topology::Topology;
use serde::{Deserialize, Serialize};

use super::unit::Unit;

/// The processors that a rank is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots {
    text: String,
    ranges: Vec<Range>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Range {
    of: Of,
    first: u32,
    last: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Of {
    Host,
    Package(u32),
    Kernel,
}

impl FromStr for Slots {
    type Err = String;

    fn from_str(text: &str) -> Result<Slots, String> {
        let mut of = Of::Host;
        let ranges = text.split(',').map(|word| {
            let mut word = word.trim();
            if let Some((package, rest)) = word.split_once(':') {
                (of, word) = (Of::Package(number(package, text)?), rest);
            } else if let Some(rest) = word.strip_prefix(['p', 'P']) {
                (of, word) = (Of::Kernel, rest);
            }
            if word == "*" && of != Of::Kernel {
                return Ok(Range { of, first: 0, last: u32::MAX });
            }
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let range = Range { of, first: number(first, text)?, last: number(last, text)? };
            if range.first > range.last {
                return Err(format!("slot={text}: `{word}` goes backwards"));
            }
            Ok(range)
        });
        Ok(Slots { ranges: ranges.collect::<Result<_, _>>()?, text: text.to_owned() })
    }
}

fn number(word: &str, text: &str) -> Result<u32, String> {
    let wrong =
        |_| format!("slot={text}: `{word}` is no number; cores are written 0-1,3 or, of a package, 1:0-2");
    word.trim().parse().map_err(wrong)
}

impl Slots {
    /// Returns the processors in ascending order.
    ///
    /// # Errors
    /// Fails with a text if the host has no such cores, or this process may not use them.
    pub fn processors(&self, topology: &Topology) -> Result<Vec<u32>, String> {
        let mut found = Vec::new();
        for &Range { of, first, last } in &self.ranges {
            let processors = topology.processors().iter();
            let units = match of {
                Of::Host => Unit::Core.all(topology),
                Of::Package(number) => {
                    let packages = Unit::Package.all(topology);
                    let package = packages.get(number as usize).ok_or_else(|| {
                        format!("slot={}: package {number} of {}, counted from 0", self.text, packages.len())
                    })?;
                    Unit::Core.among(processors.filter(|processor| package.contains(&processor.id)))
                }
                Of::Kernel => {
                    let allowed: Vec<u32> = processors.map(|processor| processor.id).collect();
                    let of_range = (first..=last).map_while(|id| allowed.contains(&id).then_some(id));
                    let of_range: Vec<u32> = of_range.collect();
                    if of_range.len() as u64 <= u64::from(last - first) {
                        return Err(format!(
                            "slot={}: this process may not use all of these processors",
                            self.text
                        ));
                    }
                    found.extend(of_range);
                    continue;
                }
            };
            let last = if last == u32::MAX { units.len() as u32 - 1 } else { last };
            let some = units.get(first as usize..=last as usize).ok_or_else(|| {
                format!("slot={}: core {last} of {}, counted from 0", self.text, units.len())
            })?;
            found.extend(some.iter().flatten());
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}
