// A key-value store in JavaScript, over standard input and output.
//
//     umi-sim target --contract kv --command "node store.mjs"
//
// The last argument is the folder for its files. Each input line is a request, each output line its answer.
import { createInterface } from "node:readline";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

const path = `${process.argv[2]}/rows.json`;
const rows = new Map(existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : []);

const alive = (key, now) => {
  const row = rows.get(key);
  return row && (row.until === null || now < row.until) ? row : undefined;
};

const save = () => {
  writeFileSync(`${path}.new`, JSON.stringify([...rows]));
  renameSync(`${path}.new`, path);
};

const ops = {
  hello: () => ({
    ops: { put: ["key", "value", "ttl"], get: ["key"], delete: ["key"], keys: [] },
    flags: { durable: true, values: "text" },
  }),
  put: ({ key, value, ttl_ms, now_ms }) => {
    rows.set(key, { value, until: ttl_ms === undefined ? null : now_ms + ttl_ms });
    save();
  },
  get: ({ key, now_ms }) => alive(key, now_ms)?.value,
  delete: ({ key, now_ms }) => {
    const existed = alive(key, now_ms) !== undefined;
    rows.delete(key);
    save();
    return existed;
  },
  keys: ({ now_ms }) => [...rows.keys()].filter((key) => alive(key, now_ms)),
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = ops[request.op](request);
  const said = answer === undefined ? { id: request.id, missing: true } : { id: request.id, answer };
  process.stdout.write(JSON.stringify(said) + "\n");
}
