//! A cache of schedules that are made once and used again: programs repeat few shapes, often with one root
//! after the other.
//!
//! Owns those of one flow. A search begins with the last one found, and goes on with the one behind it:
//! shapes that take turns follow each other.

use std::sync::Arc;

use crate::Error;
use crate::schedule::Schedule;
use crate::spec::Shape;

/// The most schedules that are kept. If ranks take turns as the root, each root is a shape of its own.
const MOST: usize = 32;

/// A cache of schedules by shape.
#[derive(Default)]
pub struct ScheduleCache {
    all: Vec<(Shape, Arc<Schedule>)>,
    last: usize,
}

impl ScheduleCache {
    /// Returns the schedule of a shape, and makes it if the cache has none.
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

    /// Keeps a schedule; in a full cache it replaces the one behind the last.
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
    use crate::spec::Operation;

    fn shape(bytes: usize) -> Shape {
        Shape::new(Operation::Allreduce, bytes)
    }

    /// Finds a shape; returns true if its schedule was made for it just now.
    fn is_made(cache: &mut ScheduleCache, bytes: usize) -> bool {
        let mut made = false;
        let schedule = cache.find(&shape(bytes), || {
            made = true;
            Ok(Schedule { scratch_bytes: bytes, ..Schedule::default() })
        });
        assert_eq!(schedule.unwrap().scratch_bytes, bytes);
        made
    }

    #[test]
    fn each_shape_is_made_once_until_there_are_too_many() {
        let mut cache = ScheduleCache::default();
        for round in 0..3 {
            for bytes in 0..MOST {
                assert_eq!(is_made(&mut cache, bytes), round == 0, "{bytes} in round {round}");
            }
        }
        assert!(is_made(&mut cache, MOST) && !is_made(&mut cache, MOST));
        assert!(is_made(&mut cache, 0), "its place was taken");
        assert!(!is_made(&mut cache, MOST - 1) && !is_made(&mut cache, 2) && cache.all.len() == MOST);
    }

    #[test]
    fn what_cannot_be_made_is_not_kept() {
        let mut cache = ScheduleCache::default();
        let error = || Err(Error::Lengths { what: "of a test", given: 1, needed: 2 });
        assert!(cache.find(&shape(1), error).is_err() && cache.find(&shape(1), error).is_err());
        assert!(is_made(&mut cache, 1));
    }
}
