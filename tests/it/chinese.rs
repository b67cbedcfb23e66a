//! Chinese: with the multilingual model and its verifier it is answered by meaning, with the English one never.

use serde_json::Value;

use crate::support::{Provider, Refrain, ask};

const MULTILINGUAL: [(&str, &str); 1] = [("REFRAIN__EMBEDDER__MODEL", "multilingual-e5-small-int8")];

/// The demo's rows: a question, a rewording, a trap.
fn rows() -> Vec<Value> {
    include_str!("../../data/demo/chinese.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_multilingual_model_answers_rewordings_and_no_trap() {
    let provider = Provider::start().await;
    let refrain = Refrain::start_with(&provider, "", &MULTILINGUAL).await;
    for row in rows() {
        refrain.keep(&ask(row["question"].as_str().unwrap())).await;
    }
    for row in rows() {
        let asked = async |name: &str| {
            let body = ask(row[name].as_str().unwrap());
            refrain.chat_with(&[("cache-control", "no-store")], &body).await
        };
        assert_eq!(asked("paraphrase").await.outcome(), "hit", "{row}");
        assert_eq!(asked("trap").await.outcome(), "miss", "{row}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_english_model_answers_chinese_by_the_same_words_only() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for row in rows() {
        refrain.keep(&ask(row["question"].as_str().unwrap())).await;
        let reworded = refrain.chat(&ask(row["paraphrase"].as_str().unwrap())).await;
        assert_eq!(reworded.outcome(), "bypass", "{row}");
        assert!(reworded.header("cache-status").contains("detail=script"), "{row}");
        assert_eq!(refrain.chat(&ask(row["question"].as_str().unwrap())).await.outcome(), "hit", "{row}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn languages_do_not_answer_each_other_and_other_scripts_are_left_alone() {
    let provider = Provider::start().await;
    let refrain = Refrain::start_with(&provider, "", &MULTILINGUAL).await;
    for text in ["How do I reset my password?", "怎么重置密码？", "Wie setze ich mein Passwort zurück?"] {
        refrain.keep(&ask(text)).await;
    }
    for text in
        ["¿Cómo restablezco mi contraseña?", "パスワードをリセットする方法は？", "비밀번호를 어떻게 재설정하나요?"]
    {
        assert_eq!(refrain.chat(&ask(text)).await.outcome(), "miss", "{text}");
    }
    assert_eq!(refrain.chat(&ask("Как сбросить пароль?")).await.outcome(), "bypass");
}
