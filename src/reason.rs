//! Why a lookup ended as it did. One label each, the same in log line, metric and header.

use std::fmt;

macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $label:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// The label in headers, logs and metrics.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

reasons! {
    /// Why meaning was not consulted.
    BypassReason {
        /// An endpoint that Refrain relays and does not keep.
        Endpoint = "endpoint",
        /// Tools are offered, or the last turn is a tool's result.
        Tools = "tools",
        /// The last user turn or the history has an image, audio, a file or an unknown part.
        NonText = "non-text",
        /// More than one choice is asked for.
        ManyChoices = "n",
        /// Log probabilities are asked for.
        LogProbs = "logprobs",
        /// There is no text to compare.
        EmptyText = "empty-text",
        /// The text does not fit the embedder's window.
        TooLong = "too-long",
        /// The embedder was not made for this script.
        Script = "script",
        /// The embedder was not made for this language.
        Language = "language",
        /// Characters that nobody sees, or marks that a model may drop.
        Hidden = "hidden-characters",
        /// The right answer moves with time.
        Time = "time",
        /// The temperature is above the policy's `maxTemperature`.
        Temperature = "temperature",
        /// The policy's mode is off.
        ModeOff = "mode-off",
        /// An entry would have answered, and the policy's mode is shadow.
        Shadow = "shadow",
        /// The policy does not use this tier.
        Strategy = "strategy",
        /// The body is not JSON that Refrain can read.
        Unreadable = "unreadable",
        /// The last message is not a user's.
        NoUserTurn = "no-user-turn",
        /// The embedder is not working or not there.
        EmbedderDown = "embedder-down",
        /// The embedding did not come within its deadline.
        EmbedderSlow = "embedder-slow",
        /// The embedding queue is full.
        EmbedderBusy = "embedder-busy",
        /// The store did not answer.
        StoreDown = "store-down",
    }
}

reasons! {
    /// Why a lookup found nothing to serve.
    MissReason {
        /// No entry in the partition at all.
        NoCandidate = "no-candidate",
        /// The nearest entry is not near enough.
        BelowThreshold = "below-threshold",
        /// Near entries differ in a number, unit, date or version.
        GuardNumbers = "guard-numbers",
        /// Near entries say the opposite.
        GuardNegation = "guard-negation",
        /// Near entries name somebody or something else.
        GuardNames = "guard-names",
        /// Near entries differ in casing that carries meaning.
        GuardCasing = "guard-casing",
        /// Near entries swap the roles: from A to B, from B to A.
        GuardDirection = "guard-direction",
        /// Near entries ask for something else: who, when, why, how many.
        GuardAsked = "guard-asked",
        /// Near entries have another word in the same place, or ask something more.
        GuardWords = "guard-words",
        /// Near entries carry another delimited payload.
        GuardPayload = "guard-payload",
        /// Near entries are in another language or script.
        GuardScript = "guard-script",
        /// Near entries speak of another time.
        GuardTime = "guard-time",
        /// Near entries need the conversation that they were asked in.
        History = "history",
        /// The verifier does not trust that one answer serves both.
        Verifier = "verifier",
        /// The verifier could not look at the near entries, and they are not near enough without it.
        VerifierDown = "verifier-down",
        /// Somebody said that the near entry's answer was wrong for this prompt.
        Wrong = "wrong",
        /// The near entry was wrong for a prompt that was about as near or nearer.
        Tightened = "tightened",
        /// The near entries have expired.
        Expired = "expired",
        /// The near entries are older than the caller's `max-age`.
        MaxAge = "max-age",
        /// The near entries will not stay fresh for the caller's `min-fresh`.
        MinFresh = "min-fresh",
        /// The caller asked for a new answer.
        NoCache = "no-cache",
    }
}
