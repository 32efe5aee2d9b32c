//! The memory of an access to a file: elements of the program, as a stream of bytes.

use canele_mem::buffer::Readable;

use crate::Result;
use crate::data::{Elements, ElementsMut};

/// Elements that are written to a file, or filled from it.
pub enum Memory {
    /// Data that is written to the file.
    Source(Elements),
    /// Room for data that is read.
    Target(ElementsMut),
    /// Bytes as they are in the file.
    Converted {
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether they are written to the file.
        writes: bool,
    },
}

impl Memory {
    /// Bytes of data.
    ///
    /// # Errors
    /// More than can be counted.
    pub fn bytes(&self) -> Result<usize> {
        match self {
            Self::Source(elements) => elements.of.total_bytes(elements.count),
            Self::Target(elements) => elements.of.total_bytes(elements.count),
            Self::Converted { bytes, .. } => Ok(bytes.len()),
        }
    }

    /// Whether it is data that is written to the file.
    pub fn is_source(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Converted { writes: true, .. })
    }

    /// Whether its bytes lie one behind the other.
    pub(super) fn is_contiguous(&self) -> bool {
        match self {
            Self::Source(elements) => elements.of.is_contiguous(),
            Self::Target(elements) => elements.of.is_contiguous(),
            Self::Converted { .. } => true,
        }
    }

    /// Bytes of the stream, where they lie or packed into `scratch`.
    pub(super) fn bytes_at<'a>(&'a self, at: usize, len: usize, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if self.is_contiguous() {
            return match self {
                Self::Source(elements) => elements.raw.bytes(at.cast_signed(), len),
                Self::Target(elements) => elements.raw.bytes(at.cast_signed(), len),
                Self::Converted { bytes, .. } => &bytes[at..at + len],
            };
        }
        if scratch.len() < len {
            scratch.resize(len, 0);
        }
        self.pack(at, &mut scratch[..len]);
        &scratch[..len]
    }

    /// Copies bytes of the stream.
    pub(super) fn pack(&self, at: usize, into: &mut [u8]) {
        match self {
            Self::Source(elements) => elements.of.pack(&elements.raw, elements.count, at, into),
            Self::Target(elements) => elements.of.pack(&elements.raw, elements.count, at, into),
            Self::Converted { bytes, .. } => into.copy_from_slice(&bytes[at..at + into.len()]),
        }
    }

    /// Room for bytes of the stream, if they lie one behind the other.
    pub(super) fn room_at(&mut self, at: usize, len: usize) -> Option<&mut [u8]> {
        match self {
            Self::Target(elements) if elements.of.is_contiguous() => {
                Some(elements.raw.bytes_mut(at.cast_signed(), len))
            }
            Self::Converted { bytes, writes: false } => bytes.get_mut(at..at + len),
            _ => None,
        }
    }

    /// Stores bytes of the stream.
    pub(super) fn store(&mut self, at: usize, from: &[u8]) {
        match self {
            Self::Target(elements) => elements.of.unpack(&mut elements.raw, elements.count, at, from),
            Self::Converted { bytes, .. } => bytes[at..at + from.len()].copy_from_slice(from),
            Self::Source(_) => debug_assert!(from.is_empty(), "data that is written to a file is only read"),
        }
    }
}
