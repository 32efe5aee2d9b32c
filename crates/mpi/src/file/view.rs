//! Views (MPI 5.0, §14.3): the bytes of a file that a process sees, and their units.

use std::sync::Arc;

use canele_mem::layout::Layout;

use super::datarep::Datarep;
use super::extents::Tiles;
use crate::datatype::{Basic, Datatype};
use crate::{Result, fail};

/// The part of a file that a process sees.
#[derive(Clone)]
pub struct View {
    displacement: u64,
    etype: Arc<Datatype>,
    filetype: Arc<Datatype>,
    datarep: Datarep,
    /// Bytes of an etype in the file.
    etype_bytes: usize,
    pub(super) tiles: Tiles,
}

impl View {
    /// Returns the view of all bytes of a file.
    pub(super) fn bytes() -> Self {
        let byte = Datatype::basic(Basic::Byte).clone();
        Self {
            displacement: 0,
            etype: byte.clone(),
            filetype: byte,
            datarep: Datarep::Native,
            etype_bytes: 1,
            tiles: Tiles::new(0, Layout::block(1)),
        }
    }

    /// Makes a view; `writes` is true if data is written through it.
    ///
    /// # Errors
    /// Fails on a negative displacement, or if the datatypes are not committed, do not match or cannot
    /// describe a file.
    pub fn new(
        displacement: i64,
        etype: &Arc<Datatype>,
        filetype: &Arc<Datatype>,
        datarep: Datarep,
        writes: bool,
    ) -> Result<Self> {
        let Ok(displacement) = u64::try_from(displacement) else {
            fail!(Argument, "disp is {displacement}: it must not be negative");
        };
        etype.check_committed()?;
        filetype.check_committed()?;
        let (etype_layout, layout) = (datarep.layout(etype)?, datarep.layout(filetype)?);
        let etype_bytes = etype_layout.size();
        if etype_bytes == 0 {
            fail!(Datatype, "etype has no data: positions in the file are counted in etypes");
        }
        if !layout.size().is_multiple_of(etype_bytes) {
            fail!(
                Datatype,
                "filetype has {} bytes of data, which are no multiple of the {etype_bytes} bytes of etype",
                layout.size()
            );
        }
        check_places("etype", &etype_layout, writes)?;
        check_places("filetype", &layout, writes)?;
        Ok(Self {
            displacement,
            etype: etype.clone(),
            filetype: filetype.clone(),
            datarep,
            etype_bytes,
            tiles: Tiles::new(displacement, layout),
        })
    }

    /// Returns the offset in the file at which the view begins.
    pub fn displacement(&self) -> u64 {
        self.displacement
    }

    /// Returns the etype, the unit of positions.
    pub fn etype(&self) -> &Arc<Datatype> {
        &self.etype
    }

    /// Returns the filetype, which repeats along the file.
    pub fn filetype(&self) -> &Arc<Datatype> {
        &self.filetype
    }

    /// Returns the data representation of the file.
    pub fn datarep(&self) -> &Datarep {
        &self.datarep
    }

    /// Returns the size of an etype in the file, in bytes.
    pub(super) fn etype_bytes(&self) -> usize {
        self.etype_bytes
    }
}

/// Fails unless the displacements of a datatype are valid for an etype or a filetype (MPI 5.0, §14.1.1). The
/// extent is free: the next element may begin before the last data, as when a filetype is used once.
fn check_places(what: &str, layout: &Layout, writes: bool) -> Result<()> {
    if layout.size() == 0 {
        return Ok(());
    }
    let bounds = layout.bounds();
    if bounds.start < 0 {
        fail!(
            Datatype,
            "{what} has data at displacement {}: places in a file are not negative",
            bounds.start
        );
    }
    let (mut last, mut end) = (0, 0);
    let (mut back, mut twice) = (None, None);
    layout.stretches(1, 0, layout.size(), |place, _, len| {
        if place < last {
            back.get_or_insert((last, place));
        }
        if place < end {
            twice.get_or_insert(place);
        }
        last = place;
        end = end.max(place.saturating_add_unsigned(len));
    });
    if let Some((last, place)) = back {
        fail!(
            Datatype,
            "{what} has data at displacement {place} behind {last}: displacements must not decrease"
        );
    }
    if let Some(place) = twice.filter(|_| writes) {
        fail!(
            Datatype,
            "{what} has the byte at displacement {place} twice: what is written must not overlap"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;
    use crate::datatype::Width;

    fn indexed(lens: &[i64], places: &[i64], extent: Option<i64>) -> Arc<Datatype> {
        let int = Datatype::basic(Basic::Int);
        let made = Datatype::indexed(Width::Int, lens, places, int).unwrap();
        let made = match extent {
            Some(extent) => Datatype::resized(Width::Int, &made, 0, extent).unwrap(),
            None => made,
        };
        made.commit();
        made
    }

    fn view(filetype: &Arc<Datatype>, writes: bool) -> Result<View> {
        View::new(0, Datatype::basic(Basic::Int), filetype, Datarep::Native, writes)
    }

    #[test]
    fn what_a_view_may_be_is_checked() {
        let class = |filetype, writes| view(&filetype, writes).err().map(|error| error.class);
        let wrong = Some(Class::Datatype);
        assert_eq!(class(indexed(&[1, 2], &[0, 4], None), true), None);
        assert_eq!(class(indexed(&[1], &[-1], None), false), wrong, "negative");
        assert_eq!(class(indexed(&[1, 1], &[4, 0], None), false), wrong, "decreasing");
        assert_eq!(class(indexed(&[2, 1], &[0, 1], None), true), wrong, "overlapping");
        assert_eq!(class(indexed(&[2, 1], &[0, 1], None), false), None, "read twice");
        for extent in [-4, 0, 4, 8] {
            assert_eq!(class(indexed(&[1, 1], &[0, 4], Some(extent)), true), None, "extent {extent}");
        }
        let (byte, long) = (Datatype::basic(Basic::Byte), Datatype::basic(Basic::Long));
        let fails = |disp, etype, filetype| {
            View::new(disp, etype, filetype, Datarep::Native, true).err().map(|e| e.class)
        };
        assert_eq!(fails(0, long, byte), wrong, "no multiple");
        assert_eq!(fails(-1, byte, byte), Some(Class::Argument));
        assert_eq!(fails(1, byte, long), None);
    }
}
