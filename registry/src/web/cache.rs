//! Pages for whoever is nobody in particular, rendered once.

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use skillpkg_schema::Sha256Digest;
use tokio::sync::Semaphore;

use super::answer::Page;
use super::root::Root;
use crate::problem::{Answer, Refusal};

/// Most bytes of pages in memory.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// About how many pages that is.
const CACHE_ITEMS: usize = 4_096;
/// Pages rendered at once: the slowest take a processor for a while.
const RENDERED_AT_ONCE: usize = 4;

/// Which page, of what the registry says: another document has other pages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Where the reader reaches the registry, which stands in what is to be copied.
    pub(super) base: String,
    /// The path and the query, as far as the page depends on it.
    pub(super) path: String,
    /// The digest of the skill's document.
    pub(super) document: Sha256Digest,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<Key, Page> for ByLength {
    fn weight(&self, key: &Key, page: &Page) -> u64 {
        (key.base.len() + key.path.len() + page.html.len()) as u64 + 256
    }
}

/// The pages that are ready.
#[derive(Debug)]
pub(super) struct Pages {
    ready: Cache<Key, Page, ByLength>,
    turns: Semaphore,
    /// Where they are beneath their host.
    root: Root,
}

impl Pages {
    /// None yet.
    pub(super) fn new(root: Root) -> Self {
        let ready = Cache::with_weighter(CACHE_ITEMS, CACHE_BYTES, ByLength);
        Self { ready, turns: Semaphore::new(RENDERED_AT_ONCE), root }
    }

    /// The page of a key, rendered where it is not ready; those who ask meanwhile wait for it.
    pub(super) async fn get(
        &self,
        key: &Key,
        render: impl Future<Output = Answer<String>>,
    ) -> Answer<Page> {
        self.ready
            .get_or_insert_async(key, async { Page::new(&self.root, self.render(render).await?) })
            .await
    }

    /// Renders in turn.
    pub(super) async fn render(
        &self,
        render: impl Future<Output = Answer<String>>,
    ) -> Answer<String> {
        let turn = self.turns.acquire().await.map_err(|error| Refusal::internal(&error))?;
        let html = render.await;
        drop(turn);
        html
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn key(path: &str, document: u8) -> Key {
        let document = Sha256Digest::from_bytes([document; 32]);
        Key { base: "http://a.example".to_owned(), path: path.to_owned(), document }
    }

    #[tokio::test]
    async fn a_page_is_rendered_once_for_all_who_ask_at_once_and_anew_for_another_document() {
        let (pages, rendered) = (Pages::new(Root::default()), AtomicUsize::new(0));
        let ask = async |document: u8| {
            let render = async {
                rendered.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok("page".to_owned())
            };
            pages.get(&key("/", document), render).await.unwrap().html
        };
        let all = futures_util::future::join_all((0..50).map(|_| ask(1))).await;
        assert!(all.iter().all(|html| html == "page"));
        assert_eq!(rendered.load(Ordering::SeqCst), 1);
        ask(2).await;
        assert_eq!(rendered.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn what_failed_is_not_kept_and_pages_take_no_more_than_their_bound() {
        let pages = Pages::new(Root::default());
        let failed = pages.get(&key("/", 1), async { Err(Refusal::not_found()) }).await;
        assert!(failed.is_err());
        assert!(pages.get(&key("/", 1), async { Ok(String::new()) }).await.is_ok());
        for page in 0..600 {
            let html = "x".repeat(100_000);
            pages.get(&key(&page.to_string(), 1), async { Ok(html) }).await.unwrap();
        }
        let kept = u64::try_from(pages.ready.len()).unwrap() * 100_000;
        assert!(kept <= CACHE_BYTES && kept > CACHE_BYTES / 2, "{kept}");
    }
}
