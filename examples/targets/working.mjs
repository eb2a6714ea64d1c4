// The working tier of Umi, in another language: umi-sim target --contract umi --command "node working.mjs"
//
// A part of a memory is enough to begin with: this one serves only requests that work on keys, and gets no
// others. It stores nothing and asks the world for nothing, so each step answers its request. The reply of
// `save` is given to `restore` in another process.

import { createInterface } from "node:readline";

const SERVES = "set get exists delete append touch sweep clear len bytes".split(" ");
const KEY_BYTES_MAX = 256, VALUE_BYTES_MAX = 65_536, TTL_MS_MAX = 604_800_000, SHOWN_CHARS_MAX = 72;
const tags = {}, names = {}, lives = {};

const make = (name, ...fields) => [tags[name], ...fields];
const done = (value = null) => make("Done", value, [0]);
const refused = (name, ...fields) => make("Refused", make(name, ...fields));
const sizeOf = (text) => Buffer.byteLength(text);
const isText = (value) => typeof value === "string" && !/\p{Surrogate}/u.test(value);
const isBytes = (value) => value !== null && typeof value === "object" && "bytes" in value;

// Values in messages, as the specification has them: the words of Python, and nothing that a terminal obeys.
function shown(value) {
  const words = { true: "True", false: "False", null: "None" };
  if (isBytes(value)) return `b'${Buffer.from(value.bytes, "base64").toString("latin1")}'`;
  if (value?.other !== undefined) return value.other;
  if (typeof value !== "string") return words[value] ?? String(value);
  const text = isText(value) && !/\p{C}/u.test(value) ? value : [...value].map(escaped).join("");
  return text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX)}...`;
}

function escaped(char) {
  const code = char.codePointAt(0), hex = code.toString(16);
  if (code >= 0x20 && code < 0x7f) return char === "\\" ? "\\\\" : char;
  if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

function badKey(key, isStored) {
  if (!isText(key)) return refused("BadText", "key", shown(key), "a text without lone surrogates");
  if (isStored && key.startsWith("__")) return refused("ReservedKey", key);
  return sizeOf(key) > KEY_BYTES_MAX ? refused("KeyTooLong", sizeOf(key), KEY_BYTES_MAX) : null;
}

const badValue = (value) => (isBytes(value) ? null : refused("BadOption", "value", shown(value), "bytes"));

function badTtl(ttl) {
  const isGood = ttl === null || (Number.isInteger(ttl) && ttl >= 1 && ttl <= TTL_MS_MAX);
  return isGood ? null : refused("BadTtl", shown(ttl));
}

class Life {
  constructor(config) {
    [this.bytesMax, this.countMax, this.ttlMs, this.showsSession] = config;
    this.entries = new Map(); // key -> { value: Buffer, expiresMs }
    this.expired = 0;
    this.seenMs = 0;
  }

  saved() {
    const entries = [...this.entries].map(([key, { value, expiresMs }]) => [key, value.toString("base64"), expiresMs]);
    return { entries, expired: this.expired, seenMs: this.seenMs };
  }

  restore({ entries, expired, seenMs }) {
    for (const [key, value, expiresMs] of entries) {
      this.entries.set(key, { value: Buffer.from(value, "base64"), expiresMs });
    }
    Object.assign(this, { expired, seenMs });
  }

  get used() {
    return [...this.entries].reduce((sum, [key, { value }]) => sum + sizeOf(key) + value.length, 0);
  }

  answer(name, key, value, ttl) {
    for (const [name, { expiresMs }] of this.entries) {
      if (expiresMs <= this.seenMs) this.expired += this.entries.delete(name);
    }
    return this[name](key, value, ttl);
  }

  put(key, value, expiresMs) {
    if (value.length > VALUE_BYTES_MAX) return refused("EntryTooLarge", value.length, VALUE_BYTES_MAX);
    const old = this.entries.get(key), need = sizeOf(key) + value.length;
    const more = old ? value.length - old.value.length : need;
    if (this.used + more > this.bytesMax) return refused("WorkingFull", this.used, this.bytesMax, need);
    const count = this.entries.size;
    if (!old && count >= this.countMax) return refused("TooManyEntries", count, this.countMax);
    this.entries.set(key, { value, expiresMs });
    return done();
  }

  renewed(expiresMs) {
    return Math.max(this.seenMs + this.ttlMs, expiresMs);
  }

  set(key, value, ttl) {
    const bad = badKey(key, true) ?? badValue(value) ?? badTtl(ttl);
    return bad ?? this.put(key, Buffer.from(value.bytes, "base64"), this.seenMs + (ttl ?? this.ttlMs));
  }

  append(key, value) {
    const bad = badKey(key, true) ?? badValue(value);
    if (bad) return bad;
    const old = this.entries.get(key) ?? { value: Buffer.alloc(0), expiresMs: this.seenMs };
    return this.put(key, Buffer.concat([old.value, Buffer.from(value.bytes, "base64")]), this.renewed(old.expiresMs));
  }

  find(key) {
    const isCount = this.showsSession && key === "__interaction_count"; // shown as 0 until there is one
    return this.entries.get(key)?.value ?? (isCount ? Buffer.from("0") : null);
  }

  get(key) {
    const found = this.find(key);
    return badKey(key, false) ?? done(found && { bytes: found.toString("base64") });
  }

  exists(key) {
    return badKey(key, false) ?? done(this.find(key) !== null);
  }

  delete(key) {
    return badKey(key, true) ?? done(this.entries.delete(key));
  }

  touch(key) {
    const bad = badKey(key, true), entry = this.entries.get(key);
    if (bad || !entry) return bad ?? refused("KeyNotFound", key);
    entry.expiresMs = this.renewed(entry.expiresMs);
    return done();
  }

  sweep() {
    const count = this.expired;
    this.expired = 0;
    return done(count);
  }

  clear() {
    const count = this.entries.size;
    this.entries.clear();
    return done(count);
  }

  len() {
    return done(this.entries.size);
  }

  bytes() {
    return done(this.used);
  }
}

const OPS = {
  hello({ classes }) {
    for (const [tag, [name, ...fields]] of Object.entries(classes)) {
      tags[name] = Number(tag);
      names[tag] = { name: name.toLowerCase(), fields };
    }
    return { serves: SERVES, saves: true };
  },

  begin({ life, config: [tag, ...values] }) {
    const options = ["working_bytes_max", "working_entry_count_max", "working_ttl_ms_default", "auto_populate"];
    lives[life] = new Life(options.map((name) => values[names[tag].fields.indexOf(name)]));
    return {};
  },

  save: ({ life }) => ({ saved: lives[life].saved() }),

  restore(asked) {
    OPS.begin(asked);
    lives[asked.life].restore(asked.saved);
    return { deadline_ms: null };
  },

  step({ life, now_ms, value: [tag, opId, ...args] }) {
    const name = names[tag].name, own = lives[life];
    own.seenMs = Math.max(own.seenMs, now_ms); // a clock that moves back revives nothing
    if (name === "wake") return { effects: [], deadline_ms: null };
    const outcome = own.answer(name, ...args);
    return { effects: [make("Reply", opId, outcome, [0], [0])], deadline_ms: null };
  },
};

// A number that JavaScript cannot represent is no valid value of any request here.
const LONG = /"(?:[^"\\]|\\.)*"|-?\d{16,}/g;
const parsed = (line) => JSON.parse(line.replace(LONG, (it) => (it[0] === '"' ? it : `{"other":"${it}"}`)));

for await (const line of createInterface({ input: process.stdin })) {
  const asked = parsed(line);
  console.log(JSON.stringify({ id: asked.id, answer: OPS[asked.op](asked) }));
}
