//! Agreement of a file's members: on errors, and on arguments that must be equal.

use canele_engine::collective::{Operation, Root, Shape};

use super::File;
use super::hints::Hints;
use crate::comm::Comm;
use crate::info::Info;
use crate::{Class, Error, Result};

/// Length limit of another member's error text.
const LONGEST_TEXT: usize = 2048;
const FINE: i64 = -1;

/// Returns a hash of a text.
pub(super) fn hash(bytes: &[u8]) -> i64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step).cast_signed()
}

impl Comm {
    /// Fails if the operation failed on any member.
    pub(super) fn agree<T>(&self, own: Result<T>) -> Result<T> {
        self.agree_on(own, [], "")
    }

    /// Fails if the operation failed on any member: with the member's own error, or that of the first failed
    /// member. `numbers` must be equal on all members; `differ` is the error text if they are not.
    pub(super) fn agree_on<T, const N: usize>(
        &self,
        own: Result<T>,
        numbers: [i64; N],
        differ: &str,
    ) -> Result<T> {
        let (class, text) = match &own {
            Ok(_) => (FINE, String::new()),
            Err(error) => {
                let mut text = error.text.clone();
                let mut len = text.len().min(LONGEST_TEXT);
                while !text.is_char_boundary(len) {
                    len -= 1;
                }
                text.truncate(len);
                (error.class.number().into(), text)
            }
        };
        if self.size() == 1 {
            return own;
        }
        let mut mine = vec![class, text.len() as i64];
        mine.extend(numbers);
        let all = self.numbers_of_all(&mine)?;
        let mut members = all.chunks_exact(mine.len());
        if let Some(first) = members.clone().position(|member| member[0] != FINE) {
            let of_first = &all[first * mine.len()..];
            let text = self.text_of(first, text, of_first[1])?;
            own?;
            let class = u8::try_from(of_first[0]).ok().and_then(Class::of_number);
            return Err(Error::new(class.unwrap_or(Class::Other), text));
        }
        if let Some(other) = members.position(|member| member[2..] != mine[2..]) {
            let text = format!("ranks {} and {other} do not agree: {differ}", self.rank());
            return Err(Error::new(Class::NotSame, text));
        }
        own
    }

    /// Returns a text of one member to all members; `len` is its length.
    fn text_of(&self, member: usize, mine: String, len: i64) -> Result<String> {
        let len = usize::try_from(len).unwrap_or(0).min(LONGEST_TEXT);
        let mut bytes = if self.rank() == member { mine.into_bytes() } else { vec![0; len] };
        bytes.resize(len, 0);
        self.broadcast(member, &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends the bytes of one member to all members.
    pub(super) fn broadcast(&self, from: usize, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() || self.size() == 1 {
            return Ok(());
        }
        let shape = Shape::new(Operation::Broadcast(Root::At(from as u32)), bytes.len());
        Ok(self.engine.collective(self.collectives(), shape, None, &[], bytes)?)
    }
}

impl File {
    /// Fails if an operation failed on any member or `numbers` differ ([`Comm::agree_on`]).
    pub(super) fn agree_on<T, const N: usize>(
        &self,
        own: Result<T>,
        numbers: [i64; N],
        differ: &str,
    ) -> Result<T> {
        self.comm.agree_on(own, numbers, differ)
    }

    /// Fails if a call failed on any member.
    pub(super) fn agree<T>(&self, own: Result<T>) -> Result<T> {
        self.comm.agree(own)
    }

    /// Returns the hints with those of an info added. Where members must agree, the values of the first
    /// member are used.
    pub(super) fn agree_on_hints(&self, info: Option<&Info>) -> Result<Hints> {
        let hints = (*self.state().hints).clone();
        self.comm.agree_on_hints(hints, info)
    }
}

impl Comm {
    /// Returns hints on which all members agree ([`File::agree_on_hints`]).
    pub(super) fn agree_on_hints(&self, mut hints: Hints, info: Option<&Info>) -> Result<Hints> {
        if let Some(info) = info {
            hints.update(info);
        }
        let mut shared = hints.shared();
        self.broadcast(0, bytemuck::cast_slice_mut(&mut shared))?;
        hints.share(&shared);
        Ok(hints)
    }
}
