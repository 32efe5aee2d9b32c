//! The bytes of a message in private memory: up to one cell in place, more on the heap.

/// Number of bytes that the message object itself can hold, as many as one cell.
pub const CELL: usize = canele_engine::MAX_INLINE;

/// A growing array of bytes that allocates only beyond [`CELL`].
pub struct Store {
    len: usize,
    cell: [u8; CELL],
    /// All bytes, once they do not fit into the object.
    heap: Vec<u8>,
}

impl Store {
    pub const fn new() -> Self {
        Self { len: 0, cell: [0; CELL], heap: Vec::new() }
    }

    /// Makes a store of `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        let heap = if len > CELL { vec![0; len] } else { Vec::new() };
        Self { len, cell: [0; CELL], heap }
    }

    /// Makes a store of these bytes.
    pub fn of(bytes: Vec<u8>) -> Self {
        let mut store = Self { len: bytes.len(), cell: [0; CELL], heap: bytes };
        if store.len <= CELL {
            store.cell[..store.len].copy_from_slice(&store.heap);
        }
        store
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        if self.len <= CELL { &self.cell[..self.len] } else { &self.heap }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.len <= CELL { &mut self.cell[..self.len] } else { &mut self.heap }
    }

    #[inline(always)]
    pub fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        if end <= CELL {
            copy(bytes, &mut self.cell[self.len..end]);
        } else {
            if self.len <= CELL {
                self.heap.clear();
                self.heap.extend_from_slice(&self.cell[..self.len]);
            }
            self.heap.extend_from_slice(bytes);
        }
        self.len = end;
    }

    /// Drops the bytes beyond `len`.
    pub fn truncate(&mut self, len: usize) {
        if len <= CELL && self.len > CELL {
            self.cell[..len].copy_from_slice(&self.heap[..len]);
        } else {
            self.heap.truncate(len);
        }
        self.len = self.len.min(len);
    }
}

impl canele_engine::Room for Store {
    #[inline(always)]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        if len <= CELL {
            self.len = len;
        } else {
            *self = Self::zeroed(len);
        }
        Some(self.bytes_mut())
    }
}

/// Copies between slices of one length; a whole cell is copied without a call.
#[inline(always)]
pub fn copy(from: &[u8], to: &mut [u8]) {
    match (<&[u8; CELL]>::try_from(from), <&mut [u8; CELL]>::try_from(&mut *to)) {
        (Ok(from), Ok(to)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_the_same_across_the_edge_of_the_cell() {
        let all: Vec<u8> = (0..200).collect();
        for step in [1, 7, 48, 49, 200] {
            let mut store = Store::new();
            all.chunks(step).for_each(|chunk| store.push(chunk));
            assert_eq!(store.bytes(), all);
            for len in [100, 49, 48, 30] {
                store.truncate(len);
                assert_eq!(store.bytes(), &all[..len]);
            }
            store.push(&all[30..]);
            assert_eq!(store.bytes(), all, "pushed again, step {step}");
        }
    }
}
