//! What each caller gets of each route, and what an answer says of it.

use reqwest::Response;
use serde_json::Value;
use skillpkg_registry::access::{Need, Row};
use skillpkg_schema::wire::{IndexAnswer, Problem, ProofsAnswer, SearchAnswer};

use super::stage::Target;
use crate::support::Packed;

/// What each caller gets: `ok`; `un`, a token is needed; `lg`, the token lacks the grant; `nf`, not
/// found; `no`, not an owner; `sr`, the scope is refused.
///
/// A bare name has no scope: whoever may ask for its members is told that `_` is none. Where the token
/// stands in the path (`ReadByPath`), it must grant `read` and nothing else.
const EXPECTED: &str = "\
need              target    none  revoked  basic  stranger  reader  owner  read  publish  yank  admin
Nothing           Public    ok    ok       ok     ok        ok      ok     ok    ok       ok    ok
Read              Public    ok    un       un     ok        ok      ok     ok    ok       ok    ok
Read              Private   nf    un       un     nf        ok      ok     ok    nf       nf    nf
Read              Absent    nf    un       un     nf        nf      nf     nf    nf       nf    nf
Read              NoScope   nf    un       un     nf        nf      nf     nf    nf       nf    nf
Publish           Public    un    un       un     no        no      ok     lg    ok       lg    lg
Publish           Private   un    un       un     sr        no      ok     lg    ok       lg    lg
Publish           Absent    un    un       un     sr        sr      ok     lg    ok       lg    lg
Publish           NoScope   un    un       un     sr        sr      sr     lg    sr       lg    lg
Yank              Public    un    un       un     no        no      ok     lg    lg       ok    lg
Yank              Private   un    un       un     nf        no      ok     lg    lg       ok    lg
Yank              Absent    un    un       un     nf        nf      nf     lg    lg       nf    lg
Yank              NoScope   un    un       un     nf        nf      nf     lg    lg       nf    lg
ManageOwners      Public    un    un       un     no        no      ok     lg    lg       lg    ok
ManageOwners      Private   un    un       un     nf        no      ok     lg    lg       lg    ok
ManageOwners      Absent    un    un       un     nf        nf      nf     lg    lg       lg    nf
ManageOwners      NoScope   un    un       un     nf        nf      nf     lg    lg       lg    nf
ManagePublishers  Public    un    un       un     no        no      ok     lg    lg       lg    ok
ManagePublishers  Private   un    un       un     nf        no      ok     lg    lg       lg    ok
ManagePublishers  Absent    un    un       un     nf        nf      ok     lg    lg       lg    ok
ManagePublishers  NoScope   un    un       un     nf        nf      nf     lg    lg       lg    nf
ReadScope         Public    un    un       un     ok        ok      ok     ok    ok       ok    ok
ReadScope         Private   un    un       un     nf        ok      ok     ok    nf       nf    nf
ReadScope         Absent    un    un       un     nf        ok      ok     ok    nf       nf    nf
ReadScope         NoScope   un    un       un     nf        nf      nf     nf    nf       nf    nf
ManageScope       Public    un    un       un     ok        ok      ok     lg    lg       lg    ok
ManageScope       Private   un    un       un     nf        no      ok     lg    lg       lg    ok
ManageScope       Absent    un    un       un     nf        no      ok     lg    lg       lg    ok
ManageScope       NoScope   un    un       un     nf        nf      nf     lg    lg       lg    nf
ReadByPath        Public    un    un       un     lg        lg      lg     ok    lg       lg    lg
ReadByPath        Private   un    un       un     lg        lg      lg     ok    lg       lg    lg
ReadByPath        Absent    un    un       un     lg        lg      lg     nf    lg       lg    lg
ReadByPath        NoScope   un    un       un     lg        lg      lg     nf    lg       lg    lg
PublishSome       Public    un    un       un     ok        ok      ok     lg    ok       lg    lg
Token             Public    un    un       un     ok        ok      ok     ok    ok       ok    ok
Admin             Public    un    un       un     ok        ok      ok     lg    lg       lg    ok
";

/// What the callers of these names get of a route, where the table says it: where it takes passwords,
/// who sends the owner's token as one is the owner.
pub(super) fn expected(row: &Row, target: Target, callers: &[&str]) -> Option<Vec<&'static str>> {
    let mut found = by_need(row.need, target, callers)?;
    if row.takes_passwords() {
        let at = |name| callers.iter().position(|caller| *caller == name).unwrap();
        found[at("basic")] = found[at("owner")];
    }
    Some(found)
}

