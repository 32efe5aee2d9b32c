//! The messages between master and workers.
//!
//! ```text
//!   worker → master   kind, first row, end row, then samples, a text, or numbers
//!   master → worker   first row, end row                (rows 0 to 0: stop)
//! ```

use std::time::Duration;

use canele::{Error, Message};
use canele_show::Moved;

use crate::slices::Slice;

/// A message of a worker to the master. The first three also request another slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// A process of this worker has nothing to do yet.
    Ready,
    /// POV-Ray has rendered a slice: red, green, blue of each pixel, row after row.
    Rows(Slice, Vec<u8>),
    /// The process that rendered a slice was killed; the text describes the signal.
    Lost(Slice, String),
    /// This worker cannot render, and neither can others; the text is the reason.
    Failed(String),
    /// The last message: the data that the worker moved, and the time without a process.
    Left(Moved, Duration),
}

impl Report {
    /// Returns the message that carries it.
    pub fn pack(&self) -> Message {
        let mut message = Message::with_capacity(match self {
            Self::Rows(_, samples) => samples.len() + 64,
            _ => 256,
        });
        let head = |message: &mut Message, kind: u64, slice: &Slice| {
            message.pack(&[kind, slice.start as u64, slice.end as u64]);
        };
        match self {
            Self::Ready => head(&mut message, 0, &(0..0)),
            Self::Rows(slice, samples) => {
                head(&mut message, 1, slice);
                message.pack(samples);
            }
            Self::Lost(slice, why) => {
                head(&mut message, 2, slice);
                message.pack(why.as_bytes());
            }
            Self::Failed(why) => {
                head(&mut message, 3, &(0..0));
                message.pack(why.as_bytes());
            }
            Self::Left(moved, waited) => {
                head(&mut message, 4, &(0..0));
                message.pack(&moved.numbers());
                message.pack(&[waited.as_nanos() as u64]);
            }
        }
        message
    }

    /// Returns the report in a message; none if the message has no meaning.
    ///
    /// # Errors
    /// The message is shorter or has other types than its kind requires.
    pub fn unpack(mut message: Message) -> Result<Option<Self>, Error> {
        let mut head = [0_u64; 3];
        message.unpack(&mut head)?;
        let slice = head[1] as usize..head[2] as usize;
        let rest = |mut message: Message| -> Result<Vec<u8>, Error> {
            let mut bytes = vec![0_u8; message.len() - size_of_val(&head)];
            message.unpack(&mut bytes)?;
            Ok(bytes)
        };
        let text = |message| rest(message).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Some(match head[0] {
            0 => Self::Ready,
            1 => Self::Rows(slice, rest(message)?),
            2 => Self::Lost(slice, text(message)?),
            3 => Self::Failed(text(message)?),
            4 => {
                let (mut numbers, mut waited) = ([0; Moved::NUMBERS], [0_u64]);
                message.unpack(&mut numbers)?;
                message.unpack(&mut waited)?;
                Self::Left(Moved::from_numbers(numbers), Duration::from_nanos(waited[0]))
            }
            _ => return Ok(None),
        }))
    }
}

/// Makes the master's message to a worker: a slice to render, or the order to stop.
pub fn pack_order(slice: Option<&Slice>) -> Message {
    let mut message = Message::new();
    let (start, end) = slice.map_or((0, 0), |slice| (slice.start, slice.end));
    message.pack(&[start as u64, end as u64]);
    message
}

/// Unpacks the message of [`pack_order`]; none means to stop.
///
/// # Errors
/// The message is not of this form.
pub fn unpack_order(mut message: Message) -> Result<Option<Slice>, Error> {
    let mut rows = [0_u64; 2];
    message.unpack(&mut rows)?;
    let slice = rows[0] as usize..rows[1] as usize;
    Ok((!slice.is_empty()).then_some(slice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_carry_what_was_packed() {
        let numbers = std::array::from_fn(|n| n as u64);
        let reports = [
            Report::Ready,
            Report::Rows(3..5, vec![1, 2, 3]),
            Report::Lost(0..1, "signal 9".into()),
            Report::Failed("no such é".into()),
            Report::Left(Moved::from_numbers(numbers), Duration::from_nanos(7)),
        ];
        for report in reports {
            assert_eq!(Report::unpack(report.pack()).unwrap(), Some(report));
        }
        for order in [None, Some(0..1), Some(7..9)] {
            assert_eq!(unpack_order(pack_order(order.as_ref())).unwrap(), order);
        }
    }

    #[test]
    fn other_messages_are_refused() {
        let mut message = Message::new();
        message.pack(&[99_u64, 0, 0]);
        assert_eq!(Report::unpack(message).unwrap(), None);
        assert!(Report::unpack(pack_order(None)).is_err());
        assert!(unpack_order(Message::new()).is_err());
    }
}
