// The official OpenAI client for Node in front of Refrain: misses, hits, streams, errors.
import assert from "node:assert/strict";
import OpenAI from "openai";

const base = process.argv[2];
const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "sk-test", maxRetries: 0 });
const ask = (text, more = {}) => ({ model: "alpha-small", messages: [{ role: "user", content: text }], ...more });

const miss = await client.chat.completions.create(ask("How do I reset my password?")).withResponse();
await new Promise((resolve) => setTimeout(resolve, 500)); // until another wording finds it
const hit = await client.chat.completions.create(ask("How can I reset my password?")).withResponse();
assert.equal(miss.response.headers.get("x-refrain-outcome"), "miss");
assert.equal(hit.response.headers.get("x-refrain-outcome"), "hit");
assert.equal(hit.data.choices[0].message.content, miss.data.choices[0].message.content);
assert.notEqual(hit.data.id, miss.data.id);
assert.equal(hit.data.usage.total_tokens, 13);

const streams = [];
for (let i = 0; i < 2; i += 1) {
  const { data, response } = await client.chat.completions.create(ask("Define ROM.", { stream: true })).withResponse();
  let text = "";
  let finish;
  for await (const chunk of data) {
    text += chunk.choices[0]?.delta?.content ?? "";
    finish = chunk.choices[0]?.finish_reason ?? finish;
  }
  assert.equal(finish, "stop");
  streams.push([response.headers.get("x-refrain-outcome"), text]);
}
assert.deepEqual(streams, [["miss", streams[0][1]], ["hit", streams[0][1]]]);

const runner = client.chat.completions.stream(ask("Define ROM."));
assert.equal((await runner.finalChatCompletion()).choices[0].message.content, streams[0][1]);

await assert.rejects(client.chat.completions.create(ask("fail with 429")), (error) => {
  assert.ok(error instanceof OpenAI.RateLimitError);
  assert.equal(error.error.message, "slow down");
  return true;
});
await assert.rejects(
  client.chat.completions.create(ask("Define RAM."), { headers: { "x-refrain-threshold": "high" } }),
  (error) => error instanceof OpenAI.BadRequestError && error.message.includes("x-refrain-threshold"),
);

const models = await client.models.list();
assert.equal(models.data[0].id, "alpha-small");
console.log("ok");
