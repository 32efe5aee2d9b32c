//! Messages among neighbours: each rank knows only its own neighbours.

use std::collections::HashMap;

use crate::schedule::ScheduleDraft;
use crate::spec::Block;

/// Exchanges all messages at once, except that several messages to or from one rank take a round each. The
/// `n`th message of a pair is in round `n` at both ends. No rank waits for a later message of another one.
pub(crate) fn exchange(s: &mut ScheduleDraft<'_>, sends: &[(u32, Block)], receives: &[(u32, Block)]) {
    let (sends, receives) = (turns(sends), turns(receives));
    for turn in 0..sends.len().max(receives.len()) {
        s.round();
        for (to, block) in sends.get(turn).into_iter().flatten() {
            s.send(*to as usize, block.of_input());
        }
        for (from, block) in receives.get(turn).into_iter().flatten() {
            s.receive(*from as usize, block.of_output());
        }
    }
}

/// Puts each message into the turn that counts the messages of its peer before it. A message without bytes
/// has no turn.
fn turns(list: &[(u32, Block)]) -> Vec<Vec<(u32, Block)>> {
    let (mut turns, mut before) = (Vec::<Vec<_>>::new(), HashMap::<u32, usize>::new());
    for (peer, block) in list.iter().filter(|(_, block)| block.len > 0) {
        let turn = before.entry(*peer).or_default();
        if *turn == turns.len() {
            turns.push(Vec::new());
        }
        turns[*turn].push((*peer, *block));
        *turn += 1;
    }
    turns
}
