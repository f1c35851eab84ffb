//! Giving a name to another account.

use skillpkg_schema::QualifiedName;

use super::ChangeError;
use crate::database::Database;
use crate::skills::{self, owners};

/// Makes an account the only owner of a bare name, a deleted one among them; it is committed when
/// this answers.
///
/// Whoever has the skill is told of a new signer by their own machine.
pub async fn transfer(
    database: &Database,
    name: &QualifiedName,
    account: &str,
) -> Result<(), ChangeError> {
    if name.scope().is_some() {
        return Err(ChangeError::OfScope(name.clone()));
    }
    let mut write = database.write().await?;
    let account = super::receiver(&mut write, account).await?;
    let skill = skills::find(&mut write, name).await?;
    let skill = skill.ok_or_else(|| ChangeError::UnknownName(name.clone()))?;
    owners::replace(&mut write, None, name, skill, (account.id, &account.name)).await?;
    write.commit().await?;
    Ok(())
}
