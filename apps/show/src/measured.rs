//! The measurements of a run, as one JSON object for programs that read it.

use std::io::Write;
use std::time::Duration;

use serde::Serialize;

/// The figures that all programs have in common, and those of one program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured<T> {
    /// Name of the program.
    pub program: &'static str,
    /// Number of ranks.
    pub ranks: usize,
    /// Computing threads of each rank.
    pub threads: usize,
    /// Seconds of the computation, without input and output.
    pub seconds: f64,
    /// The part of these spent in communication, including waits for other ranks: 0 to 1.
    pub communication: f64,
    /// Figures of this program only, on the same level as the others.
    #[serde(flatten)]
    pub own: T,
}

impl<T: Serialize> Measured<T> {
    /// Prints all figures on standard output, in one line.
    pub fn print(&self) {
        // Numbers and texts in a structure can always be written as JSON.
        let text = serde_json::to_string(self).expect("figures are plain numbers");
        // A closed pipe is no reason to fail.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}

/// Returns a part of a whole time, from 0 to 1; 0 if the whole is zero.
pub fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { (part.as_secs_f64() / whole.as_secs_f64()).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_own_figures_stand_beside_the_others() {
        #[derive(Serialize)]
        struct Own {
            sweeps: u64,
        }
        let measured = Measured {
            program: "laplace",
            ranks: 2,
            threads: 1,
            seconds: 1.5,
            communication: share(Duration::from_millis(750), Duration::from_millis(1500)),
            own: Own { sweeps: 7 },
        };
        let text = serde_json::to_string(&measured).unwrap();
        assert_eq!(
            text,
            r#"{"program":"laplace","ranks":2,"threads":1,"seconds":1.5,"communication":0.5,"sweeps":7}"#
        );
    }

    #[test]
    fn a_share_is_at_most_all() {
        assert_eq!(share(Duration::ZERO, Duration::ZERO), 0.0);
        assert_eq!(share(Duration::from_secs(3), Duration::from_secs(2)), 1.0);
    }
}
