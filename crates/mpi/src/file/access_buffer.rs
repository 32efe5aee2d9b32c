//! The memory of an access to a file: elements of the program as a stream of bytes.

use canele_mem::buffer::Readable;

use super::conversion::{DecodedData, EncodedData};
use crate::Result;
use crate::data::{Elements, ElementsMut};

/// The elements that an access writes to a file or reads from it.
pub enum AccessBuffer {
    /// Data to write to the file.
    Source(Elements),
    /// Room for data to read.
    Target(ElementsMut),
    /// Data that is converted while it is written.
    Encoded(EncodedData),
    /// Room for data that is converted while it is read.
    Decoded(DecodedData),
}

impl AccessBuffer {
    /// Returns the length of the stream in bytes.
    ///
    /// # Errors
    /// Fails if the number does not fit.
    pub fn bytes(&self) -> Result<usize> {
        match self {
            Self::Source(elements) => elements.of.total_bytes(elements.count),
            Self::Target(elements) => elements.of.total_bytes(elements.count),
            Self::Encoded(data) => Ok(data.len()),
            Self::Decoded(data) => Ok(data.len()),
        }
    }

    /// Returns true if the data is written to the file.
    pub fn is_source(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Encoded(_))
    }

    /// Returns true if the bytes are contiguous in memory.
    pub(super) fn is_contiguous(&self) -> bool {
        match self {
            Self::Source(elements) => elements.of.is_contiguous(),
            Self::Target(elements) => elements.of.is_contiguous(),
            Self::Encoded(_) | Self::Decoded(_) => false,
        }
    }

    /// Returns bytes of the stream to write, in place or packed into `scratch`.
    ///
    /// # Errors
    /// Fails if the conversion fails.
    pub(super) fn bytes_at<'a>(
        &'a mut self,
        at: usize,
        len: usize,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        match self {
            Self::Source(elements) => {
                if elements.of.is_contiguous() {
                    return Ok(elements.raw.bytes(at.cast_signed(), len));
                }
                if scratch.len() < len {
                    scratch.resize(len, 0);
                }
                elements.of.pack(&elements.raw, elements.count, at, &mut scratch[..len]);
                Ok(&scratch[..len])
            }
            Self::Encoded(data) => data.bytes_at(at, len),
            Self::Target(_) | Self::Decoded(_) => {
                debug_assert!(len == 0, "memory that is filled from a file is only written");
                Ok(&[])
            }
        }
    }

    /// Returns room for bytes of the stream if they are contiguous in memory.
    pub(super) fn room_at(&mut self, at: usize, len: usize) -> Option<&mut [u8]> {
        match self {
            Self::Target(elements) if elements.of.is_contiguous() => {
                Some(elements.raw.bytes_mut(at.cast_signed(), len))
            }
            _ => None,
        }
    }

    /// Stores the next bytes of the stream, which begin at `at`.
    ///
    /// # Errors
    /// Fails if the conversion fails.
    pub(super) fn store(&mut self, at: usize, from: &[u8]) -> Result<()> {
        match self {
            Self::Target(elements) => elements.of.unpack(&mut elements.raw, elements.count, at, from),
            Self::Decoded(data) => data.store(from)?,
            Self::Source(_) | Self::Encoded(_) => {
                debug_assert!(from.is_empty(), "data that is written to a file is only read");
            }
        }
        Ok(())
    }
}