fn by_need(need: Need, target: Target, callers: &[&str]) -> Option<Vec<&'static str>> {
    let mut rows = EXPECTED.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    assert_eq!(rows.next().unwrap()[2..], *callers);
    let of = [format!("{need:?}"), format!("{target:?}")];
    let row = rows.find(|row| row[..2] == of)?;
    assert_eq!(row.len(), 2 + callers.len(), "{row:?}");
    Some(row[2..].to_vec())
}

/// How many rows there are.
pub(super) fn rows() -> usize {
    EXPECTED.lines().count() - 1
}

/// What was decided, in the words of the table.
pub(super) async fn outcome(path: &str, packed: &Packed, response: Response) -> String {
    let status = response.status().as_u16();
    let is_head = response.headers().get("content-length").is_none() && status != 204;
    // A face whose errors are plain text tells the code in a header.
    let plain = response.headers().get("skillpkg-code").cloned();
    let body = response.bytes().await.unwrap();
    let listed = match path {
        "/v1/index" if status == 200 => {
            let answer: IndexAnswer = serde_json::from_slice(&body).unwrap();
            Some(answer.documents.iter().any(|one| one.name == packed.manifest.name))
        }
        "/v1/log/proofs" if status == 200 => {
            let answer: ProofsAnswer = serde_json::from_slice(&body).unwrap();
            assert_eq!(answer.records.len() + answer.missing.len(), 1);
            Some(!answer.records.is_empty())
        }
        "/v1/search" if status == 200 => {
            let answer: SearchAnswer = serde_json::from_slice(&body).unwrap();
            assert_eq!(answer.total, answer.skills.len() as u64);
            Some(answer.skills.iter().any(|one| one.name == packed.manifest.name))
        }
        "/clawhub/api/v1/search" | "/clawhub/api/v1/skills" if status == 200 && plain.is_none() => {
            let answer: Value = serde_json::from_slice(&body).unwrap();
            let items = answer.get("results").or(answer.get("items"));
            items.map(|items| {
                let items = items.as_array().unwrap();
                items.iter().any(|one| one["displayName"] == packed.manifest.name.to_string())
            })
        }
        "/apm/v1/search" if status == 200 => {
            let answer: Value = serde_json::from_slice(&body).unwrap();
            let name = &packed.manifest.name;
            let id = format!("{}/{}", name.wire_scope(), name.name());
            Some(answer["results"].as_array().unwrap().iter().any(|one| one["id"] == id))
        }
        path if status == 200 && path.ends_with("{scope}/.well-known/agent-skills/index.json") => {
            let answer: Value = serde_json::from_slice(&body).unwrap();
            let skills = answer["skills"].as_array().unwrap();
            Some(skills.iter().any(|one| one["name"] == packed.manifest.name.name().as_str()))
        }
        _ => None,
    };
    if let Some(listed) = listed {
        return if listed { "ok" } else { "nf" }.to_owned();
    }
    let code = match plain {
        Some(code) => Ok(code.to_str().unwrap().to_owned()),
        None => serde_json::from_slice(&body).map(|problem: Problem| problem.code),
    };
    match (status, code.as_deref()) {
        (401, _) => "un",
        (403, Ok("token_lacks_grant")) => "lg",
        (403, Ok("not_an_owner")) => "no",
        (403, Ok("scope_refused")) => "sr",
        // A token or key with an id of zeros: whoever may ask learns that there is none.
        (404, _) if path.ends_with("{id}") => "ok",
        // So of an invitation: nobody here has one.
        (404, _) if path.starts_with("/v1/invitations/") => "ok",
        // And of the log that a mirror relays: this is none.
        (404, _) if path.starts_with("/relayed/") => "ok",
        // And of a file that nobody promised to send.
        (404, _) if path.ends_with("{ticket}") => "ok",
        (404, _) => "nf",
        // Whoever may publish also learns that its author signs it, which other clients do not.
        (403, Ok("face_publish_refused")) | (200 | 201 | 204 | 400 | 409 | 422, _) => "ok",
        other => panic!("{path}: {other:?} {is_head}"),
    }
    .to_owned()
}
