//! Error classes, codes and strings that the program adds (MPI 5.0, §9.5).
//!
//! The C interface knows the standard's classes; this module knows the numbers above them. An entry that
//! another one needs stays: a class is removed after its codes, and a class or code after its string.

use std::collections::BTreeMap;

use crate::{Result, fail};

/// Length limit of a string, without the terminating zero (MPI_MAX_ERROR_STRING).
const MAX_STRING: usize = 511;

/// The classes, codes and strings that the program has added.
#[derive(Clone, Debug)]
pub struct ErrorClasses {
    /// The largest of the standard's classes.
    predefined: i32,
    /// MPI_ERR_LASTCODE; added numbers are larger.
    last: i32,
    added: BTreeMap<i32, Added>,
}

#[derive(Clone, Debug)]
struct Added {
    /// The class of a code; none for a class.
    class: Option<i32>,
    string: Option<Box<[u8]>>,
}

impl ErrorClasses {
    /// Makes an empty table. The standard's classes are 1 to `predefined`; added numbers are larger than
    /// `last`.
    pub fn new(predefined: i32, last: i32) -> Self {
        Self { predefined, last, added: BTreeMap::new() }
    }

    /// Returns the largest number in use (MPI_LASTUSEDCODE).
    pub fn last_used(&self) -> i32 {
        self.added.last_key_value().map_or(self.last, |(&number, _)| number)
    }

    /// Adds a class and returns its number.
    ///
    /// # Errors
    /// Fails if all numbers are in use.
    pub fn add_class(&mut self) -> Result<i32> {
        self.add(None)
    }

    /// Adds a code of a class, which may be one of the standard's.
    ///
    /// # Errors
    /// Fails if the class does not exist or all numbers are in use.
    pub fn add_code(&mut self, class: i32) -> Result<i32> {
        let is_class = self.added.get(&class).is_some_and(|added| added.class.is_none());
        if !is_class && !(1..=self.predefined).contains(&class) {
            fail!(
                Argument,
                "errorclass is {class}, which is neither one of the standard nor one that was added"
            );
        }
        self.add(Some(class))
    }

    fn add(&mut self, class: Option<i32>) -> Result<i32> {
        let Some(number) = self.last_used().checked_add(1) else {
            fail!(Other, "all numbers of error classes and codes are in use; remove some");
        };
        self.added.insert(number, Added { class, string: None });
        Ok(number)
    }

    /// Returns the class of an added code, or an added class itself.
    pub fn class_of(&self, number: i32) -> Option<i32> {
        self.added.get(&number).map(|added| added.class.unwrap_or(number))
    }

    /// Sets the string of an added class or code.
    ///
    /// # Errors
    /// Fails if the number was not added or the string is too long.
    pub fn add_string(&mut self, number: i32, string: impl AsRef<[u8]>) -> Result<()> {
        let string = string.as_ref();
        if string.len() > MAX_STRING {
            fail!(Argument, "string has {} bytes; at most {MAX_STRING} are allowed", string.len());
        }
        self.added("errorcode", number)?.string = Some(string.into());
        Ok(())
    }

    /// Returns the string of a class or code; empty if it has none, `None` if the number was not added.
    pub fn string(&self, number: i32) -> Option<&[u8]> {
        self.added.get(&number).map(|added| added.string.as_deref().unwrap_or_default())
    }

    /// Removes a class.
    ///
    /// # Errors
    /// Fails if the class was not added, or still has codes or a string.
    pub fn remove_class(&mut self, class: i32) -> Result<()> {
        let added = self.added("errorclass", class)?;
        if let Some(of) = added.class {
            fail!(Argument, "errorclass is {class}, which is a code of class {of}; remove it as a code");
        }
        let has_string = added.string.is_some();
        if let Some((code, _)) = self.added.iter().find(|(_, added)| added.class == Some(class)) {
            fail!(Argument, "errorclass is {class}, of which there is code {code}; remove its codes first");
        }
        self.remove("errorclass", class, has_string)
    }

