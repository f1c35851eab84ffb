//! Pages of lists. A cursor names the last item of the page before it, so that nothing is left out
//! or told twice where a skill is activated in between.

use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// Where a cursor starts, so that a text that is none is told from one.
const CURSOR: &str = "after:";

/// One page of `items`, which are sorted by `key`, and the cursor of the next.
pub(super) fn page<T>(
    items: Vec<T>,
    key: impl Fn(&T) -> &str,
    request: Option<PaginatedRequestParams>,
    most: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let after = match request.and_then(|request| request.cursor) {
        None => None,
        Some(cursor) => Some(cursor.strip_prefix(CURSOR).map(str::to_owned).ok_or_else(|| {
            ErrorData::invalid_params("this cursor was not given by this server", None)
        })?),
    };
    let mut left =
        items.into_iter().filter(|item| after.as_deref().is_none_or(|after| key(item) > after));
    let page: Vec<T> = left.by_ref().take(most).collect();
    let more = left.next().is_some();
    let next = page.last().filter(|_| more).map(|last| format!("{CURSOR}{}", key(last)));
    Ok((page, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(cursor: Option<String>) -> PaginatedRequestParams {
        PaginatedRequestParams::default().with_cursor(cursor)
    }

    #[test]
    fn pages_hold_every_item_once_also_where_one_is_added_or_gone_in_between() {
        let (first, cursor) = page(vec!["a", "c", "e"], |item| item, None, 2).unwrap();
        assert_eq!(first, ["a", "c"]);
        assert_eq!(cursor.as_deref(), Some("after:c"));
        let (second, end) = page(vec!["b", "d", "e"], |item| item, Some(asked(cursor)), 2).unwrap();
        assert_eq!((second, end), (vec!["d", "e"], None));
        let (whole, end) = page(vec!["a", "b"], |item| item, Some(asked(None)), 2).unwrap();
        assert_eq!((whole.len(), end), (2, None));
    }

    #[test]
    fn a_cursor_of_somebody_else_is_refused() {
        let refused =
            page(vec!["a"], |item| item, Some(asked(Some("2".to_owned()))), 2).unwrap_err();
        assert_eq!(refused.code.0, -32602);
    }
}
