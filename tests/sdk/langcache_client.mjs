// The public LangCache client for Node, unmodified, with its server URL set to Refrain.
import assert from "node:assert/strict";
import { LangCache } from "@redis-ai/langcache";

const cache = new LangCache({ serverURL: process.argv[2], cacheId: "faq", apiKey: "any" });
const stored = await cache.set({ prompt: "How long is the warranty?", response: "Three years.", attributes: { lang: "en" } });
const found = await cache.search({ prompt: "How long is the warranty, please?", similarityThreshold: 0.9, attributes: { lang: "en" } });
assert.equal(found.data.length, 1);
assert.equal(found.data[0].id, stored.entryId);
assert.equal(found.data[0].response, "Three years.");
assert.ok(found.data[0].similarity > 0.9);
assert.equal((await cache.search({ prompt: "Do you sell bread?" })).data.length, 0);
await cache.deleteById(stored.entryId);
assert.equal((await cache.search({ prompt: "How long is the warranty?" })).data.length, 0);
await cache.set({ prompt: "Which colours are there?", response: "Red.", attributes: { lang: "de" } });
assert.equal((await cache.deleteQuery({ attributes: { lang: "de" } })).deletedEntriesCount, 1);
console.log("ok");
