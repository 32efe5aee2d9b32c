use proptest::prelude::*;

use super::*;
use crate::window::Window;

/// A layout and a list of the place of every packed byte.
#[derive(Clone, Debug)]
struct Model {
    layout: Layout,
    places: Vec<isize>,
}

impl Model {
    fn block(len: usize) -> Self {
        Self { layout: Layout::block(len), places: (0..len as isize).collect() }
    }

    fn repeated(&self, count: usize, stride: isize) -> Self {
        let copies = (0..count as isize).flat_map(|i| self.places.iter().map(move |at| at + i * stride));
        Self { layout: self.layout.repeated(count, stride).unwrap(), places: copies.collect() }
    }

    fn shifted(&self, by: isize) -> Self {
        let places = self.places.iter().map(|at| at + by).collect();
        Self { layout: self.layout.shifted(by).unwrap(), places }
    }

    fn sequence(parts: &[Model]) -> Self {
        let layout = Layout::sequence(parts.iter().map(|part| part.layout.clone())).unwrap();
        Self { layout, places: parts.iter().flat_map(|part| part.places.clone()).collect() }
    }

    /// Repeats this layout in blocks of its extent, built as a list.
    fn indexed(&self, blocks: &[(isize, usize)]) -> Self {
        let mut builder = LayoutBuilder::new(0);
        builder.push_blocks(&self.layout, blocks.iter().map(|block| Some(*block))).unwrap();
        let (layout, span) = builder.build().unwrap();
        let extent = self.layout.extent();
        let copies: Vec<isize> =
            blocks.iter().flat_map(|(at, n)| (0..*n as isize).map(move |i| at + i * extent)).collect();
        let expected = copies.iter().min().zip(copies.iter().max());
        let expected =
            expected.map(|(low, high)| CopySpan { lowest: *low, highest: *high, copies: copies.len() });
        assert_eq!(span, expected);
        let places = copies.iter().flat_map(|copy| self.places.iter().map(move |at| at + copy)).collect();
        Self { layout, places }
    }

    fn of(&self, count: usize) -> Vec<isize> {
        (0..count as isize)
            .flat_map(|i| self.places.iter().map(move |at| at + i * self.layout.extent()))
            .collect()
    }
}

fn model() -> impl Strategy<Value = Model> {
    let leaf = (0usize..20).prop_map(Model::block);
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0usize..5, -24isize..40).prop_map(|(m, count, stride)| m.repeated(count, stride)),
            // Copies side by side, which become one block.
            (inner.clone(), 0usize..5).prop_map(|(m, count)| m.repeated(count, m.layout.extent())),
            (inner.clone(), -50isize..50).prop_map(|(m, by)| m.shifted(by)),
            (prop::collection::vec((inner.clone(), -40isize..40), 0..4)).prop_map(|parts| {
                Model::sequence(&parts.iter().map(|(m, by)| m.shifted(*by)).collect::<Vec<_>>())
            }),
            (inner, prop::collection::vec((-40isize..60, 0usize..4), 0..6))
                .prop_map(|(m, blocks)| m.indexed(&blocks)),
        ]
    })
    .prop_flat_map(|m| (Just(m), prop_oneof![Just(None), (-60isize..90).prop_map(Some)]))
    .prop_map(|(m, extent)| match extent {
        Some(extent) => Model { layout: m.layout.with_extent(extent), ..m },
        None => m,
    })
}

/// Memory with places from -SIDE to SIDE.
const SIDE: usize = 1 << 16;

fn memory() -> Vec<u8> {
    (0..2 * SIDE).map(|i| (i * 7 + i / 251) as u8).collect()
}

