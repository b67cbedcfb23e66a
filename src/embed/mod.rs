//! TEMP
use crate::{embedding::Embedding, error::Invalid, reason::BypassReason, types::Fingerprint};
#[derive(Clone)] pub struct Embedder;
#[derive(Clone,Debug,PartialEq)] pub enum State { Ready, Loading, Degraded(String) }
#[derive(Debug,thiserror::Error)] #[error("{0}")] pub struct StartError(pub String);
#[derive(Debug,thiserror::Error)] pub enum EmbedError { #[error("d")] Deadline, #[error("b")] Busy, #[error("{0}")] Down(String), #[error("{0}")] Invalid(Invalid) }
impl Embedder {
  pub async fn start(_: &crate::config::Embedder, _: Option<&str>) -> Result<Self, StartError> { Ok(Self) }
  pub fn state(&self) -> State { State::Degraded("x".into()) }
  pub fn fingerprint(&self) -> Option<Fingerprint> { None }
  pub fn dimension(&self) -> Option<usize> { None }
  pub fn calibrated_similarity(&self) -> f32 { 0.92 }
  pub fn coverage(&self, _: &str) -> Result<(), BypassReason> { Ok(()) }
  pub async fn embed(&self, _: &str) -> Result<Embedding, EmbedError> { Err(EmbedError::Down("x".into())) }
  pub fn shutdown(&self) {}
}
