//! The marks that a version control system leaves in a file it could not merge.

/// The line, from 1, of the first mark of an unfinished merge.
///
/// `=======` alone is no mark: it could stand in a text of the file.
pub(super) fn first_mark(text: &str) -> Option<usize> {
    text.lines()
        .position(|line| {
            ["<<<<<<<", ">>>>>>>", "|||||||"].iter().any(|mark| {
                line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
        })
        .map(|position| position + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_a_merge_are_found_with_their_line() {
        assert_eq!(first_mark("version = 1\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\n"), Some(2));
        assert_eq!(first_mark("version = 1\r\n<<<<<<<\r\n"), Some(2));
        assert_eq!(first_mark("a = \"<<<<<<< HEAD\"\n=======\n"), None);
    }
}
