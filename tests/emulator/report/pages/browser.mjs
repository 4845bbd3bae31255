// Reads a request from stdin, opens a page in Chromium, prints what it found as JSON.
import { spawn } from "node:child_process";
import fs from "node:fs";

const request = JSON.parse(fs.readFileSync(0, "utf8"));
const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"];
const browser = spawn(request.chromium, [...options, `--user-data-dir=${request.profile}`], {
  stdio: ["ignore", "ignore", "pipe"],
});
const address = await new Promise((resolve, reject) => {
  let said = "";
  browser.stderr.on("data", (data) => {
    said += data;
    const found = said.match(/ws:\/\/([^/]+)\//);
    if (found) resolve(found[1]);
  });
  browser.on("exit", () => reject(new Error(said)));
});

let targets = [];
while (!targets.length) {
  const all = await (await fetch(`http://${address}/json`)).json();
  targets = all.filter((target) => target.type === "page");
}
const socket = new WebSocket(targets[0].webSocketDebuggerUrl);
await new Promise((resolve) => (socket.onopen = resolve));

let number = 0;
const waiting = new Map();
const errors = [];
socket.onmessage = (event) => {
  const message = JSON.parse(event.data);
  if (message.id) waiting.get(message.id)(message.result ?? message.error);
  if (message.method === "Runtime.exceptionThrown") errors.push(JSON.stringify(message.params));
  if (message.method === "Log.entryAdded" && message.params.entry.level === "error")
    errors.push(message.params.entry.text);
};
function send(method, params = {}) {
  number += 1;
  socket.send(JSON.stringify({ id: number, method, params }));
  return new Promise((resolve) => waiting.set(number, resolve));
}
async function evaluate(expression) {
  const params = { expression, awaitPromise: true, returnByValue: true };
  const answer = await send("Runtime.evaluate", params);
  return answer.result?.value ?? answer.exceptionDetails?.text ?? null;
}

for (const domain of ["Log", "Runtime", "Page"]) await send(`${domain}.enable`);
const metrics = { height: 1000, deviceScaleFactor: 1, mobile: request.width < 500 };
await send("Emulation.setDeviceMetricsOverride", { width: request.width, ...metrics });
const scheme = { name: "prefers-color-scheme", value: request.scheme };
await send("Emulation.setEmulatedMedia", { features: [scheme] });
await send("Emulation.setFocusEmulationEnabled", { enabled: true });
await send("Page.navigate", { url: request.page });
// The load event of the blank page before may come late, so the address decides.
const ready = "location.protocol !== 'about:' && document.readyState === 'complete'";
while ((await evaluate(ready)) !== true) await new Promise((resolve) => setTimeout(resolve, 20));
const answers = [];
async function press(key) {
  const codes = { Tab: 9, Enter: 13 };
  const about = { key, code: key, windowsVirtualKeyCode: codes[key] };
  if (key === "Enter") about.text = "\r";
  await send("Input.dispatchKeyEvent", { type: "keyDown", ...about });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...about });
  return key;
}
for (const expression of request.expressions) {
  const key = expression.match(/^press (\w+)$/);
  answers.push(await (key ? press(key[1]) : evaluate(expression)));
}
const width = await evaluate("document.documentElement.scrollWidth");
console.log(JSON.stringify({ errors, answers, width }));
browser.removeAllListeners("exit");
const ended = new Promise((resolve) => browser.on("exit", resolve));
socket.send(JSON.stringify({ id: 0, method: "Browser.close" }));
await ended;
process.exit(0);
