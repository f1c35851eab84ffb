//! Styles that show nothing of what they are for.

/// Whether a `style` attribute keeps the text from whoever sees the page.
///
/// What is spelt so that a page reads it and a reader does not, by an escape or a reference, counts.
pub(super) fn hides(style: &str) -> bool {
    if style.contains(['\\']) || style.contains("&#") {
        return true;
    }
    let style = style.to_ascii_lowercase();
    let declarations: Vec<(&str, String)> = style
        .split(';')
        .filter_map(|one| one.split_once(':'))
        .map(|(name, value)| {
            let value = value.replace("!important", "");
            (name.trim(), value.split_whitespace().collect::<Vec<_>>().join(" "))
        })
        .collect();
    let value = |wanted: &str| {
        declarations.iter().rev().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str())
    };
    let is = |name: &str, values: &[&str]| value(name).is_some_and(|one| values.contains(&one));
    let least = |name: &str, most: f64| value(name).and_then(number).is_some_and(|one| one <= most);
    let has_background = ["background", "background-color"]
        .iter()
        .filter_map(|name| value(name))
        .any(|background| !is_unseen_colour(background) && background != "none");
    let cuts = is("overflow", &["hidden", "clip"]);
    is("display", &["none"])
        || is("visibility", &["hidden", "collapse"])
        || is("content-visibility", &["hidden"])
        || least("opacity", 0.05)
        || least("font-size", 1.5) && !value("font-size").is_some_and(is_relative)
        || (value("color").is_some_and(is_unseen_colour) && !has_background)
        || ["text-indent", "left", "top", "margin-left", "right"]
            .iter()
            .any(|one| least(one, -500.0))
        || (cuts
            && ["height", "width", "max-height", "max-width"].iter().any(|one| least(one, 1.0)))
        || value("clip").is_some_and(|one| one.starts_with("rect("))
        || value("clip-path")
            .is_some_and(|one| one.starts_with("inset(50") || one.starts_with("inset(100"))
        || value("transform").is_some_and(|one| one.contains("scale(0"))
}

/// The number that a value starts with.
fn number(value: &str) -> Option<f64> {
    let is_part = |one: char| one.is_ascii_digit() || matches!(one, '.' | '-' | '+');
    let end = value.find(|one: char| !is_part(one)).unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

/// Whether a length is a multiple of another, so that 1 is as large as that.
fn is_relative(value: &str) -> bool {
    let is_nothing = number(value).is_some_and(|number| number < 0.1);
    !is_nothing
        && ["em", "rem", "%", "vw", "vh", "ex", "ch"].iter().any(|unit| value.ends_with(unit))
}

/// Whether text of a colour is not seen on a page: white, or none.
pub(super) fn is_unseen_colour(colour: &str) -> bool {
    let colour: String =
        colour.to_ascii_lowercase().chars().filter(|one| !one.is_whitespace()).collect();
    let is_white = |digits: &str| !digits.is_empty() && digits.bytes().all(|one| one == b'f');
    matches!(colour.as_str(), "white" | "transparent" | "snow" | "ghostwhite")
        || colour.strip_prefix('#').is_some_and(|digits| is_white(digits) || is_clear(digits))
        || ["rgb(255,255,255", "rgba(255,255,255", "hsl(0,0%,100%"]
            .iter()
            .any(|start| colour.starts_with(start))
        || (colour.starts_with("rgba(") && (colour.ends_with(",0)") || colour.ends_with(",0.0)")))
}

/// Whether hexadecimal digits of a colour say that nothing of it is seen.
fn is_clear(digits: &str) -> bool {
    matches!(digits.len(), 4 | 8) && digits.ends_with(if digits.len() == 4 { "0" } else { "00" })
}
