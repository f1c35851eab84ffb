//! A registry on a port of its own, and skills to send to it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use skillpkg_registry::accounts;
use skillpkg_registry::accounts::scopes::{self, Role};
use skillpkg_registry::accounts::tokens::{self, Minting};
use skillpkg_registry::data::{Claim, Data, Places};
use skillpkg_registry::mirror::{self, Mirror};
use skillpkg_registry::oidc::Pace;
use skillpkg_registry::server;
use skillpkg_registry::skills::publish::Step;
use skillpkg_registry::state::{Options, Registry};
use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::{FileEntry, Identity, Manifest, Mode, derive};
use skillpkg_schema::signature::key_proof::prove_key;
use skillpkg_schema::signature::{Envelope, SigningKey, sign_release};
use skillpkg_schema::skill::Rules;
use skillpkg_schema::tree::MemoryTree;
use skillpkg_schema::wire::{Problem, PublishAnswer};
use skillpkg_schema::{ContentAddress, QualifiedName, Version};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::bucket::places;

/// A registry that serves.
pub(crate) struct TestRegistry {
    pub(crate) url: String,
    pub(crate) registry: Registry,
    pub(crate) client: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
    server: Option<JoinHandle<()>>,
    claim: Option<Claim>,
    directory: Option<TempDir>,
}

impl TestRegistry {
    /// One with every route that there can be.
    pub(crate) async fn start() -> Self {
        // Nobody listens there, and nobody is asked.
        let issuers = ["other=http://127.0.0.1:9".to_owned()];
        Self::start_with(crate::oidc::trusting(&issuers, Pace::default())).await
    }

    pub(crate) async fn start_with(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut started = Self::start_in(directory.path(), options).await;
        started.directory = Some(directory);
        started
    }

    pub(crate) async fn start_in(directory: &Path, options: Options) -> Self {
        Self::start_at(places(directory), options).await
    }

    pub(crate) async fn start_at(places: Places, options: Options) -> Self {
        let data = Data::open_or_create(places).await.unwrap();
        let claim = data.claim().unwrap();
        Self::serving(claim, Registry::open(data, options).await.unwrap()).await
    }

    /// A mirror of another registry.
    pub(crate) async fn mirroring_in(
        directory: &Path,
        options: Options,
        settings: mirror::Settings,
    ) -> Self {
        let data = Data::open_or_create(places(directory)).await.unwrap();
        let claim = data.claim().unwrap();
        let mirror = Mirror::open(&data, settings).await.unwrap();
        let registry = Registry::open_mirroring(data, options, Some(mirror)).await.unwrap();
        Self::serving(claim, registry).await
    }

    /// A mirror that listens where another registry did.
    pub(crate) async fn mirroring_at(
        directory: &Path,
        url: &str,
        settings: mirror::Settings,
    ) -> Self {
        let data = Data::open_or_create(places(directory)).await.unwrap();
        let claim = data.claim().unwrap();
        let mirror = Mirror::open(&data, settings).await.unwrap();
        let options = Options::default();
        let registry = Registry::open_mirroring(data, options, Some(mirror)).await.unwrap();
        Self::serving_at(claim, registry, url.strip_prefix("http://").unwrap()).await
    }

    /// Keeps its directory as long as itself.
    pub(crate) fn keep(&mut self, directory: TempDir) {
        self.directory = Some(directory);
    }

    async fn serving(claim: Claim, registry: Registry) -> Self {
        Self::serving_at(claim, registry, "127.0.0.1:0").await
    }

    async fn serving_at(claim: Claim, registry: Registry, address: &str) -> Self {
        let (router, _) = skillpkg_registry::routes::router(&registry);
        let listener = server::listen(address.parse().unwrap()).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let open = registry.metrics.connections.clone();
        let limits = server::Limits { open, ..server::Limits::default() };
        let server = tokio::spawn(server::serve(
            listener,
            router,
            async {
                let _ = stopped.await;
            },
            limits,
        ));
        let (stop, server, claim) = (Some(stop), Some(server), Some(claim));
        Self { url, registry, client: client(), stop, server, claim, directory: None }
    }