fn raw(memory: &mut [u8], span: Range<isize>) -> RawMut {
    assert!(span.start >= -(SIDE as isize) && span.end <= SIDE as isize);
    // SAFETY: the places lie in `memory`, which the test does not touch through its name while a layout works on it.
    unsafe { RawMut::new(memory.as_mut_ptr().add(SIDE), span.start, span.end) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 600 }))]

    #[test]
    fn sizes_and_bounds_are_those_of_all_bytes(m in model(), count in 0usize..5) {
        let all = m.of(count);
        prop_assert_eq!(m.layout.size(), m.places.len());
        prop_assert_eq!(m.layout.total(count), Some(all.len()));
        let bounds = match all.iter().min().zip(all.iter().max()) {
            Some((low, high)) => *low..*high + 1,
            None => 0..0,
        };
        prop_assert_eq!(m.layout.span(count), bounds);
        let in_order = all.iter().enumerate().all(|(i, at)| *at == i as isize);
        prop_assert!(!m.layout.is_contiguous() || in_order);
    }

    #[test]
    fn layouts_are_the_same_after_they_were_encoded(m in model(), count in 0usize..5) {
        let mut bytes = Vec::new();
        prop_assert!(m.layout.encode(MOST_ENCODED, &mut bytes));
        let read = Layout::decode(&bytes).expect("it was encoded");
        prop_assert_eq!((read.size(), read.extent()), (m.layout.size(), m.layout.extent()));
        prop_assert_eq!(read.span(count), m.layout.span(count));
        let mut places = Vec::new();
        let all = read.total(count).unwrap();
        read.stretches(count, 0, all, |at, _, len| places.extend((0..len as isize).map(|n| at + n)));
        prop_assert_eq!(places, m.of(count));
    }

    #[test]
    fn no_bytes_make_the_reader_believe_them(bytes in prop::collection::vec(prop_oneof![0u8..12, any::<u8>()], 0..80)) {
        if let Some(layout) = Layout::decode(&bytes) {
            let span = layout.span(3);
            let len = layout.total(3).map_or(0, |all| all.min(500));
            let mut seen = 0;
            layout.stretches(3, 0, len, |at, _, n| {
                assert!(span.start <= at && at + n as isize <= span.end);
                seen += n;
            });
            prop_assert_eq!(seen, len);
        }
    }

    #[test]
    fn any_range_is_packed_and_unpacked(m in model(), count in 0usize..5, a in 0.0..1.0, b in 0.0..1.0) {
        let all = m.of(count);
        let (a, b) = ((a * all.len() as f64) as usize, (b * (all.len() + 1) as f64) as usize);
        let range = a.min(b)..a.max(b).min(all.len());
        let mut from = memory();
        let expected: Vec<u8> = all[range.clone()].iter().map(|at| from[at.wrapping_add_unsigned(SIDE) as usize]).collect();
        let place = raw(&mut from, m.layout.span(count)).into_raw();
        let mut packed = vec![0; range.len()];
        m.layout.pack(&place, count, range.start, &mut packed);
        prop_assert_eq!(&packed, &expected);

        let layout = Arc::new(m.layout);
        let mut buffer = layout.lend(place, count);
        prop_assert_eq!(buffer.len(), all.len());
        let (mut copied, mut shared) = (vec![0; range.len()], vec![0; range.len()]);
        buffer.copy_to(range.start, Window::on(&mut copied));
        buffer.share(range.start, range.len()).copy_to(Window::on(&mut shared));
        prop_assert_eq!((&copied, &shared), (&expected, &expected));

        // The standard forbids two places of an element that overlap when they are written, so the test
        // leaves these out.
        let distinct = |places: &[isize]| places.iter().collect::<std::collections::HashSet<_>>().len() == places.len();
        prop_assume!(distinct(&all));
        let (mut one, mut two, mut three) = (vec![0; 2 * SIDE], vec![0; 2 * SIDE], vec![0; 2 * SIDE]);
        let mut model = vec![0; 2 * SIDE];
        all[range.clone()].iter().zip(&packed).for_each(|(at, byte)| model[(SIDE as isize + at) as usize] = *byte);
        layout.unpack(&mut raw(&mut one, layout.span(count)), count, range.start, &packed);
        layout.lend_mut(raw(&mut two, layout.span(count)), count).copy_from_slice(range.start, &packed);
        let mut into = layout.lend_mut(raw(&mut three, layout.span(count)), count);
        into.copy_from(range.start, Window::on(&mut packed));
        prop_assert!(one == model && two == model && three == model);
    }

    #[test]
    fn a_message_to_oneself_goes_from_one_layout_to_another(a in model(), b in model(), n in 0usize..4000) {
        let (mut from, mut to) = (memory(), vec![0; 2 * SIDE]);
        let (a, b) = (Arc::new(a.layout), Arc::new(b.layout));
        let source = a.lend(raw(&mut from, a.span(3)).into_raw(), 3);
        let mut target = b.lend_mut(raw(&mut to, b.span(3)), 3);
        let n = n.min(source.len()).min(target.len());
        target.copy_from_buffer(&source, n);
        let mut expected = vec![0; n];
        source.copy_to_slice(0, &mut expected);
        let mut model = vec![0; 2 * SIDE];
        b.unpack(&mut raw(&mut model, b.span(3)), 3, 0, &expected);
        prop_assert!(to == model);
    }
}

#[test]
fn regular_layouts_are_one_node() {
    let block = Layout::block(8);
    let vector = block.repeated(1000, 16).unwrap();
    assert!(matches!(&vector.root, Node::Repeat(r) if matches!(r.inner, Node::Block(8)) && r.count == 1000));
    let matrix = vector.repeated(10, 16_000).unwrap();
    assert!(
        matches!(&matrix.root, Node::Repeat(r) if matches!(r.inner, Node::Block(8)) && r.count == 10_000)
    );
    let listed = Layout::sequence((0..50).map(|i| block.shifted(24 * i).unwrap())).unwrap();
    assert!(matches!(&listed.root, Node::Repeat(r) if r.count == 50 && r.stride == 24));
    let adjacent = Layout::sequence((0..50).map(|i| block.shifted(8 * i).unwrap())).unwrap();
    assert!(matches!(adjacent.root, Node::Block(400)) && adjacent.is_contiguous());
}

/// Returns irregular places with some adjacent blocks, like those of an unstructured mesh.
fn irregular(n: usize) -> impl Iterator<Item = Option<(isize, usize)>> {
    (0..n as isize).map(|i| Some((8 * (2 * i + isize::from(i % 7 == 0)), 1)))
}

