//! What the two engines spell in two ways.

use std::fmt::Write as _;

use sqlx::any::{AnyTypeInfo, AnyTypeInfoKind, AnyValueRef};
use sqlx::error::BoxDynError;
use sqlx::{Any, AssertSqlSafe, Decode, Type};

/// A truth value as a query answers with it: a server has a type for it, a file has numbers.
///
/// The driver reads no column that a file declares as `BOOLEAN`: select an expression, such as
/// `private = TRUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth(pub bool);

impl Type<Any> for Truth {
    fn type_info() -> AnyTypeInfo {
        <bool as Type<Any>>::type_info()
    }

    fn compatible(found: &AnyTypeInfo) -> bool {
        found.kind() == AnyTypeInfoKind::Bool || found.kind().is_integer()
    }
}

impl<'r> Decode<'r, Any> for Truth {
    fn decode(value: AnyValueRef<'r>) -> Result<Self, BoxDynError> {
        match <i64 as Decode<'r, Any>>::decode(value.clone()) {
            Ok(number) => Ok(Self(number != 0)),
            Err(_) => <bool as Decode<'r, Any>>::decode(value).map(Self),
        }
    }
}

/// A query whose end depends on how many values there are: `head`, then rows of placeholders, then
/// `tail`, as in `INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4) ON CONFLICT DO NOTHING`.
///
/// The placeholders are numbered from one. Nothing in it comes from outside.
pub fn placeholders(
    head: &'static str,
    rows: usize,
    columns: usize,
    tail: &'static str,
) -> AssertSqlSafe<String> {
    let mut sql = String::from(head);
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            let comma = if column == 0 { "" } else { ", " };
            let _ = write!(sql, "{comma}${}", row * columns + column + 1);
        }
        sql.push(')');
    }
    sql.push_str(tail);
    AssertSqlSafe(sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_from_row_to_row() {
        let sql = placeholders("INSERT INTO t (a, b) VALUES ", 2, 2, " RETURNING a");
        assert_eq!(sql.0, "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4) RETURNING a");
        let sql = placeholders("SELECT a FROM t WHERE a IN ", 1, 3, "");
        assert_eq!(sql.0, "SELECT a FROM t WHERE a IN ($1, $2, $3)");
    }
}
