//! Characters that are not seen, or that turn the order of what is seen.

use super::findings::Sink;
use super::kind::FindingKind;
use super::text::Text;
use crate::skill::unseen;

/// Adds, of each line, the first place of each kind.
///
/// Files that are prose are to hold no control characters; others may part their pages with one.
pub(super) fn find(text: &Text<'_>, is_prose: bool, sink: &mut Sink<'_>) {
    let whole = text.whole();
    let is_control = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    if whole.is_ascii() && !whole.contains(is_control) {
        return;
    }
    let draws = unseen::draws(whole);
    for (start, line) in text.lines() {
        // A mark of the order of bytes at the start of a file is no text.
        let mark =
            if start == 0 && line.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let (start, line) = (start + mark, line.get(mark..).unwrap_or_default());
        if line.is_ascii() && !line.contains(is_control) {
            continue;
        }
        let characters: Vec<char> = line.chars().collect();
        let mut add = |column: usize, kind, message: &str| {
            let before = characters.iter().take(column).map(|character| character.len_utf8());
            sink.at(text, kind, start + before.sum::<usize>(), message);
        };
        if let Some(column) = unseen::turns(&characters) {
            let message = "marks that show text in another order than it is read in";
            add(column, FindingKind::Bidirectional, message);
        }
        if let Some((column, what)) = unseen::hides(&characters, draws) {
            add(column, FindingKind::HiddenText, what);
            continue;
        }
        let is_stray = |at: &usize| {
            let Some(&character) = characters.get(*at) else { return false };
            let is_page_mark = !is_prose && is_control(character) && !acts_on_terminals(character);
            !unseen::is_turn(character) && !is_page_mark && unseen::is_stray(&characters, *at)
        };
        if let Some(column) = (0..characters.len()).find(is_stray) {
            add(column, FindingKind::UnseenCharacter, "a character that no reader sees");
        }
    }
}

/// Whether a terminal that is shown the character does something with what stands before it.
fn acts_on_terminals(character: char) -> bool {
    matches!(character, '\u{8}' | '\u{1b}' | '\u{7f}')
}