#[test]
fn a_list_of_blocks_is_read_once_and_keeps_two_words_for_each() {
    let n = if cfg!(miri) { 700 } else { 70_000 };
    let mut read = 0;
    let mut builder = LayoutBuilder::new(n);
    builder.push_blocks(&Layout::block(8), irregular(n).inspect(|_| read += 1)).unwrap();
    let (layout, _) = builder.build().unwrap();
    assert_eq!(read, n);
    let Node::Blocks(list) = &layout.root else { panic!("{:?} is no list of blocks", layout.root) };
    // In one of seven pairs the blocks are adjacent.
    assert_eq!((list.blocks.len(), list.len), (n / 7 * 6, None));
    assert_eq!(size_of_val(&list.blocks[0]), 2 * size_of::<usize>());
}

#[test]
fn equal_nodes_are_listed_by_their_places_alone() {
    let column = Layout::block(8).repeated(4, 24).unwrap();
    let blocks = [(0, 1), (8, 1), (200, 1)];
    let mut builder = LayoutBuilder::new(3);
    builder.push_blocks(&column, blocks.into_iter().map(Some)).unwrap();
    let (layout, _) = builder.build().unwrap();
    assert!(matches!(&layout.root, Node::Indexed(list) if *list.places == [0, 8, 200]));
}

#[test]
fn a_range_of_a_long_list_visits_its_own_blocks_alone() {
    let n = if cfg!(miri) { 700 } else { 70_000 };
    for size in [8, 12] {
        // Blocks of one length are found by division, others by their offsets.
        let mut builder = LayoutBuilder::new(n);
        let places =
            (0..n as isize).map(|i| Some((40 * i + 8 * (i % 3), 1 + (i % 2) as usize * (size / 12))));
        builder.push_blocks(&Layout::block(8), places).unwrap();
        let (layout, _) = builder.build().unwrap();
        let mut visited = Vec::new();
        layout.stretches(1, layout.size() / 2 + 4, 40, |at, _, len| visited.push((at, len)));
        assert!(visited.len() <= 6, "{visited:?}");
        assert_eq!(visited.iter().map(|(_, len)| len).sum::<usize>(), 40);
    }
}

#[test]
fn what_exceeds_an_address_space_is_no_layout() {
    let block = Layout::block(1 << 40);
    assert!(block.repeated(1 << 24, 0).is_none());
    assert!(block.repeated(2, isize::MAX).is_none());
    assert!(block.shifted(isize::MAX).is_none());
    let far = block.shifted(isize::MAX - (1 << 40)).unwrap();
    assert!(Layout::sequence([far, block.shifted(-1).unwrap()]).is_none());
    assert_eq!(block.total(1 << 24), None);
}

#[test]
#[should_panic(expected = "outside of")]
fn elements_outside_of_the_memory_are_refused() {
    let layout = Layout::block(8).repeated(3, 16).unwrap();
    let mut bytes = [0; 8];
    layout.pack(&raw(&mut memory(), 0..39), 1, 0, &mut bytes);
}

#[test]
#[should_panic(expected = "packed bytes at")]
fn more_than_the_elements_have_is_refused() {
    let layout = Layout::block(8).repeated(3, 16).unwrap();
    let mut memory = memory();
    layout.pack(&raw(&mut memory, 0..40), 1, 20, &mut [0; 5]);
}

#[test]
fn short_blocks_are_fine_and_long_ones_coarse() {
    let mut memory = memory();
    let fine = Arc::new(Layout::block(8).repeated(100, 16).unwrap());
    assert!(fine.lend(raw(&mut memory, 0..1600).into_raw(), 1).is_fine());
    let coarse = Arc::new(Layout::block(8192).repeated(2, 10_000).unwrap());
    assert!(!coarse.lend(raw(&mut memory, 0..20_000).into_raw(), 1).is_fine());
    assert!(!Arc::new(Layout::block(8)).lend(raw(&mut memory, 0..800).into_raw(), 100).is_fine());
}

proptest! {
    #[test]
    fn blocks_at_equal_distances_are_where_their_description_says(model in model(), count in 0usize..5) {
        let places = model.of(count);
        if let Some((at, block, stride)) = model.layout.strided(count) {
            let said = (0..places.len()).map(|n| at + (n / block.max(1)) as isize * stride + (n % block.max(1)) as isize);
            prop_assert_eq!(places, said.collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_vector_and_repeated_vectors_are_blocks_at_equal_distances() {
    let vector = Layout::block(8).repeated(4, 16).unwrap().shifted(3).unwrap();
    assert_eq!(vector.strided(1), Some((3, 8, 16)));
    assert_eq!(vector.strided(2), None, "the second one begins behind the last block of the first one");
    assert_eq!(vector.with_extent(64).strided(2), Some((3, 8, 16)));
    assert_eq!(Layout::block(8).with_extent(24).strided(5), Some((0, 8, 24)));
}
