//! The doors: HTTP in, engine calls, HTTP out. No decision is made here.
//!
//! This file is the whole URL map and the order of the layers.

mod access_log;
mod auth;
mod bill;
mod body;
mod capture;
mod decode;
mod feedback;
mod head;
mod hit;
mod langcache;
mod locate;
mod lookup;
mod named;
mod operator;
mod ops;
mod page;
mod proxy;
mod pump;
mod render;
mod state;
mod unread;

use axum::Router;
use axum::routing::{any, delete, get, post};

pub use access_log::Recorded;
pub use auth::Access;
pub use state::{App, AppParts};

/// All routes and layers. Outermost first: access log, access rules, route.
pub fn service(app: App) -> Recorded {
    let lookup_api = Router::new()
        .route("/v1/caches/{cache}/entries/search", post(langcache::search))
        .route("/v1/caches/{cache}/entries", post(langcache::store).delete(langcache::delete_matching))
        .route("/v1/caches/{cache}/entries/{entry}", delete(langcache::delete_one))
        .route("/v1/caches/{cache}/flush", post(langcache::flush))
        .route("/v1/caches/{cache}/conversations/search", post(langcache::search_conversation))
        .route("/v1/caches/{cache}/lookup", post(lookup::lookup))
        .route("/v1/caches/{cache}/store", post(lookup::store))
        .route("/v1/caches/{cache}/feedback", post(feedback::give).get(feedback::list));
    let operator_api = Router::new()
        .route("/v1/caches", get(operator::list))
        .route(
            "/v1/caches/{cache}",
            get(operator::get).put(operator::put).patch(operator::patch).delete(operator::delete),
        )
        .route("/v1/caches/{cache}/stats", get(operator::stats))
        .route("/v1/caches/{cache}/{*rest}", any(render::no_such_route))
        .route("/v1/config", get(operator::config))
        .route("/metrics", get(ops::metrics));
    let provider_surface = Router::new()
        // The one that most requests ask for has no parameters to be taken apart.
        .route("/v1/chat/completions", any(proxy::serve))
        .route("/v1/{*path}", any(proxy::serve))
        .route("/caches/{cache}/v1/{*path}", any(proxy::serve));
    let open =
        Router::new().route("/livez", get(ops::livez)).route("/readyz", get(ops::readyz)).route("/", get(page::page));
    let routes = lookup_api
        .merge(operator_api)
        .method_not_allowed_fallback(render::wrong_method)
        .merge(provider_surface)
        .layer(auth::Check(app.clone()))
        .merge(open)
        .fallback(render::no_such_route)
        .with_state(app.clone());
    Recorded::new(app, routes)
}