    /// Tells it to stop, and waits until it has; its directory stays while `self` does.
    pub(crate) async fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(server) = self.server.take() {
            server.await.unwrap();
        }
        self.registry.close().await;
        self.claim = None;
    }

    pub(crate) fn data(&self) -> &Data {
        &self.registry.data
    }

    /// Where its objects lie as files, whoever wrote them.
    pub(crate) fn objects(&self) -> PathBuf {
        self.data().temporary().parent().unwrap().join("objects")
    }

    /// A new account with a key of its own; the answer can publish.
    pub(crate) async fn author(&self, account: &str) -> Author {
        let token = accounts::add(&self.data().database, account).await.unwrap();
        let identity = self.registry.log.origin();
        let key = SigningKey::generate().unwrap();
        Author { account: account.to_owned(), token, key, identity }
    }

    pub(crate) async fn scope(&self, scope: &str, owner: &Author, private: bool) {
        scopes::add(&self.data().database, scope, &owner.account, private).await.unwrap();
    }

    pub(crate) async fn member(&self, scope: &str, member: &Author, role: Role) {
        scopes::add_member(&self.data().database, scope, &member.account, role).await.unwrap();
    }

    /// Makes an account an owner of a skill: one owner invites it, and it accepts.
    pub(crate) async fn own(&self, owner: &Author, name: &str, account: &Author) {
        let path = format!("/v1/skills/{name}/owners");
        let body = serde_json::json!({"account": account.account});
        let invited = self.send(Method::PUT, &path, Some(&owner.token), &body).await;
        assert_eq!(invited.status(), 200, "{}", invited.text().await.unwrap());
        let path = format!("/v1/invitations/{name}");
        let accepted = self.request(Method::POST, &path, Some(&account.token)).send().await;
        assert_eq!(accepted.unwrap().status(), 204);
    }

    /// What was recorded of a subject, in order: the kind, the detail.
    pub(crate) async fn events(&self, subject: &str) -> Vec<(String, String)> {
        sqlx::query_as("SELECT kind, detail FROM events WHERE subject = $1 ORDER BY id")
            .bind(subject)
            .fetch_all(self.data().database.readers())
            .await
            .unwrap()
    }

    /// A token of the account that grants just this.
    pub(crate) async fn token(&self, author: &Author, grants: &[&str]) -> String {
        let grants: Vec<_> = grants.iter().map(|grant| grant.parse().unwrap()).collect();
        let minting = Minting { label: "test", grants: &grants, expires: None };
        let database = &self.data().database;
        tokens::mint_for(database, &author.account, &minting).await.unwrap().secret
    }

    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
    ) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url));
        match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str, token: Option<&str>) -> Response {
        self.request(Method::GET, path, token).send().await.unwrap()
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: &serde_json::Value,
    ) -> Response {
        self.request(method, path, token).body(body.to_string()).send().await.unwrap()
    }

    /// Waits until nothing that was received is left: it is removed behind the answers' backs.
    pub(crate) async fn eventually_tidy(&self) {
        for _ in 0..250 {
            if std::fs::read_dir(self.data().temporary()).unwrap().count() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("what was received is still there");
    }

    /// Sends a head as it stands, and a body; answers with whatever comes back until the connection
    /// is closed.
    pub(crate) async fn raw(&self, head: &str, body: &[u8]) -> String {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let _ = stream.write_all(body).await;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Publishes a packed skill as its author.
    pub(crate) async fn publish(&self, author: &Author, packed: &Packed) -> Response {
        self.publish_as(&author.token, author, packed).await
    }

    pub(crate) async fn publish_as(
        &self,
        token: &str,
        author: &Author,
        packed: &Packed,
    ) -> Response {
        author
            .offer(self.request(Method::PUT, &packed.path(), Some(token)))
            .body(packed.archive.clone())
            .send()
            .await
            .unwrap()
    }

    /// Publishes a small skill, which must be new.
    pub(crate) async fn published(&self, author: &Author, name: &str, version: &str) -> Packed {
        let packed = Skill::new(name, version).pack(author);
        let response = self.publish(author, &packed).await;
        let status = response.status();
        assert_eq!(status, StatusCode::CREATED, "{}", response.text().await.unwrap());
        packed
    }
}

/// A client that speaks to loopback alone.
pub(crate) fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A registry with a public skill, `open`, and a private one, `secret/plan`, both of the owner's; the
/// reader is a member of the private scope.
pub(crate) struct OpenAndSecret {
    pub(crate) registry: TestRegistry,
    pub(crate) owner: Author,
    pub(crate) reader: Author,
    pub(crate) stranger: Author,
    pub(crate) open: Packed,
    pub(crate) secret: Packed,
}

impl OpenAndSecret {
    pub(crate) async fn start() -> Self {
        let registry = TestRegistry::start().await;
        let owner = registry.author("owner").await;
        let reader = registry.author("reader").await;
        let stranger = registry.author("stranger").await;
        registry.scope("secret", &owner, true).await;
        registry.member("secret", &reader, Role::Reader).await;
        let open = registry.published(&owner, "open", "1.0.0").await;
        let secret = registry.published(&owner, "secret/plan", "1.0.0").await;
        Self { registry, owner, reader, stranger, open, secret }
    }
}

/// An account, its first token and its key.
#[derive(Clone)]
pub(crate) struct Author {
    pub(crate) account: String,
    pub(crate) token: String,
    pub(crate) key: SigningKey,
    /// The identity of its registry.
    pub(crate) identity: String,
}

impl Author {
    /// The same account with another key.
    pub(crate) fn with_key(&self, key: SigningKey) -> Self {
        Self { key, ..self.clone() }
    }

    /// A publish that offers the key, and shows that the account holds it.
    pub(crate) fn offer(&self, request: RequestBuilder) -> RequestBuilder {
        let key = STANDARD.encode(self.key.public().to_der());
        request.header("skillpkg-public-key", key).header("skillpkg-key-proof", self.proof())
    }

    /// What shows that the account holds the key.
    pub(crate) fn proof(&self) -> String {
        STANDARD.encode(prove_key(&self.account, &self.identity, &self.key).to_bytes())
    }

    /// The body that registers the key.
    pub(crate) fn registration(&self) -> serde_json::Value {
        serde_json::json!({"pem": self.key.public().to_pem(), "proof": self.proof()})
    }
}

/// A skill in memory.
#[derive(Clone)]
pub(crate) struct Skill {
    name: QualifiedName,
    version: Version,
    pub(crate) files: Vec<(String, bool, Vec<u8>)>,
}

impl Skill {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        let name: QualifiedName = name.parse().unwrap();
        let source = format!(
            "---\nname: {}\ndescription: Keeps the list of {name}.\n---\nAsk {name} for version {version}.\n",
            name.name(),
        );
        let files = vec![("SKILL.md".to_owned(), false, source.into_bytes())];
        Self { name, version: version.parse().unwrap(), files }
    }

    pub(crate) fn with_file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.to_owned(), false, content.into()));
        self
    }

    pub(crate) fn manifest(&self) -> Manifest {
        let mut files: Vec<FileEntry> = self
            .files
            .iter()
            .map(|(path, executable, bytes)| {
                let digests = Digests::of(bytes);
                FileEntry::new(path.parse().unwrap(), Mode::of(*executable), digests)
            })
            .collect();
        files
            .sort_by(|one, other| one.path.as_str().as_bytes().cmp(other.path.as_str().as_bytes()));
        let mut tree = MemoryTree::default();
        for (path, executable, bytes) in &self.files {
            tree.insert(path.as_str(), *executable, bytes.as_slice());
        }
        let identity = Identity { name: self.name.clone(), version: self.version.clone() };
        derive(&tree, files, &identity, Rules::Strict).unwrap().manifest
    }

    pub(crate) fn pack(&self, author: &Author) -> Packed {
        self.pack_as(self.manifest(), author)
    }

    /// Packs under a manifest that may lie.
    pub(crate) fn pack_as(&self, manifest: Manifest, author: &Author) -> Packed {
        let digest = Digests::of(&manifest.to_bytes()).sha256;
        let keys = [author.key.clone()];
        let envelope = sign_release(&manifest.name, &manifest.version, digest, &keys);
        self.pack_signed(manifest, envelope)
    }

    pub(crate) fn pack_signed(&self, manifest: Manifest, envelope: Envelope) -> Packed {
        let mut archive = Vec::new();
        let digests =
            skillpkg_store::archive::write(&mut archive, &manifest, &envelope, &mut |entry| {
                let found = self.files.iter().find(|(path, ..)| path == entry.path.as_str());
                let (_, _, bytes) = found.unwrap();
                Ok(Box::new(std::io::Cursor::new(bytes.clone())))
            })
            .unwrap();
        Packed { manifest, envelope, archive, digests }
    }
}

