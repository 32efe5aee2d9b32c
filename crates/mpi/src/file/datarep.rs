//! Data representations (MPI 5.0, §14.5): encoding and size of data in a file.
//!
//! This module owns the conversion of elements; `conversion` decides which elements are converted when.

use std::sync::Arc;

use canele_mem::buffer::RawMut;
use canele_mem::layout::Layout;

use super::access_buffer::AccessBuffer;
use super::conversion::{DecodedData, EncodedData};
use crate::data::{Elements, ElementsMut};
use crate::datatype::{Basic, Datatype};
use crate::{Result, fail};

/// A data representation.
#[derive(Clone)]
pub enum Datarep {
    /// The bytes of memory.
    Native,
    /// The bytes of memory, since all hosts of a job have the same architecture.
    Internal,
    /// Big-endian, the same on all machines.
    External32,
    /// A representation that the program registered.
    Registered(Arc<dyn Representation>),
}

/// A data representation that the program registered.
pub trait Representation: Send + Sync {
    /// Returns the representation's name.
    fn name(&self) -> &str;
    /// Returns the size of a basic datatype in the file, in bytes.
    ///
    /// # Errors
    /// Fails with the code that the program's function returns.
    fn size(&self, basic: Basic) -> Result<usize>;
    /// Converts elements to the bytes of the file. Returns false if the program has no write function, so the
    /// bytes do not change.
    ///
    /// # Errors
    /// Fails with the code that the program's function returns.
    fn write(&self, from: &Elements, into: &mut [u8]) -> Result<bool>;
    /// Converts `count` elements from the bytes of the file; returns false in the case of
    /// [`Representation::write`].
    ///
    /// # Errors
    /// Fails with the code that the program's function returns.
    fn read(&self, from: &[u8], into: &mut RawMut, of: &Arc<Datatype>, count: usize) -> Result<bool>;
}

impl Datarep {
    /// Returns the standard representation of a name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "native" => Self::Native,
            "internal" => Self::Internal,
            "external32" => Self::External32,
            _ => return None,
        })
    }

    /// Returns the representation's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Internal => "internal",
            Self::External32 => "external32",
            Self::Registered(registered) => registered.name(),
        }
    }

    fn is_same_as_memory(&self) -> bool {
        matches!(self, Self::Native | Self::Internal)
    }

    fn size(&self, basic: Basic) -> Result<usize> {
        match self {
            Self::Native | Self::Internal => Ok(basic.size()),
            Self::External32 => Ok(basic.external_size()),
            Self::Registered(registered) => registered.size(basic),
        }
    }

    /// Returns the datatype that describes the data in the file.
    fn in_file(&self, datatype: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        match self.is_same_as_memory() {
            true => Ok(datatype.clone()),
            false => datatype.in_file(&|basic| self.size(basic)),
        }
    }

    /// Returns the layout of a datatype in the file.
    pub(super) fn layout(&self, datatype: &Arc<Datatype>) -> Result<Layout> {
        Ok((**self.in_file(datatype)?.layout()).clone())
    }

    /// Returns the extent of a datatype in the file.
    ///
    /// # Errors
    /// Fails if the program's function fails.
    pub fn extent(&self, datatype: &Arc<Datatype>) -> Result<isize> {
        Ok(self.in_file(datatype)?.extent())
    }

    /// Returns the number of bytes that data of memory takes in the file.
    pub(super) fn file_bytes(&self, memory: &AccessBuffer) -> Result<usize> {
        if self.is_same_as_memory() {
            return memory.bytes();
        }
        match memory {
            AccessBuffer::Source(Elements { count, of, .. }) => self.in_file(of)?.total_bytes(*count),
            AccessBuffer::Target(ElementsMut { count, of, .. }) => self.in_file(of)?.total_bytes(*count),
            AccessBuffer::Encoded(_) | AccessBuffer::Decoded(_) => memory.bytes(),
        }
    }

    /// Returns the data as the file has it.
    pub(super) fn convert(&self, memory: AccessBuffer) -> Result<AccessBuffer> {
        if self.is_same_as_memory() {
            return Ok(memory);
        }
        Ok(match memory {
            AccessBuffer::Source(elements) => {
                let element = self.in_file(&elements.of)?.size();
                AccessBuffer::Encoded(EncodedData::new(elements, self.clone(), element))
            }
            AccessBuffer::Target(elements) => {
                let element = self.in_file(&elements.of)?.size();
                AccessBuffer::Decoded(DecodedData::new(elements, self.clone(), element))
            }
            converted => converted,
        })
    }

    /// Converts elements to the bytes of the file.
    pub(super) fn encode(&self, from: &Elements, into: &mut [u8]) -> Result<()> {
        let Elements { raw, count, of } = from;
        match self {
            Self::External32 => of.pack_external(raw, *count, into, 0).map(drop),
            Self::Registered(registered) if registered.write(from, into)? => Ok(()),
            _ => {
                same_size(of.total_bytes(*count)?, into.len())?;
                of.pack(raw, *count, 0, into);
                Ok(())
            }
        }
    }

    /// Converts elements from the bytes of the file.
    pub(super) fn decode(
        &self,
        from: &[u8],
        into: &mut RawMut,
        of: &Arc<Datatype>,
        count: usize,
    ) -> Result<()> {
        match self {
            Self::External32 => of.unpack_external(from, 0, into, count).map(drop),
            Self::Registered(registered) if registered.read(from, into, of, count)? => Ok(()),
            _ => {
                same_size(of.total_bytes(count)?, from.len())?;
                of.unpack(into, count, 0, from);
                Ok(())
            }
        }
    }
}

/// Fails unless unconverted data has the same length in the file and in memory.
fn same_size(memory: usize, file: usize) -> Result<()> {
    if memory != file {
        fail!(
            Conversion,
            "the data has {memory} bytes in memory and {file} in the file, but its data representation has no conversion function"
        );
    }
    Ok(())
}
