//! Proves that versions are in the log: one request for all that have no proof yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use skillpkg_schema::log::verify_inclusion;
use skillpkg_schema::wire::{Hashes, MAX_PROOFS, ProofsAnswer, ProofsRequest, Proven};

use super::ask::{Notice, Trust};
use super::claim::Claim;
use super::error::Refusal;
use super::evidence::Seen;
use super::kept::LogOfProofs;
use super::places::{Places, passed_over};
use super::view::VerifiedView;
use crate::Error;
use crate::registry::Registry;

/// What is to be proven, and the view against which.
pub(crate) type Unproven = (Arc<VerifiedView>, Claim);

impl Trust<'_> {
    /// Proves each claim against the checkpoint of its view, and keeps the proof. A claim of which a
    /// proof is kept costs no request.
    ///
    /// What a claim says has to be what its record says, to the last field.
    pub(crate) async fn prove(
        &self,
        registry: &Registry,
        claims: Vec<Unproven>,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Error> {
        let mut wanted: BTreeMap<(String, u64), Vec<Unproven>> = BTreeMap::new();
        let mut logs: BTreeMap<String, LogOfProofs> = BTreeMap::new();
        for (view, claim) in claims {
            let origin = view.origin().to_owned();
            if !logs.contains_key(&origin) {
                let Some(log) = self.store.log(&origin)? else { continue };
                logs.insert(origin.clone(), LogOfProofs::new(log));
            }
            let Some(log) = logs.get(&origin) else { continue };
            if claim.index.is_none() {
                let why = "its document names no leaf".to_owned();
                return Err(not_included(registry, &origin, &claim, why).into());
            }
            // One that does not hold is made anew.
            if let Ok(Some(_)) = self.store.kept_proof(log, &claim) {
                continue;
            }
            wanted.entry((origin, view.checkpoint().size)).or_default().push((view, claim));
        }
        for claims in wanted.values() {
            for claims in claims.chunks(MAX_PROOFS) {
                self.prove_anew(registry, claims, notices).await?;
            }
        }
        Ok(())
    }

    async fn prove_anew(
        &self,
        registry: &Registry,
        claims: &[Unproven],
        notices: &mut Vec<Notice>,
    ) -> Result<(), Error> {
        for (place, is_last) in Places::of(self.settings, registry)?.iter() {
            match self.prove_at(place, claims).await {
                Err(error) if !is_last => notices.push(passed_over(place, &error)),
                Err(error) => return Err(error),
                Ok(proven) => {
                    for ((view, claim), proven) in claims.iter().zip(&proven) {
                        self.store.keep_proof(view, &claim.address, proven)?;
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    /// The proofs of claims against one view, in their order, verified; nothing is kept.
    pub(super) async fn prove_at(
        &self,
        place: &Registry,
        claims: &[Unproven],
    ) -> Result<Vec<Proven>, Error> {
        let Some((view, _)) = claims.first() else { return Ok(Vec::new()) };
        let mut indices: Vec<u64> = claims.iter().filter_map(|(_, claim)| claim.index).collect();
        indices.sort_unstable();
        indices.dedup();
        let request =
            ProofsRequest { origin: view.origin.clone(), size: view.checkpoint().size, indices };
        let (answer, bytes) = place.log_proofs(&request).await?;
        let mut all = Vec::with_capacity(claims.len());
        for (view, claim) in claims {
            let checked = check(place, &answer, view, claim);
            let proven = checked.map_err(|(refusal, proof)| {
                let received = Some(view.note.clone());
                let answer = bytes.to_vec();
                let seen = Seen { known: None, received, proof, answer };
                seen.refuse(&self.store, &view.origin, &refusal)
            })?;
            all.push(proven.clone());
        }
        Ok(all)
    }
}

type Refused = (Refusal, Option<String>);

fn check<'a>(
    place: &Registry,
    answer: &'a ProofsAnswer,
    view: &VerifiedView,
    claim: &Claim,
) -> Result<&'a Proven, Refused> {
    let shown = || place.place();
    let wanted = claim.index.unwrap_or_default();
    let Some(proven) = answer.records.iter().find(|proven| proven.index == wanted) else {
        let why = format!("nothing comes for leaf {wanted}");
        return Err((not_included(place, &view.origin, claim, why), None));
    };
    let checkpoint = view.checkpoint();
    let proof = || Some(Hashes(proven.proof.0.clone()).to_string());
    verify_inclusion(
        &proven.sealed.leaf_hash(),
        proven.index,
        checkpoint.size,
        &checkpoint.root,
        &proven.proof.0,
    )
    .map_err(|reason| {
        let refusal = Refusal::Inclusion {
            place: shown(),
            origin: view.origin.clone(),
            name: claim.name.clone(),
            version: claim.version.clone(),
            reason,
        };
        (refusal, proof())
    })?;
    let held = claim.check(&view.origin, proven.index, &proven.sealed);
    held.map_err(|refusal| (refusal, proof()))?;
    Ok(proven)
}

fn not_included(place: &Registry, origin: &str, claim: &Claim, why: String) -> Refusal {
    Refusal::NotIncluded {
        place: place.place(),
        origin: origin.to_owned(),
        name: claim.name.clone(),
        version: claim.version.clone(),
        why,
    }
}
