//! A contiguous copy of an array part, for calls that no datatype can serve.

use core::ops::Range;

use crate::descriptor::Array;

/// A contiguous copy of an array part, which the MPI library reads and writes.
pub struct Copied {
    bytes: Vec<u64>,
    array: Array,
    /// The elements as they were before MPI wrote the copy, if it may write it. Only changed elements are
    /// written back, since the program may use the others in the meantime.
    before: Option<Vec<u64>>,
    /// Size of a partition in bytes; 0 if there are none.
    partition: usize,
}

impl Copied {
    /// Copies the elements. Those to be written are copied as well, because the call may write only a part of
    /// them.
    pub fn new(array: &Array, is_written: bool, partition: usize) -> Self {
        let bytes = array.element as usize * array.elements() as usize;
        let mut copied = Self {
            bytes: vec![0; bytes.div_ceil(size_of::<u64>())],
            array: array.clone(),
            before: is_written.then(Vec::new),
            partition,
        };
        copied.refresh();
        copied
    }

    /// Returns the address of the copy.
    pub fn address(&self) -> *const u8 {
        self.bytes.as_ptr().cast()
    }

    /// Copies all elements again when the request starts.
    pub fn refresh(&mut self) {
        self.copy_in(0..usize::MAX);
        if let Some(before) = &mut self.before {
            before.clone_from(&self.bytes);
        }
    }

    /// Copies the elements of partitions that the program has filled.
    pub fn refresh_partitions(&mut self, partitions: Range<usize>) {
        if self.before.is_none() {
            self.copy_in(self.bytes_of(partitions));
        }
    }

    /// Writes changed elements back to the program.
    pub fn write_back(&mut self) {
        self.copy_out(0..usize::MAX);
    }

    /// Writes the elements of an arrived partition back to the program.
    pub fn write_back_partition(&mut self, partition: usize) {
        self.copy_out(self.bytes_of(partition..partition + 1));
    }

    fn bytes_of(&self, partitions: Range<usize>) -> Range<usize> {
        partitions.start.saturating_mul(self.partition)..partitions.end.saturating_mul(self.partition)
    }

    fn copy_in(&mut self, range: Range<usize>) {
        let element = self.array.element as usize;
        let to = self.bytes.as_mut_ptr().cast::<u8>();
        let mut at = 0;
        self.array.each(|from| {
            let (first, length) = overlap(at..at + element, &range);
            // SAFETY: the element is of the program's array, and the copy has room for as many as are
            // visited.
            unsafe {
                core::ptr::copy_nonoverlapping(from.cast::<u8>().add(first), to.add(at + first), length)
            };
            at += element;
        });
    }

    fn copy_out(&mut self, range: Range<usize>) {
        let Some(before) = &mut self.before else { return };
        let element = self.array.element as usize;
        let (from, before) = (self.bytes.as_ptr().cast::<u8>(), before.as_mut_ptr().cast::<u8>());
        let mut at = 0;
        self.array.each(|to| {
            let (first, length) = overlap(at..at + element, &range);
            // SAFETY: the copy and what it was before have as many elements as the array.
            let (new, old) = unsafe {
                let at = at + first;
                (
                    core::slice::from_raw_parts(from.add(at), length),
                    core::slice::from_raw_parts_mut(before.add(at), length),
                )
            };
            if new != old {
                // SAFETY: the element is of the program's array, which is valid until the request has ended.
                unsafe { core::ptr::copy_nonoverlapping(new.as_ptr(), to.cast::<u8>().add(first), length) };
                old.copy_from_slice(new);
            }
            at += element;
        });
    }
}

/// Returns the offset and length of the bytes of an element within a range.
fn overlap(element: Range<usize>, range: &Range<usize>) -> (usize, usize) {
    let (first, end) = (element.start.max(range.start), element.end.min(range.end));
    if first < end { (first - element.start, end - first) } else { (0, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::tests::described;

    /// Every second of eight numbers.
    fn section(numbers: &mut [i32; 8]) -> Array {
        described(numbers.as_mut_ptr().cast(), 4, &[(4, 8)]).get().array()
    }

    /// Writes a number to the copy, as the library of MPI does.
    fn write(copied: &mut Copied, index: usize, number: i32) {
        // SAFETY: the copy has four numbers.
        unsafe { copied.bytes.as_mut_ptr().cast::<i32>().add(index).write(number) };
    }

    fn read(copied: &Copied) -> [i32; 4] {
        // SAFETY: as above.
        unsafe { copied.address().cast::<[i32; 4]>().read() }
    }

    #[test]
    fn elements_that_were_written_go_back_and_no_others() {
        let mut numbers = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut copied = Copied::new(&section(&mut numbers), true, 0);
        assert_eq!(read(&copied), [1, 3, 5, 7]);
        write(&mut copied, 1, -3);
        numbers[0] = -1;
        copied.write_back();
        assert_eq!(numbers, [-1, 2, -3, 4, 5, 6, 7, 8]);
        numbers[2] = 30;
        copied.write_back();
        assert_eq!(numbers[2], 30, "an element goes back once");
    }

    #[test]
    fn partitions_are_copied_one_by_one() {
        let mut numbers = [1, 2, 3, 4, 5, 6, 7, 8];
        // Partitions of six bytes end within elements.
        let mut sent = Copied::new(&section(&mut numbers), false, 6);
        numbers = [-1; 8];
        sent.refresh_partitions(0..1);
        assert_eq!(read(&sent), [-1, 3 | 0xFFFF, 5, 7]);
        sent.write_back();
        assert_eq!(numbers, [-1; 8], "a copy that is read does not go back");
        let mut received = Copied::new(&section(&mut numbers), true, 8);
        (0..4).for_each(|n| write(&mut received, n, 7));
        received.write_back_partition(1);
        assert_eq!(numbers, [-1, -1, -1, -1, 7, -1, 7, -1]);
    }
}