    /// Removes a code.
    ///
    /// # Errors
    /// Fails if the code was not added or still has a string.
    pub fn remove_code(&mut self, code: i32) -> Result<()> {
        let added = self.added("errorcode", code)?;
        if added.class.is_none() {
            fail!(Argument, "errorcode is {code}, which is a class; remove it as a class");
        }
        let has_string = added.string.is_some();
        self.remove("errorcode", code, has_string)
    }

    /// Removes the string of a class or code.
    ///
    /// # Errors
    /// Fails if the number was not added or has no string.
    pub fn remove_string(&mut self, number: i32) -> Result<()> {
        match self.added("errorcode", number)?.string.take() {
            Some(_) => Ok(()),
            None => fail!(Argument, "errorcode is {number}, which has no string"),
        }
    }

    fn remove(&mut self, name: &str, number: i32, has_string: bool) -> Result<()> {
        if has_string {
            fail!(Argument, "{name} is {number}, which has a string; remove the string first");
        }
        self.added.remove(&number);
        Ok(())
    }

    fn added(&mut self, name: &str, number: i32) -> Result<&mut Added> {
        match self.added.get_mut(&number) {
            Some(added) => Ok(added),
            None => fail!(Argument, "{name} is {number}, which the program did not add"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    #[test]
    fn numbers_grow_from_the_last_one() {
        let mut classes = ErrorClasses::new(62, 16383);
        assert_eq!(classes.last_used(), 16383);
        assert_eq!((classes.add_class().unwrap(), classes.add_code(16384).unwrap()), (16384, 16385));
        assert_eq!((classes.add_code(7).unwrap(), classes.last_used()), (16386, 16386));
        for (number, class) in
            [(16384, Some(16384)), (16385, Some(16384)), (16386, Some(7)), (16387, None), (7, None)]
        {
            assert_eq!(classes.class_of(number), class);
        }
        for wrong in [0, 63, -1, 16383, 16385, 16387] {
            assert_eq!(classes.add_code(wrong).unwrap_err().class, Class::Argument);
        }
        let mut full = ErrorClasses::new(62, i32::MAX);
        assert_eq!(full.add_class().unwrap_err().class, Class::Other);
    }

    #[test]
    fn strings_are_of_what_was_added() {
        let mut classes = ErrorClasses::new(62, 100);
        let class = classes.add_class().unwrap();
        assert_eq!(classes.string(class), Some(&b""[..]));
        classes.add_string(class, "first").unwrap();
        classes.add_string(class, [b'x'; 511]).unwrap();
        assert_eq!(classes.string(class), Some(&[b'x'; 511][..]));
        assert!(classes.add_string(class, [b'x'; 512]).is_err());
        assert!(classes.add_string(7, "another meaning").is_err());
        assert_eq!(classes.string(7), None);
        classes.remove_string(class).unwrap();
        assert!(classes.remove_string(class).is_err());
    }

    #[test]
    fn nothing_is_removed_that_is_needed() {
        let mut classes = ErrorClasses::new(62, 100);
        let class = classes.add_class().unwrap();
        let code = classes.add_code(class).unwrap();
        classes.add_string(code, "meaning").unwrap();
        assert!(classes.remove_class(class).is_err() && classes.remove_code(code).is_err());
        assert!(classes.remove_class(code).is_err() && classes.remove_code(class).is_err());
        assert!(classes.remove_class(7).is_err() && classes.remove_code(103).is_err());
        classes.remove_string(code).unwrap();
        classes.remove_code(code).unwrap();
        classes.add_string(class, "meaning").unwrap();
        assert!(classes.remove_class(class).is_err());
        classes.remove_string(class).unwrap();
        assert_eq!(classes.last_used(), class);
        classes.remove_class(class).unwrap();
        assert_eq!((classes.last_used(), classes.class_of(class)), (100, None));
    }
}
