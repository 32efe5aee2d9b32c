//! Channels between the computing threads of one rank, whose edges stay in the process.
//!
//! A channel passes a vector without copying its content. A waiting thread polls for a while, yields its
//! processor from time to time, and finally sleeps.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use crate::error::LaplaceError;

/// Polls of a waiting thread before it sleeps.
const LOOKS: u32 = 1 << 12;
/// Polls between two yields of the processor, which the sending thread may need.
const LOOKS_BEFORE_YIELD: u32 = 1 << 6;

/// The channels of one thread to and from all threads of its rank.
pub struct Channels {
    to: Vec<Sender<Vec<f64>>>,
    from: Vec<Receiver<Vec<f64>>>,
}

impl Channels {
    /// Makes the channels for each of `threads` threads.
    pub fn between(threads: usize) -> Vec<Self> {
        let mut all: Vec<_> = (0..threads).map(|_| Self { to: vec![], from: vec![] }).collect();
        for sender in 0..threads {
            for receiver in 0..threads {
                let (to, from) = channel();
                all[sender].to.push(to);
                all[receiver].from.push(from);
            }
        }
        all
    }

    /// Sends values to a thread of this rank.
    ///
    /// # Errors
    /// The thread gave up.
    pub fn send(&self, thread: usize, values: Vec<f64>) -> Result<(), LaplaceError> {
        self.to[thread].send(values).map_err(|_| LaplaceError::GivenUp)
    }

    /// Receives the next values of a thread of this rank.
    ///
    /// # Errors
    /// The thread gave up.
    pub fn receive(&self, thread: usize) -> Result<Vec<f64>, LaplaceError> {
        let from = &self.from[thread];
        for look in 1..=LOOKS {
            match from.try_recv() {
                Ok(values) => return Ok(values),
                Err(TryRecvError::Disconnected) => return Err(LaplaceError::GivenUp),
                Err(TryRecvError::Empty) if look.is_multiple_of(LOOKS_BEFORE_YIELD) => {
                    std::thread::yield_now()
                }
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        from.recv().map_err(|_| LaplaceError::GivenUp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_order_also_after_a_sleep() {
        let [one, other]: [Channels; 2] = Channels::between(2).try_into().ok().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..100 {
                    let values = other.receive(0).unwrap();
                    assert_eq!(values, [f64::from(number)]);
                    other.send(0, values).unwrap();
                }
            });
            for number in 0..100 {
                if number == 50 {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                one.send(1, vec![f64::from(number)]).unwrap();
                assert_eq!(one.receive(1).unwrap(), [f64::from(number)]);
            }
        });
    }

    #[test]
    fn a_thread_that_is_gone_is_an_error() {
        let mut channels = Channels::between(2);
        drop(channels.pop());
        assert!(matches!(channels[0].receive(1), Err(LaplaceError::GivenUp)));
        assert!(matches!(channels[0].send(1, vec![]), Err(LaplaceError::GivenUp)));
    }
}
