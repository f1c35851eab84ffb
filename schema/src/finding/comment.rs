//! Which comments are ordinary: for tools that format and check, and licences.
//!
//! Ordinary is what has one of a few closed forms, in which nobody can say anything else. Whether
//! another comment is meant for a model, no rule can tell: it is shown, and a person does.

/// Longest comment that can be ordinary: the longest notice of a licence has some 1,500.
const MOST_BYTES: usize = 4_000;
/// Most words behind the first of an instruction for a tool.
const MOST_ARGUMENTS: usize = 12;
/// Longest marker of one word.
const MOST_OF_MARKER: usize = 24;
/// Most words of whoever has the copyright.
const MOST_OF_HOLDER: usize = 8;

/// First words of instructions for tools, in lower case.
const TOOLS: [&str; 40] = [
    "markdownlint-capture",
    "markdownlint-configure-file",
    "markdownlint-disable",
    "markdownlint-disable-file",
    "markdownlint-disable-line",
    "markdownlint-disable-next-line",
    "markdownlint-enable",
    "markdownlint-enable-file",
    "markdownlint-restore",
    "rumdl-disable",
    "rumdl-disable-line",
    "rumdl-disable-next-line",
    "rumdl-enable",
    "pyml",
    "mdl",
    "prettier-ignore",
    "prettier-ignore-attribute",
    "prettier-ignore-end",
    "prettier-ignore-start",
    "dprint-ignore",
    "dprint-ignore-end",
    "dprint-ignore-file",
    "dprint-ignore-start",
    "eslint-disable",
    "eslint-disable-next-line",
    "eslint-enable",
    "biome-ignore",
    "textlint-disable",
    "textlint-enable",
    "remark-ignore",
    "remark-ignore-end",
    "remark-ignore-start",
    "lint",
    "vale",
    "alex",
    "cspell",
    "spellchecker",
    "codespell",
    "mdformat",
    "toc",
];
/// Words that instructions for tools are made of beside names of rules.
const TOOL_WORDS: [&str; 22] = [
    "allow",
    "disable",
    "enable",
    "end",
    "false",
    "ignore",
    "next",
    "no",
    "off",
    "on",
    "start",
    "stop",
    "true",
    "yes",
    "line",
    "file",
    "all",
    "reset",
    "locale",
    "toc",
    "depth",
    "suggestion",
];
/// Whole comments that tools write, in lower case and with single spaces.
const WRITTEN: [&str; 28] = [
    "start doctoc generated toc please keep comment here to allow auto update",
    "don't edit this section, instead re-run doctoc to update",
    "end doctoc generated toc please keep comment here to allow auto update",
    "doctoc skip",
    "omit in toc",
    "omit from toc",
    "/toc",
    "tocstop",
    "toc:start",
    "toc:end",
    "more",
    "excerpt",
    "badge",
    "badges",
    "break",
    "footer",
    "header",
    "links",
    "separator",
    "spacer",
    "reuse-ignorestart",
    "reuse-ignoreend",
    "cargo-rdme start",
    "cargo-rdme end",
    "all-contributors-list:start - do not remove or modify this section",
    "all-contributors-list:end",
    "prettier-ignore-start markdownlint-disable",
    "prettier-ignore-end markdownlint-restore",
];
/// Words that notices of well-known licences are made of, in lower case.
const NOTICE: &str = "\
    a above accordance action additional agreed agreement all an and any apache applicable apply are \
    arising as associated at attribution authors basis be binary bsd but by cc charge claim clause \
    code commons compliance condition conditions connection contract contributors copies copy \
    copyright copyrights creative damages deal dealings disclaimed disclaimer distribute distributed \
    documentation either endorse event except express file files fitness following for foundation \
    free freely from full furnished further general gnu governing gpl granted grants hereby holder holders identifier if implied imply \
    in included including inc information international is its kind language law later lgpl liability liable \
    licence licenced license licensed licenses limitation limitations limited list llc ltd may \
    materials merchantability merge met mit modification modifications modified modify more mozilla \
    mpl must name names no noninfringement noncommercial nonexclusive not notice notices obtain \
    obtaining of on only option or other otherwise out owner owners particular per permission \
    permissions permit permits permitted person persons point portions prior project promote provided \
    provides public publish purpose redistribute redistribution redistributions released required \
    reproduce reserved restriction rights root see sell sharealike shall so software source spdx specific \
    filecopyrighttext filetype sublicense subject substantial such \
    terms text that the their them they this to tort tree under unless use used using version v2 \
    warranties warranty where whether which who whom with without work works writing written you your \
    neither nor derived direct indirect incidental exemplary consequential procurement substitute goods \
    services loss data profits business interruption however caused theory strict negligence advised \
    possibility even if do its";
/// Where licences are to be read.
const HOMES: [&str; 9] = [
    "apache.org",
    "opensource.org",
    "gnu.org",
    "mozilla.org",
    "creativecommons.org",
    "spdx.org",
    "fsf.org",
    "unlicense.org",
    "choosealicense.com",
];

