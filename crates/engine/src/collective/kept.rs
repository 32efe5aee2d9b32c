//! Schedules made once and used again: programs repeat few shapes, often with one root after the other.
//!
//! Owns those of one flow. The one found last is looked at first, and then the one behind it: shapes that take turns follow each
//! other.

use std::sync::Arc;

use super::form::Shape;
use super::schedule::Schedule;
use crate::Error;

/// As many are kept; a rank that is the root in its turn is one of so many shapes.
const MOST: usize = 32;

/// Some schedules.
#[derive(Default)]
pub(super) struct Kept {
    all: Vec<(Shape, Arc<Schedule>)>,
    last: usize,
}

impl Kept {
    /// The schedule of a shape, made if there is none.
    ///
    /// # Errors
    /// It cannot be made.
    #[inline(always)]
    pub fn find(
        &mut self,
        shape: &Shape,
        make: impl FnOnce() -> Result<Schedule, Error>,
    ) -> Result<&Arc<Schedule>, Error> {
        if !self.is_at(self.last, shape) {
            let next = if self.last + 1 < self.all.len() { self.last + 1 } else { 0 };
            self.last = match self.is_at(next, shape) {
                true => next,
                false => match self.all.iter().position(|(known, _)| known == shape) {
                    Some(at) => at,
                    None => self.keep(*shape, make()?),
                },
            };
        }
        Ok(&self.all[self.last].1)
    }

    #[inline(always)]
    fn is_at(&self, at: usize, shape: &Shape) -> bool {
        self.all.get(at).is_some_and(|(known, _)| known == shape)
    }

    /// In place of the one behind the last where there are too many.
    #[cold]
    fn keep(&mut self, shape: Shape, schedule: Schedule) -> usize {
        let new = (shape, Arc::new(schedule));
        if self.all.len() < MOST {
            self.all.push(new);
            return self.all.len() - 1;
        }
        let at = (self.last + 1) % MOST;
        self.all[at] = new;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::form::Operation;

    fn shape(bytes: usize) -> Shape {
        Shape::new(Operation::Allreduce, bytes)
    }

    /// Finds a shape; says whether its schedule was made for it just now.
    fn is_made(kept: &mut Kept, bytes: usize) -> bool {
        let mut made = false;
        let schedule = kept.find(&shape(bytes), || {
            made = true;
            Ok(Schedule { scratch_bytes: bytes, ..Schedule::default() })
        });
        assert_eq!(schedule.unwrap().scratch_bytes, bytes);
        made
    }

    #[test]
    fn each_shape_is_made_once_until_there_are_too_many() {
        let mut kept = Kept::default();
        for round in 0..3 {
            for bytes in 0..MOST {
                assert_eq!(is_made(&mut kept, bytes), round == 0, "{bytes} in round {round}");
            }
        }
        assert!(is_made(&mut kept, MOST) && !is_made(&mut kept, MOST));
        assert!(is_made(&mut kept, 0), "its place was taken");
        assert!(!is_made(&mut kept, MOST - 1) && !is_made(&mut kept, 2) && kept.all.len() == MOST);
    }

    #[test]
    fn what_cannot_be_made_is_not_kept() {
        let mut kept = Kept::default();
        let error = || Err(Error::Finished);
        assert!(kept.find(&shape(1), error).is_err() && kept.find(&shape(1), error).is_err());
        assert!(is_made(&mut kept, 1));
    }
}
