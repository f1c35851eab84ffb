//! One fault of a file that several looks meet is told once.

use super::Complaint;

/// Leaves out what says no more than a complaint before it: that the same place of the same file is
/// wrong in the same way.
pub(super) fn tell_once(complaints: &mut Vec<Complaint>) {
    let mut told: Vec<(String, String, String)> = Vec::new();
    complaints.retain(|one| {
        let Some((place, what)) = placed(&one.what) else { return true };
        let is_told = told.iter().any(|(known, said, advice)| {
            known == place && what.ends_with(said.as_str()) && *advice == one.advice
        });
        if !is_told {
            told.push((place.to_owned(), what.to_owned(), one.advice.clone()));
        }
        !is_told
    });
}

/// A complaint about a line of a file: the place, and what is wrong there.
fn placed(what: &str) -> Option<(&str, &str)> {
    let (place, rest) = what.split_once(": ")?;
    let (_, line) = place.rsplit_once(':')?;
    line.bytes().all(|byte| byte.is_ascii_digit()).then_some((place, rest))
}

#[cfg(test)]
mod tests {
    use super::super::Area;
    use super::*;

    #[test]
    fn a_slip_that_every_look_meets_is_told_once_and_others_are_told_all() {
        let slip = "/u/policy.toml:1: `forbid-programz` is not a known rule";
        let mut complaints = vec![
            Complaint::new(Area::Configuration, slip, "did you mean `forbid-programs`?"),
            Complaint::new(
                Area::Registry,
                "/u/policy.toml:1: http://127.0.0.1:1: `forbid-programz` is not a known rule",
                "did you mean `forbid-programs`?",
            ),
            Complaint::new(Area::Project, slip, "did you mean `forbid-programs`?"),
            Complaint::new(Area::Project, "/u/policy.toml:2: another", "correct it"),
            Complaint::new(Area::Project, "`a` is not active", "activate it"),
            Complaint::new(Area::Store, "`a` is not active", "activate it"),
        ];
        tell_once(&mut complaints);
        let areas: Vec<Area> = complaints.iter().map(|one| one.area).collect();
        assert_eq!(areas, [Area::Configuration, Area::Project, Area::Project, Area::Store]);
    }
}