/// Whether a comment with this inside has one of the forms in which nobody is told anything.
pub(super) fn is_ordinary(inside: &str) -> bool {
    let text = inside.trim().trim_matches('-').trim();
    if text.len() > MOST_BYTES {
        return false;
    }
    if !text.chars().any(char::is_alphabetic) {
        return true;
    }
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let joined = words.join(" ");
    WRITTEN.contains(&joined.as_str())
        || is_for_tool(&words)
        || is_marker(&words)
        || is_notice(inside)
}

/// `markdownlint-disable MD013`, `vale off`, `cspell:ignore`.
fn is_for_tool(words: &[&str]) -> bool {
    let Some((first, arguments)) = words.split_first() else { return false };
    let (tool, argument) = first.split_once(':').unwrap_or((first, ""));
    let is_argument = |word: &&str| {
        let word = word.trim_matches([',', '"', '\'', '=', '{', '}', '[', ']']);
        let (name, value) = word.split_once([':', '=']).unwrap_or((word, ""));
        [name, value].iter().all(|one| one.is_empty() || TOOL_WORDS.contains(one) || is_rule(one))
    };
    TOOLS.contains(&tool)
        && arguments.len() <= MOST_ARGUMENTS
        && is_argument(&argument)
        && arguments.iter().all(is_argument)
}

/// The name or the number of a rule: `md013`, `no-inline-html`, `google.we`. A word alone is none.
fn is_rule(word: &str) -> bool {
    let is_part =
        |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '.' | '_' | '/' | '@');
    let parts = word.split(['-', '.', '_', '/']).count();
    let has_digit = word.contains(|one: char| one.is_ascii_digit());
    word.len() <= 40 && word.chars().all(is_part) && (has_digit || (2..=4).contains(&parts))
}

/// `BEGIN_TF_DOCS`, `region usage`: the bounds of a part that a tool writes.
fn is_marker(words: &[&str]) -> bool {
    const STARTS: [&str; 10] = [
        "begin",
        "end",
        "start",
        "stop",
        "region",
        "endregion",
        "#region",
        "#endregion",
        "/region",
        "snippet",
    ];
    match words {
        // `type=misc`, `next-url`: too short to say anything.
        [one] if one.len() <= MOST_OF_MARKER && is_joined(one) => true,
        [one] => {
            let mut parts = one.split(['_', '-', ':', '.']);
            let is_bound = |part: &str| STARTS.contains(&part);
            let parts: Vec<&str> = parts.by_ref().collect();
            let ends = parts.first().zip(parts.last());
            parts.len() <= 4 && ends.is_some_and(|(first, last)| is_bound(first) || is_bound(last))
        }
        [first, _] => STARTS.contains(first),
        _ => false,
    }
}

/// Two or three short words with a mark between them and no space.
fn is_joined(word: &str) -> bool {
    let parts: Vec<&str> = word.split(['-', '_', '=', ':']).collect();
    let is_part = |part: &&str| {
        !part.is_empty() && part.chars().all(|one| one.is_ascii_alphanumeric() || one == '.')
    };
    (2..=3).contains(&parts.len()) && parts.iter().all(is_part)
}

/// A notice of a licence or a copyright, every word of it.
fn is_notice(inside: &str) -> bool {
    let mut is_any = false;
    for line in inside.lines() {
        let line = line.trim().trim_start_matches(['*', '#', '~', '/', ' ']);
        let words: Vec<&str> = line.split_whitespace().collect();
        let first = words.first().map_or_else(String::new, |word| word.to_lowercase());
        let is_copyright = ["copyright", "spdx-filecopyrighttext", "©", "(c)"]
            .iter()
            .any(|one| first.starts_with(one));
        let is_identifier = first.starts_with("spdx-license-identifier") && words.len() <= 6;
        is_any |= is_copyright || is_identifier || line.to_lowercase().contains("licen");
        if is_copyright {
            if !is_holder(&words) {
                return false;
            }
        } else if !is_identifier && !words.iter().all(|word| is_of_notice(word)) {
            return false;
        }
    }
    is_any
}

/// `Copyright (c) 2024 The Authors, Inc.`: names start large.
fn is_holder(words: &[&str]) -> bool {
    let rest: Vec<&str> = words
        .iter()
        .skip(1)
        .copied()
        .filter(|word| !word.contains(|one: char| one.is_ascii_digit()))
        .filter(|word| !matches!(*word, "(c)" | "(C)" | "©" | "-" | "–"))
        .collect();
    let is_name = |word: &&str| {
        word.starts_with(|one: char| one.is_uppercase()) || is_of_notice(word) || word.contains('@')
    };
    rest.len() <= MOST_OF_HOLDER && rest.iter().all(is_name)
}

fn is_of_notice(word: &str) -> bool {
    let word = word.to_lowercase();
    if let Some((_, address)) = word.split_once("://") {
        let host = address.split('/').next().unwrap_or_default().trim_start_matches("www.");
        return HOMES.contains(&host.trim_end_matches([')', '.', ',']));
    }
    let is_mark = |one: char| !one.is_alphanumeric();
    word.split(['/', '"', '-']).map(|part| part.trim_matches(is_mark)).all(|part| {
        let is_number = part.bytes().all(|one| one.is_ascii_digit() || one == b'.');
        is_number || NOTICE.split_whitespace().any(|known| known == part)
    })
}
