//! The matcher against a naive model: two lists in order, searched from the front.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Post(Want),
    /// A message: matched if a receive wants it, else stored.
    Message(Rank, Tag),
    /// A message stored without a look for its receive, so that both sides fill up with entries that would
    /// match.
    Store(Rank, Tag),
    /// Cancels one of all handles ever given, stale ones included.
    Cancel(prop::sample::Index),
    Take(Want),
    Peek(Want),
    Gone(Rank),
}

/// Posted receives in order; unexpected messages in order.
#[derive(Default)]
struct Model {
    posted: Vec<(PostedId, Want, RequestId)>,
    unexpected: Vec<FoundMessage>,
}

fn wants(want: Want, source: Rank, tag: Tag) -> bool {
    want.source.is_none_or(|wanted| wanted == source) && want.tag.is_none_or(|wanted| wanted == tag)
}

impl Model {
    fn arrive(&mut self, source: Rank, tag: Tag) -> Option<RequestId> {
        let at = self.posted.iter().position(|&(_, want, _)| wants(want, source, tag))?;
        Some(self.posted.remove(at).2)
    }

    fn cancel(&mut self, id: PostedId) -> Option<RequestId> {
        let at = self.posted.iter().position(|posted| posted.0 == id)?;
        Some(self.posted.remove(at).2)
    }

    fn position(&self, want: Want) -> Option<usize> {
        self.unexpected.iter().position(|found| wants(want, found.source, found.tag))
    }
}

fn request(number: usize) -> RequestId {
    RequestId { index: number as u32, generation: 7 }
}

fn exact(source: u32, tag: u32) -> Want {
    Want { source: Some(Rank(source)), tag: Some(Tag(tag)) }
}

const ANYTHING: Want = Want { source: None, tag: None };

fn rank() -> impl Strategy<Value = Rank> {
    (0..3u32).prop_map(Rank)
}

fn tag() -> impl Strategy<Value = Tag> {
    prop_oneof![(0..3u32).prop_map(Tag), Just(Tag(u32::MAX))]
}

/// Draws a step with few ranks and tags, so that wants of different kinds compete for the same messages.
fn step() -> impl Strategy<Value = Step> {
    let want = || {
        (prop::option::weighted(0.6, rank()), prop::option::weighted(0.6, tag()))
            .prop_map(|(source, tag)| Want { source, tag })
    };
    prop_oneof![
        6 => want().prop_map(Step::Post),
        6 => (rank(), tag()).prop_map(|(source, tag)| Step::Message(source, tag)),
        3 => (rank(), tag()).prop_map(|(source, tag)| Step::Store(source, tag)),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        3 => want().prop_map(Step::Take),
        2 => want().prop_map(Step::Peek),
        1 => rank().prop_map(Step::Gone),
    ]
}

fn run(program: &[Step]) -> Result<(), TestCaseError> {
    let (mut matcher, mut model) = (Matcher::new(), Model::default());
    let mut given = Vec::new();
    for (number, &step) in program.iter().enumerate() {
        let message = number as u32;
        match step {
            Step::Post(want) => {
                let id = matcher.post(want, request(number));
                prop_assert!(!given.contains(&id));
                given.push(id);
                model.posted.push((id, want, request(number)));
            }
            Step::Message(source, tag) => {
                let receive = matcher.arrive(source, tag);
                prop_assert_eq!(receive, model.arrive(source, tag));
                if receive.is_none() {
                    matcher.store(source, tag, message);
                    model.unexpected.push(FoundMessage { source, tag, message });
                }
            }
            Step::Store(source, tag) => {
                matcher.store(source, tag, message);
                model.unexpected.push(FoundMessage { source, tag, message });
            }
            Step::Cancel(pick) if !given.is_empty() => {
                let id = *pick.get(&given);
                prop_assert_eq!(matcher.cancel(id), model.cancel(id));
            }
            Step::Cancel(_) => {}
            Step::Take(want) => {
                let expected = model.position(want).map(|at| model.unexpected.remove(at));
                prop_assert_eq!(matcher.take(want), expected);
            }
            Step::Peek(want) => {
                prop_assert_eq!(matcher.peek(want), model.position(want).map(|at| model.unexpected[at]));
            }
            Step::Gone(source) => check_gone(&matcher, &model, source)?,
        }
        prop_assert_eq!(matcher.is_quiet(), model.posted.is_empty() && model.unexpected.is_empty());
    }
    drain(matcher, model)
}

fn check_gone(matcher: &Matcher, model: &Model, source: Rank) -> Result<(), TestCaseError> {
    let mut naming: Vec<RequestId> = matcher.posted_from(source).map(|(_, request)| request).collect();
    naming.sort();
    // Request numbers grow with time, so the model's order is already the sorted one.
    let expected = model.posted.iter().filter(|posted| posted.1.source == Some(source));
    prop_assert_eq!(naming, expected.map(|posted| posted.2).collect::<Vec<_>>());
    for (id, request) in matcher.posted_from(source) {
        prop_assert!(model.posted.iter().any(|posted| posted.0 == id && posted.2 == request));
    }
    Ok(())
}

