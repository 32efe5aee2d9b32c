//! Categories (MPI 5.0, §15.3.9): the part of a name before its first underscore, if several names share it.
//!
//! The category `canele` holds all other categories, and all names that share no part with others. A numbered
//! category lies in that of its name without the number: `rail1` in `rail`. Categories are constant while a
//! process runs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::control::controls;
use super::event;
use super::performance::performances;

/// Variables and events with a common prefix; each number is an index into the table of its kind.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Category {
    /// The name of the category.
    pub name: String,
    /// A description of the contents.
    pub description: String,
    /// The control variables of the category.
    pub controls: Vec<i32>,
    /// The performance variables of the category.
    pub performances: Vec<i32>,
    /// The events of the category.
    pub events: Vec<i32>,
    /// The subcategories of the category.
    pub categories: Vec<i32>,
}

/// The category that holds all others.
const ROOT: &str = "canele";

/// Returns all categories; the first one holds all others.
pub fn categories() -> &'static [Category] {
    static ALL: LazyLock<Vec<Category>> = LazyLock::new(make);
    &ALL
}

/// Returns the prefix of a name.
fn beginning(name: &str) -> &str {
    name.split('_').next().unwrap_or(name)
}

/// Returns a prefix without its trailing number.
fn stem(beginning: &str) -> &str {
    beginning.trim_end_matches(|letter: char| letter.is_ascii_digit())
}

fn make() -> Vec<Category> {
    let names = controls().iter().map(|one| one.name());
    let names: Vec<_> = names
        .chain(performances().iter().map(|one| one.name()))
        .chain(event::TABLE.iter().map(|one| one.name))
        .collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    names.iter().for_each(|name| *uses.entry(beginning(name)).or_default() += 1);
    let is_shared = |beginning: &str| uses.get(beginning).is_some_and(|uses| *uses > 1);
    let stems = uses.keys().filter(|one| is_shared(one) && stem(one) != **one).map(|one| stem(one));
    let mut groups: BTreeMap<&str, Category> = stems.map(|stem| (stem, Category::default())).collect();
    groups.extend(uses.keys().filter(|one| is_shared(one)).map(|one| (*one, Category::default())));
    let mut root = Category::default();
    let mut put = |name: &'static str, list: fn(&mut Category) -> &mut Vec<i32>, index: usize| {
        let category = groups.get_mut(beginning(name)).unwrap_or(&mut root);
        list(category).push(index as i32);
    };
    controls().iter().enumerate().for_each(|(at, one)| put(one.name(), |all| &mut all.controls, at));
    performances().iter().enumerate().for_each(|(at, one)| put(one.name(), |all| &mut all.performances, at));
    event::TABLE.iter().enumerate().for_each(|(at, one)| put(one.name, |all| &mut all.events, at));
    let places: BTreeMap<&str, i32> = groups.keys().copied().zip(1..).collect();
    for (name, place) in &places {
        let parent = if stem(name) == *name { None } else { groups.get_mut(stem(name)) };
        parent.unwrap_or(&mut root).categories.push(*place);
    }
    root.name = ROOT.to_owned();
    root.description = "All variables and events of the library".to_owned();
    let named = groups.into_iter().map(|(name, category)| Category {
        name: name.to_owned(),
        description: format!("Variables and events whose names begin with {name}"),
        ..category
    });
    std::iter::once(root).chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_one_category_and_every_category_in_the_first() {
        let all = categories();
        let sorted = |list: fn(&Category) -> &Vec<i32>| {
            let mut found: Vec<i32> = all.iter().flat_map(list).copied().collect();
            found.sort_unstable();
            found
        };
        let up_to = |count: usize| (0..count as i32).collect::<Vec<_>>();
        assert_eq!(sorted(|one| &one.controls), up_to(controls().len()));
        assert_eq!(sorted(|one| &one.performances), up_to(performances().len()));
        assert_eq!(sorted(|one| &one.events), up_to(event::TABLE.len()));
        assert_eq!(sorted(|one| &one.categories), up_to(all.len())[1..], "all but the first");
    }

    #[test]
    fn names_begin_with_their_category_and_rails_lie_in_one() {
        let all = categories();
        let of = |name: &str| all.iter().find(|one| one.name == name).expect("a category");
        for one in &all[1..] {
            let names = one.controls.iter().map(|at| controls()[*at as usize].name());
            let names = names.chain(one.performances.iter().map(|at| performances()[*at as usize].name()));
            assert!(names.into_iter().all(|name| name.starts_with(&one.name)), "{one:?}");
        }
        let rails: Vec<_> = of("rail").categories.iter().map(|at| &*all[*at as usize].name).collect();
        assert_eq!(rails, ["rail1", "rail2", "rail3", "rail4"]);
        assert!(!of("eager").controls.is_empty() && !of("eager").performances.is_empty());
    }
}
