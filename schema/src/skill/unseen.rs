//! Characters that no reader sees, or that turn the order of what is read: which of them only hide.

use crate::diagnostic::is_unprintable;

/// Most unseen characters close together that serve nothing.
const MOST_IDLE: usize = 8;
/// Most seen characters between two that are close together.
const MOST_BETWEEN: usize = 2;

/// Whether a text has pictures made of Braille dots, whose blank is a dot like any other.
pub(crate) fn draws(text: &str) -> bool {
    text.contains(|c| matches!(c, '\u{2801}'..='\u{28ff}'))
}

/// Whether the character shows text in another order than it is read in.
pub(crate) fn is_turn(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Where a line first turns the order in which text is shown.
pub(crate) fn turns(line: &[char]) -> Option<usize> {
    line.iter().position(|character| is_turn(*character))
}

/// Where a line hides text and with what; `draws` where the file has pictures made of Braille dots.
pub(crate) fn hides(line: &[char], draws: bool) -> Option<(usize, &'static str)> {
    // The first and the last of the idle ones close together, and how many there are.
    let mut idle: Option<(usize, usize, usize)> = None;
    let mut at = 0;
    while let Some(&character) = line.get(at) {
        match character {
            '\u{1f3f4}' => at += flag_letters(line.get(at + 1..).unwrap_or_default()),
            '\u{e0000}'..='\u{e007f}' => {
                return Some((at, "tag letters outside a flag, which no reader sees"));
            }
            '\u{2800}' if draws => {}
            _ if is_unseen(character) && !is_turn(character) && !serves(line, at) => {
                let (first, count) = match idle {
                    Some((first, last, count)) if at - last <= MOST_BETWEEN + 1 => {
                        (first, count + 1)
                    }
                    _ => (at, 1),
                };
                if count > MOST_IDLE {
                    return Some((first, "many characters close together that no reader sees"));
                }
                idle = Some((first, at, count));
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of the rest of the flag of a region: up to six letters, and the end of them.
fn flag_letters(behind: &[char]) -> usize {
    let is_letter = |c: &&char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let letters = behind.iter().take(7).take_while(is_letter).count();
    match behind.get(letters) {
        Some('\u{e007f}') if (1..=6).contains(&letters) => letters + 1,
        _ => 0,
    }
}

fn is_unseen(character: char) -> bool {
    character == '\u{2800}' || (is_unprintable(character) && !character.is_control())
}

/// Whether the unseen character at `at` does to its neighbours what writing needs.
fn serves(line: &[char], at: usize) -> bool {
    let Some(&character) = line.get(at) else { return false };
    let before = at.checked_sub(1).and_then(|at| line.get(at)).copied().unwrap_or(' ');
    let after = line.get(at + 1).copied().unwrap_or(' ');
    match character {
        // The form of an emoji, and of a key's cap.
        '\u{fe0e}' | '\u{fe0f}' => {
            is_symbol(before) || (after == '\u{20e3}' && matches!(before, '0'..='9' | '#' | '*'))
        }
        '\u{200c}' | '\u{200d}' => {
            (joins_letters(before) && joins_letters(after))
                || (joins_symbols(before) && is_symbol(after))
        }
        '\u{180b}'..='\u{180f}' => matches!(before, '\u{1800}'..='\u{18af}'),
        // The end of a word, in scripts that put no space there.
        '\u{200b}' => writes_no_spaces(before) && writes_no_spaces(after),
        // The place of a part of a Korean syllable.
        '\u{115f}' | '\u{1160}' => {
            let is_part = |c| matches!(c, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}');
            is_part(before) || is_part(after)
        }
        _ => false,
    }
}

/// Emoji, arrows, signs.
fn is_symbol(character: char) -> bool {
    matches!(character,
        '©' | '®' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{20a0}'..='\u{27ff}'
        | '\u{2900}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

/// What an emoji ends with before a joiner.
fn joins_symbols(character: char) -> bool {
    is_symbol(character) || matches!(character, '\u{fe0f}' | '\u{e007f}')
}

/// Letters and marks of scripts whose letters join: Arabic and its kin, those of India, of
/// South-East Asia, of Mongolia.
fn joins_letters(character: char) -> bool {
    let is_of_script = matches!(character,
        '\u{600}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}');
    let is_other = matches!(character, '\u{10a0}'..='\u{16ff}');
    is_of_script && !is_other && !is_unseen(character)
}

fn writes_no_spaces(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19df}')
}

/// Whether the character at `at` is one that is not seen, and does nothing to its neighbours that
/// writing needs.
pub(crate) fn is_stray(line: &[char], at: usize) -> bool {
    let Some(&character) = line.get(at) else { return false };
    let before = at.checked_sub(1).and_then(|at| line.get(at)).copied().unwrap_or(' ');
    let after = line.get(at + 1).copied().unwrap_or(' ');
    let is_visible = |character: char| !character.is_whitespace() && !is_unprintable(character);
    match character {
        '\t' | '\r' | '\u{ad}' | '\u{200e}' | '\u{200f}' => false,
        // The form of one emoji; payloads string many together.
        '\u{fe00}'..='\u{fe0f}' => !is_visible(before),
        // A joiner between the parts of an emoji, or between letters of scripts that join.
        '\u{200c}' | '\u{200d}' => {
            let joins = |c: char| !c.is_ascii() && (is_visible(c) || c == '\u{fe0f}');
            !(joins(before) && joins(after))
        }
        // The letters of a flag of a region behind a black flag.
        '\u{e0020}'..='\u{e007f}' => {
            let is_tag = |c: &&char| ('\u{e0020}'..='\u{e007f}').contains(*c);
            let run = line.iter().take(at).rev().take(7).take_while(is_tag).count();
            let base = at.checked_sub(run + 1).and_then(|at| line.get(at));
            run > 6 || base != Some(&'\u{1f3f4}')
        }
        _ => is_unprintable(character),
    }
}
