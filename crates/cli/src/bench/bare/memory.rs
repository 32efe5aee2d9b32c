//! The limits of shared memory: the loops of [`canele_mem::limits`].

use super::super::Failure;
use super::super::case::{Case, Limit, Task};
use super::Bare;
use canele_mem::limits::MachineLimits;

/// Bytes that one round of a copying limit moves in one direction, and the largest number of iterations.
const COPIED_BYTES: usize = 1 << 25;
const COPIES: usize = 20_000;

/// The part of one rank in these loops.
pub struct BareMemory<'a>(pub MachineLimits<'a>);

impl Bare for BareMemory<'_> {
    fn agree(&mut self, mine: u64) -> Result<u64, Failure> {
        Ok(self.0.agree(mine))
    }

    fn measure(&mut self, limit: Limit) -> Result<f64, Failure> {
        let limits = &mut self.0;
        // The last operation left the ranks at different times; the loops need both ranks to start together.
        limits.agree(0);
        let copies = |bytes: usize| (COPIED_BYTES / bytes.max(1)).clamp(1, COPIES) as u32;
        Ok(match limit {
            Limit::Line => limits.line_ns(100_000),
            Limit::Cells => 1e9 / limits.cells_per_s(1 << 21),
            Limit::Flags => limits.flags_ns(2000),
            Limit::Copy1(bytes) => limits.copy1_ns(bytes, copies(bytes)),
            Limit::Copy2(bytes) => limits.copy2_ns(bytes, copies(bytes)),
            Limit::Stream(bytes) => limits.stream_ns(bytes, copies(bytes)),
            Limit::Socket(_) | Limit::SocketStream(_) | Limit::SocketWindow(_) | Limit::Rail(..) => {
                return Err(format!("{limit} is not measured in shared memory").into());
            }
        })
    }

    fn stir(&mut self) -> Result<(), Failure> {
        if self.0.shape().ranks == 2 {
            self.0.line_ns(50_000);
        } else {
            self.0.flags_ns(500);
        }
        Ok(())
    }

    /// Returns true if a limit can be measured; more than two ranks have only the limit of all of them.
    fn has(&self, limit: Limit) -> bool {
        let sockets = matches!(
            limit,
            Limit::Socket(_) | Limit::SocketStream(_) | Limit::SocketWindow(_) | Limit::Rail(..)
        );
        !sockets && (self.0.shape().ranks == 2 || limit == Limit::Flags)
    }

    fn usual(&self, task: &Task, cases: &[&Case]) -> Vec<Limit> {
        let mut usual = vec![Limit::Flags];
        if task.ranks == 2 {
            usual.extend([Limit::Line, Limit::Cells]);
            let sizes = cases.iter().filter_map(|case| case.bytes).filter(|bytes| *bytes >= 64);
            let copied = |bytes| [Limit::Copy1(bytes), Limit::Copy2(bytes), Limit::Stream(bytes)];
            usual.extend(sizes.flat_map(copied));
        }
        usual
    }
}