/// A signed archive.
#[derive(Clone)]
pub(crate) struct Packed {
    pub(crate) manifest: Manifest,
    pub(crate) envelope: Envelope,
    pub(crate) archive: Vec<u8>,
    pub(crate) digests: Digests,
}

impl Packed {
    /// The route that it is published at.
    pub(crate) fn path(&self) -> String {
        let Manifest { name, version, .. } = &self.manifest;
        format!("/v1/skills/{}/{}/{version}", name.wire_scope(), name.name())
    }

    pub(crate) fn address(&self) -> ContentAddress {
        self.manifest.address()
    }
}

/// The JSON of an answer of this status.
pub(crate) async fn json<T: DeserializeOwned>(response: Response, status: StatusCode) -> T {
    let found = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(found, status, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The problem of an answer with this code.
pub(crate) async fn problem(response: Response, status: u16, code: &str) -> Problem {
    let kind = response.headers().get("content-type").cloned();
    let problem: Problem = json(response, StatusCode::from_u16(status).unwrap()).await;
    assert_eq!(kind.unwrap(), "application/problem+json");
    assert_eq!((problem.code.as_str(), problem.status), (code, status), "{}", problem.detail);
    assert_eq!(problem.kind, format!("urn:skillpkg:problem:{code}"));
    problem
}

pub(crate) async fn published(response: Response, status: StatusCode) -> PublishAnswer {
    json(response, status).await
}

/// Options of a registry that ends at a step of a publish, as a crash would, while `armed` says so.
pub(crate) fn failing_at(step: Step, armed: &Arc<AtomicBool>) -> Options {
    let armed = Arc::clone(armed);
    let at_step = move |reached: Step| {
        if reached == step && armed.load(Ordering::SeqCst) {
            return Err(std::io::Error::other("ended here by the test"));
        }
        Ok(())
    };
    Options { at_step: Some(Arc::new(at_step)), ..Options::default() }
}
