//! The methods of the protocol, each with an answer in every case.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListSkillsResult, ListToolsResult, PaginatedRequestParams, ReadResourceDirectoryRequestParams,
    ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::lines::unknown_method;
use super::notices::{self, Watched};
use super::server::{Server, Shared, answered};
use super::{call, directory, prompt, resource, skill, tool};

/// What a model is told of this server.
const INSTRUCTIONS: &str = "The agent skills that are active in this project. Before you use a \
    tool of a skill, read the skill: the prompt of its name, or the resource \
    skill://SCOPE/NAME/SKILL.md (SCOPE is `_` for a name without one). Every file was checked \
    against what was signed. Tools appear and vanish as the user activates and deactivates skills.";

/// Methods that are served; a request of one of them whose parameters do not fit arrives as an
/// unknown one.
const METHODS: [&str; 11] = [
    "initialize",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "skills/get",
    "skills/list",
    "tools/call",
    "tools/list",
];
/// Methods that are served up to revision 2025-11-25 alone.
const OLDER_METHODS: [&str; 2] = ["resources/subscribe", "resources/unsubscribe"];

/// Whether a method is served, in whatever revision.
pub(super) fn is_served(method: &str) -> bool {
    METHODS.contains(&method) || OLDER_METHODS.contains(&method)
}

/// One session of the older era, or one request of the newer.
pub(super) struct Handler {
    shared: Arc<Shared>,
    watched: Watched,
    /// Whether its client is told of changes already.
    is_told: AtomicBool,
    gone: CancellationToken,
    _guard: DropGuard,
}

impl Handler {
    pub(super) fn new(server: &Server) -> Self {
        let gone = CancellationToken::new();
        Self {
            shared: Arc::clone(&server.shared),
            watched: Watched::default(),
            is_told: AtomicBool::new(false),
            _guard: gone.clone().drop_guard(),
            gone,
        }
    }
}

type Context = RequestContext<RoleServer>;

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_skills_with_directory_read()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("skillpkg", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let (shared, watched) = (Arc::clone(&self.shared), self.watched.clone());
        let forward = notices::forward(shared, context.peer, watched, self.gone.clone());
        self.shared.tasks.spawn(forward);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // What is not offered is taken out of it by the protocol's library.
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        notices::listen(&self.shared, &context).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        let watched = self.watched.clone();
        self.shared.read(move |shared| watched.add(shared, &request.uri)).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.watched.remove(&request.uri);
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        self.shared.read(move |shared| tool::list(shared, request)).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        answered(call::call(&self.shared, request, &context)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.shared.read(move |shared| resource::list(shared, request)).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resource::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.shared.read(move |shared| resource::read(shared, &request.uri)).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.shared.read(move |shared| prompt::list(shared, request)).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.shared.read(move |shared| prompt::get(shared, &request)).await.map(Into::into)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.shared.read(move |shared| skill::list(shared, request)).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: Context,
    ) -> Result<GetSkillResult, ErrorData> {
        self.shared.read(move |shared| skill::get(shared, &request.uri)).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        _: Context,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        self.shared.read(move |shared| directory::read(shared, &request.uri, request.cursor)).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let is_older = || context.protocol_version().is_none_or(|version| version.has_initialize());
        let method = request.method.as_str();
        if METHODS.contains(&method) || (OLDER_METHODS.contains(&method) && is_older()) {
            let message = format!("the parameters of {method} do not fit");
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, unknown_method(method), None))
    }
}