/// Empties both sides, so that every link left behind by the program is followed once.
fn drain(mut matcher: Matcher, mut model: Model) -> Result<(), TestCaseError> {
    while let Some(&(id, want, _)) = model.posted.first() {
        let (source, tag) = (want.source.unwrap_or(Rank(9)), want.tag.unwrap_or(Tag(9)));
        prop_assert_eq!(matcher.arrive(source, tag), model.arrive(source, tag));
        prop_assert_eq!(matcher.cancel(id), None);
    }
    for found in model.unexpected {
        prop_assert_eq!(matcher.take(ANYTHING), Some(found));
    }
    prop_assert!(matcher.is_quiet());
    prop_assert_eq!(matcher.posted.wildcards(), 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 2000 }))]
    #[test]
    fn matches_as_the_model_does(program in prop::collection::vec(step(), 0..120)) {
        run(&program)?;
    }
}

#[test]
fn the_receive_posted_first_wins_among_all_kinds() {
    let kinds = [
        exact(1, 5),
        Want { source: None, tag: Some(Tag(5)) },
        Want { source: Some(Rank(1)), tag: None },
        ANYTHING,
    ];
    for first in 0..4 {
        let mut matcher = Matcher::new();
        for turn in 0..4 {
            matcher.post(kinds[(first + turn) % 4], request(turn));
        }
        for turn in 0..4 {
            assert_eq!(matcher.arrive(Rank(1), Tag(5)), Some(request(turn)));
        }
        assert_eq!(matcher.arrive(Rank(1), Tag(5)), None);
    }
}

#[test]
fn a_rarer_index_exists_once_asked_for_and_only_if_something_waits() {
    let mut matcher = Matcher::new();
    let any_source = Want { source: None, tag: Some(Tag(2)) };
    assert_eq!(matcher.take(any_source), None);
    assert_eq!(matcher.unexpected.built(), [true, false, false, false]);
    for (source, message) in [(3, 30), (1, 10), (2, 20)] {
        matcher.store(Rank(source), Tag(2), message);
    }
    // A hole in the middle, so that places are not in order of arrival when the index is built.
    assert_eq!(matcher.take(exact(3, 2)).unwrap().message, 30);
    matcher.store(Rank(3), Tag(2), 31);
    assert_eq!(matcher.peek(any_source).unwrap().message, 10);
    assert_eq!(matcher.unexpected.built(), [true, true, false, false]);
    let order: Vec<u32> =
        std::iter::from_fn(|| matcher.take(any_source)).map(|found| found.message).collect();
    assert_eq!(order, [10, 20, 31]);
}

#[test]
fn a_stale_handle_cancels_nothing() {
    let mut matcher = Matcher::new();
    let first = matcher.post(exact(0, 0), request(1));
    assert_eq!(matcher.arrive(Rank(0), Tag(0)), Some(request(1)));
    let second = matcher.post(exact(0, 0), request(2));
    assert_eq!(matcher.cancel(first), None);
    assert_eq!(matcher.cancel(second), Some(request(2)));
    assert_eq!(matcher.cancel(second), None);
    assert!(matcher.is_quiet());
}

#[test]
fn ever_new_tags_do_not_make_it_grow() {
    let mut matcher = Matcher::new();
    // Each round uses every kind of want and new tags, with at most ten of a side waiting at once.
    let round = |matcher: &mut Matcher, number: u32| {
        let tags = number * 10..number * 10 + 10;
        for tag in tags.clone() {
            let source = (tag % 3 == 0).then_some(Rank(tag));
            matcher.post(Want { source, tag: Some(Tag(tag)) }, request(tag as usize));
        }
        let cancelled = matcher.post(Want { source: Some(Rank(number)), tag: None }, request(0));
        assert!(matcher.cancel(cancelled).is_some());
        for tag in tags.clone() {
            assert_eq!(matcher.arrive(Rank(tag), Tag(tag)), Some(request(tag as usize)));
            matcher.store(Rank(tag), Tag(tag), tag);
        }
        for tag in tags {
            let source = (tag % 3 == 1).then_some(Rank(tag));
            let want = if tag % 3 == 2 { ANYTHING } else { Want { source, tag: Some(Tag(tag)) } };
            assert!(matcher.take(want).is_some());
        }
        assert!(matcher.is_quiet());
    };
    // By the third round every index exists and has been full once.
    (0..3).for_each(|number| round(&mut matcher, number));
    let held = (matcher.posted.held(), matcher.unexpected.held());
    for number in 3..10_000 {
        round(&mut matcher, number);
    }
    assert_eq!((matcher.posted.held(), matcher.unexpected.held()), held);
    assert!(held.0.0 <= 4 * 32 && held.0.1 <= 11, "{held:?}");
}
